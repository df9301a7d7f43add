"""A local session and its file of classes: used where it is whole, passed over without a word where it isn't."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trident.local.class_data import _beginning, archive_of, make_class_data
from trident.local.java import find_java

PROGRAM = """
from pathlib import Path
from trident.local.session import local_session
spark = local_session("class-data")
process = spark.sparkContext._gateway.proc
assert spark.range(3).count() == 3
print("mapped" if ".jsa" in Path(f"/proc/{process.pid}/maps").read_text().replace("classes.jsa", "") else "not mapped")
spark.stop()
"""


def says(monkeypatch: pytest.MonkeyPatch, cache: Path) -> str:
    """Return all that a process with a session prints, but for what Spark's JVM says of its own modules."""
    monkeypatch.setenv("TRIDENT_CACHE", str(cache))
    monkeypatch.delenv("SPARK_TESTING", raising=False)
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    lines = (answer.stdout + answer.stderr).splitlines()
    return "\n".join(line for line in lines if "incubator modules" not in line)


@pytest.mark.verify
def test_what_is_no_such_file_is_passed_over_in_silence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRIDENT_CACHE", str(tmp_path))
    garbage = b"garbage" * 1000
    beginning = _beginning(find_java())
    beginning.with_name(f"{beginning.name}-{len(garbage)}.jsa").write_bytes(garbage)
    assert archive_of(find_java()) is not None
    assert says(monkeypatch, tmp_path) == "not mapped"


@pytest.mark.verify
def test_it_is_made_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRIDENT_CACHE", str(tmp_path))
    archive = make_class_data(find_java())
    assert says(monkeypatch, tmp_path) == "mapped"
    assert {each.name for each in tmp_path.iterdir() if each.suffix != ".lock"} == {archive.name}


@pytest.mark.verify
def test_one_that_was_damaged_costs_its_use_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As large as its name says, so that only the JVM can tell."""
    monkeypatch.setenv("TRIDENT_CACHE", str(tmp_path))
    archive = make_class_data(find_java())
    with archive.open("r+b") as file:
        for share in range(1, 8):
            file.seek(archive.stat().st_size * share // 8)
            file.write(bytes(4096))
    assert says(monkeypatch, tmp_path).splitlines()[-1] == "not mapped"
