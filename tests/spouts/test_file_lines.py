"""Files as logs of lines: whatever way they are cut into ranges, each line is read once and where it begins."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest

from trident.base.errors import FatalError
from trident.spouts.files import lines as module
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.lines import header_of, lines_of
from trident.spouts.files.places import FileLog, FileLogs, FileSlice

Found = list[tuple[int, bytes]]


def found_in(data: bytes, *cuts: int) -> Found:
    file = ListedFile("f", len(data), 0, len(data))
    borders = [0, *sorted(cuts), len(data)]
    found: Found = []
    for start, stop in pairwise(borders):
        for some in lines_of(io.BytesIO(data), FileSlice(file, 0, start, stop)):
            found += zip(some.starts.tolist(), some.values, strict=True)
    return found


def test_lines_are_told_with_their_beginnings_and_without_their_ends() -> None:
    data = b"a\r\n\nbb\n\r\n ccc"
    assert found_in(data) == [(0, b"a"), (4, b"bb"), (9, b" ccc")]
    assert found_in(b"") == []


def test_a_mark_of_a_text_is_no_part_of_it() -> None:
    assert found_in(b"\xef\xbb\xbfa\nb\n") == [(0, b"a"), (5, b"b")]
    assert header_of(io.BytesIO(b"\xef\xbb\xbfn,m\r\n1,2"), "f") == (b"n,m", 8)


@pytest.mark.parametrize("seed", range(40))
def test_each_line_is_read_once_wherever_ranges_and_blocks_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    data = b"\n".join(b"x" * draw.choice([0, 1, 2, 9]) for _ in range(draw.randrange(1, 30)))
    data += b"\n" * draw.randrange(2)
    expected, position = [], 0
    for line in data.split(b"\n"):
        if line:
            expected.append((position, line))
        position += len(line) + 1
    monkeypatch.setattr(module, "_BLOCK", draw.choice([1, 3, 1000]))
    cuts = [draw.randrange(len(data) + 1) for _ in range(draw.randrange(5))]
    assert found_in(data, *cuts) == expected


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"aa\r\nb\r\n", b"a\n\nbb\n\r\nc", b"\na\n", b"\r\n\r\na\r\n"])
def test_every_cut_into_two_or_three_parts_gives_each_line_once(mark: bytes, text: bytes) -> None:
    data = mark + text
    values = [line.removesuffix(b"\r") for line in text.split(b"\n") if line.removesuffix(b"\r")]
    whole = found_in(data)
    assert [value for _, value in whole] == values
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            assert found_in(data, first, second) == whole
        assert found_in(data, first) == whole


def test_a_file_without_lines_is_not_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST", 10)
    assert found_in(b"123456789\n1\n") == [(0, b"123456789"), (10, b"1")]
    for data, cuts in ((b"1\n" + b"x" * 30, ()), (b"x" * 30 + b"\n", (5,))):
        with pytest.raises(FatalError, match="line of more than 10 bytes"):
            found_in(data, *cuts)


def files(*widths: int) -> list[ListedFile]:
    return [ListedFile(f"f{number}", width, 0, width) for number, width in enumerate(widths)]


def test_files_are_dealt_in_turns_whenever_they_come() -> None:
    at_once, by_and_by = (FileLogs([FileLog() for _ in range(3)]) for _ in range(2))
    every = files(3, 1, 4, 1, 5)
    at_once.deal(every)
    for file in every:
        by_and_by.deal([file])
    assert at_once == by_and_by
    assert [[file.name for file in log.files] for log in at_once.logs] == [["f0", "f3"], ["f1", "f4"], ["f2"]]
    assert [log.stop for log in at_once.logs] == [4, 6, 4]


def test_what_a_ledger_has_proves_it_to_later_versions() -> None:
    """Also with a file in another's place: only these proofs, and those that come behind, are others then."""
    log = FileLog()
    logs = FileLogs([log])
    logs.deal([ListedFile("a", 5, 7, 5), ListedFile("\udcff", 2, 2**60 + 1, 3)])
    assert log.proofs == [3376821764127341760, 2691860825545056386]
    logs.deal([ListedFile("\udcff", 4, 2**60 + 2, 4)])
    assert log.proofs[0] == 3376821764127341760
    assert log.proofs[1] != 2691860825545056386


def test_logs_are_the_same_whenever_a_file_was_replaced() -> None:
    """Read in one go after a start, or one by one while it runs."""
    every = [ListedFile(name, 5, number, 5) for number, name in enumerate("abcabaddb")]
    at_once, by_and_by = (FileLogs([FileLog() for _ in range(2)]) for _ in range(2))
    at_once.deal(every)
    for file in every:
        by_and_by.deal([file])
    assert [log.proofs for log in at_once.logs] == [log.proofs for log in by_and_by.logs]
    assert [set(log.replaced) for log in at_once.logs] == [set(log.replaced) for log in by_and_by.logs]
    read = [part.file for log in at_once.logs for part in log.slices(0, log.stop)]
    assert sorted((file.name, file.modified) for file in read) == [("a", 5), ("b", 8), ("c", 2), ("d", 7)]


def test_a_range_is_parts_of_files() -> None:
    log = FileLog()
    FileLogs([log]).deal(files(3, 0, 5, 2))
    parts = [(part.file.name, part.base, part.start, part.stop) for part in log.slices(2, 9)]
    assert parts == [("f0", 0, 2, 3), ("f2", 3, 0, 5), ("f3", 8, 0, 1)]
    assert list(log.slices(3, 3)) == []
    assert [log.first_from(position) for position in (0, 2, 3, 8, 10)] == [0, 0, 2, 3, 4]
    at = log.slice_at(4)
    assert (at.file.name, at.start) == ("f2", 1)
