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
import importlib, io, struct, sys
from pathlib import Path
import pyspark.worker as worker
from pyspark.daemon import manager
folder, is_ours, script = Path(sys.argv[1]), sys.argv[2] == "ours", sys.argv[3]
if is_ours:
    from trident.executor import daemon
    daemon.prefer_shipped(daemon._preload())

def word(text):
    return struct.pack("!i", len(text)) + text.encode()

def task(*archives):
    told = word(str(folder)) + struct.pack("!i", len(archives)) + b"".join(map(word, archives))
    worker.setup_spark_files(io.BytesIO(told))

def where(name):
    file = importlib.import_module(name).__file__
    return "shipped" if str(file).startswith(str(folder)) else "installed"

exec(script)
"""
_SHIP_ONE = "(folder / 'msgspec.py').write_text('VERSION = 1'); "
_SHIP_FOLDER = "(folder / 'numpy').mkdir(); (folder / 'numpy' / 'data.csv').write_text('x'); "
_SHIP_ZIP = "import zipfile; archive = zipfile.ZipFile(folder / 'deps.zip', 'w'); "
CASES = {
    "a module": (_SHIP_ONE + "task(); print(where('msgspec'))", "shipped"),
    "after the first task": ("task(); " + _SHIP_ONE + "task(); print(where('msgspec'))", "shipped"),
    "a module that nobody knows": ("(folder / 'mine.py').write_text(''); task(); print(where('mine'))", "shipped"),
    "nothing": ("task(); print(where('msgspec'))", "installed"),
    "data in a folder with a package's name": (
        _SHIP_FOLDER + "task(); import pyarrow, numpy; "
        "print(where('numpy'), type(pyarrow.array([1]).to_numpy()) is numpy.ndarray)",
        "installed True",
    ),
    "a module in an archive": (
        _SHIP_ZIP + "archive.writestr('msgspec.py', ''); archive.close(); task('deps.zip'); print(where('msgspec'))",
        "shipped",
    ),
    "Spark itself": (
        _SHIP_ZIP + "archive.writestr('pyspark/__init__.py', ''); archive.close(); before = sys.modules['pyspark']; "
        "task('deps.zip'); import pyspark.errors; print(sys.modules['pyspark'] is before)",
        "True",
    ),
    "a name of the standard library": (
        "(folder / 'types.py').write_text(''); task(); import types, unittest; print(where('types'))",
        "installed",
    ),
}


@pytest.mark.parametrize("whose", ["ours", "Spark's own"])
@pytest.mark.parametrize(("script", "found"), CASES.values(), ids=list(CASES))
@pytest.mark.drawn(one_in=3)
def test_what_is_shipped_to_a_task_is_found_as_with_sparks_own_daemon(
    script: str, found: str, whose: str, tmp_path: Path
) -> None:
    words = [sys.executable, "-W", "ignore", "-c", SHIPPED, str(tmp_path), whose, script]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # as Spark does
    answer = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert answer.stdout.strip() == found, answer.stderr


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
