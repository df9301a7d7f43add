"""Where records are, as people name it: lines are counted once, also where each batch has bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.spouts.file_jobs import put
from trident.base.errors import RetryableError
from trident.base.ranges import PartitionId
from trident.spouts import FileSpout
from trident.spouts.files import folder as looking
from trident.spouts.files import formats
from trident.spouts.files.folder import SeenFile
from trident.spouts.files.parquet_rows import rows_in
from trident.spouts.files.source import FileSource


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)


def opened(folder: Path, partitions: int = 1) -> FileSource:
    return FileSpout(folder, "n bigint", format="json", partitions=partitions).open("s")


def test_lines_are_counted_on_from_where_they_were_counted_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    for name, text in {"a": "x\n" * 100, "b": "x\n" * 100, "c": "xxx\n" * 50}.items():
        put(folder, name, text)
    source, read = opened(folder, 2), list[int]()
    source.bounds()
    real = formats._ends_in

    def counted(file: BinaryIO, count: int) -> int:
        read.append(count)
        return real(file, count)

    monkeypatch.setattr(formats, "_ends_in", counted)
    first, other = (PartitionId("s", number) for number in range(2))

    def lines_at(id_: PartitionId, *positions: int) -> list[str]:
        found = source.places_of(id_, positions)
        return [place.removesuffix("'").replace(f" of the file '{folder}/", " ") for place in found]

    for line in range(1, 100, 9):
        assert lines_at(first, 2 * line - 2, 2 * line) == [f"line {line} a", f"line {line + 1} a"]
        assert lines_at(other, 2 * line - 2) == [f"line {line} b"]
    assert sum(read) <= 2 * 2 * 100
    assert lines_at(first, 198, 200, 398) == ["line 100 a", "line 1 c", "line 50 c"]
    assert lines_at(first, 20) == ["line 11 a"]
    assert lines_at(first, 220) == ["line 6 c"]
    assert lines_at(first, 398) == ["line 50 c"]
    assert lines_at(first, 220) == ["line 6 c"], "an earlier one of the same file"
    assert lines_at(first, 10, 220) == ["line 6 a", "line 6 c"]
    (folder / "c").unlink()
    assert lines_at(first, 10, 220) == ["line 6 a", "byte 20 c"]
    put(folder, "c", "xxx\n" * 50)
    assert lines_at(first, 224) == ["line 7 c"]


@pytest.mark.parametrize("half", [False, True])
def test_the_rows_that_are_counted_are_those_of_the_size_and_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool
) -> None:
    """A file that is exchanged between the look at it and the count of its rows gets no number."""
    made = tmp_path / "made"

    def write(rows: int) -> Path:
        parquet.write_table(pa.table({"n": list(range(rows))}), made)
        return made

    folder = tmp_path / "in"
    folder.mkdir()
    write(3).rename(folder / "a")
    real: Any = rows_in if half else SeenFile.of

    def exchanged(*arguments: object) -> object:
        monkeypatch.undo()
        monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)
        found = real(*arguments)
        (folder / "a").write_bytes(write(1_000).read_bytes()) if half else write(1).rename(folder / "a")
        return found

    monkeypatch.setattr(*((formats, "rows_in", exchanged) if half else (SeenFile, "of", exchanged)))
    source = FileSpout(folder, "n bigint", format="parquet").open("s")
    with pytest.raises(RetryableError, match="a' was exchanged, or is being written, while it was looked at"):
        source.bounds()
    assert [bound.stop for bound in source.bounds()] == [1_000 if half else 1]
