"""The daemon is run as Spark runs it: by name, with Spark's zips on PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

HOME = Path(pyspark.__path__[0])
LOOK = """
import sys, zipimport
import pyspark.sql
from trident.executor.daemon import drop_archives
dropped = drop_archives()
import importlib
importlib.invalidate_caches()
import pyspark.sql.avro.functions  # a module that nobody has imported yet
archives = [finder for finder in sys.path_importer_cache.values() if isinstance(finder, zipimport.zipimporter)]
print(dropped, len(archives), sys.modules["pyspark.sql.avro.functions"].__file__)
"""


def look(path: list[Path]) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(each) for each in path)}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOOK], env=environment, capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


@pytest.fixture(scope="module")
def archives() -> list[Path]:
    return [HOME / "python/lib/pyspark.zip", next((HOME / "python/lib").glob("py4j-*.zip"))]


def test_archives_are_dropped_for_later_imports_too(archives: list[Path]) -> None:
    assert look(archives) == ["True", "0", str(HOME / "sql/avro/functions.py")]


def test_another_installations_archive_stays(archives: list[Path], tmp_path: Path) -> None:
    """A cluster's own pyspark.zip may be of another version than what is installed."""
    elsewhere = tmp_path / "pyspark.zip"
    elsewhere.symlink_to(archives[0])
    dropped, left, origin = look([elsewhere, archives[1]])
    assert dropped == "False"
    assert int(left) > 0
    assert origin.startswith(str(elsewhere))


SHIPPED = """
import sys
from pathlib import Path
import msgspec
import pyarrow
import pyspark.worker
from trident.executor.daemon import prefer_shipped
pyspark.worker.setup_spark_files = lambda folder: sys.path.insert(1, folder)
prefer_shipped()
pyspark.worker.setup_spark_files(sys.argv[1])
import msgspec as again
print(again.__file__, "pyarrow" in sys.modules)
"""


def test_a_module_shipped_to_a_task_wins_over_the_one_imported_ahead(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("VERSION = 'shipped'")
    words = [sys.executable, "-W", "ignore", "-c", SHIPPED, str(tmp_path)]
    answer = subprocess.run(words, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [str(tmp_path / "msgspec.py"), "True"]


def test_archives_of_users_stay(archives: list[Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "rules.zip", "w") as archive:
        archive.writestr("company_rules.py", "RATE = 7")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*archives, tmp_path / "rules.zip"]))}
    code = (
        "import company_rules, sys; from trident.executor.daemon import drop_archives; print(drop_archives());"
        "del sys.modules['company_rules']; import company_rules; print(company_rules.RATE);"
        "print([entry for entry in sys.path if entry.endswith('pyspark.zip')])"
    )
    words = [sys.executable, "-W", "ignore", "-c", code]
    answer = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["True", "7", "[]"]
