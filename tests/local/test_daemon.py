"""The daemon is run as Spark runs it: by name, with Spark's zips on PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
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
