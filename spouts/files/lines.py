"""Lines of files: a record is a line, and belongs to whoever reads the position of its first byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from trident.base.errors import UncomputableError
from trident.base.ranges import Edge
from trident.spouts.decoders.base import NO_TIMESTAMP, Headers, UnreadableHeaders
from trident.spouts.files.places import FileSlice

_BLOCK: Final = 1 << 22
_LONGEST: Final = 1 << 27
"""No line is held that is longer, since a file without any would be held whole."""
_MARK: Final = b"\xef\xbb\xbf"
"""What some programs put before a UTF-8 text: no part of it, but the first line begins at 0 with it or without."""


@dataclass(frozen=True, slots=True)
class SomeLines:
    """Consecutive lines with something in them, and where each begins in its file."""

    starts: npt.NDArray[np.int64]
    values: list[bytes]


class LineRecords:
    """Lines of one partition; see `RawRecords`."""

    def __init__(self, edge: Edge, offsets: npt.NDArray[np.int64], values: list[bytes], header: bytes | None) -> None:
        self.edge = edge.id
        self.topic = edge.range.id.topic
        self.partition = edge.range.id.partition
        self.offsets = offsets
        self.values: Sequence[bytes | None] = values
        self.lines = values
        self.header = header
        """The first line of their file, where that holds the names of columns; None where it is a record."""

    @cached_property
    def timestamps(self) -> npt.NDArray[np.int64]:
        """A line has none."""
        return np.full(len(self.offsets), NO_TIMESTAMP, dtype=np.int64)

    def keys(self, rows: Sequence[int]) -> list[bytes | None]:
        """Return none: a line has no key."""
        return [None] * len(rows)

    def headers(self, rows: Sequence[int]) -> list[Headers | UnreadableHeaders]:
        """Return none."""
        return [None] * len(rows)


def header_of(file: BinaryIO, name: str) -> tuple[bytes, int]:
    """Return the first line of a file, and how long it is with its end."""
    file.seek(0)
    line = file.readline(_LONGEST)
    _require_line(line, name, 0)
    return _bare(line.removeprefix(_MARK)), len(line)


def first_of(file: BinaryIO, name: str, *, has_header: bool) -> int:
    """Return where the first record of a file begins, which is just opened; its end, where there is none."""
    begin = header_of(file, name)[1] if has_header else 0
    while line := file.readline(_LONGEST):
        if _bare(line if begin else line.removeprefix(_MARK)):
            break
        begin += len(line)
    return begin


def lines_of(file: BinaryIO, part: FileSlice) -> Iterator[SomeLines]:
    """Yield the lines that begin in a part of a file, as they are without their ends; empty ones are none."""
    start = _first_line(file, part)
    while start < part.stop:
        block = file.read(_BLOCK) + file.readline(_LONGEST)
        if not block:
            return
        last = block.rfind(b"\n", 0, len(block) - 1) + 1
        _require_line(block[last:], part.file.name, start + last)
        yield _some(block, start, part.stop)
        start += len(block)


def _first_line(file: BinaryIO, part: FileSlice) -> int:
    """Go to the first line that begins in the part; what the part begins in the middle of is another's."""
    file.seek(max(part.start - 1, 0))
    if part.start == 0:
        return 0
    skipped = file.readline(_LONGEST)
    _require_line(skipped, part.file.name, part.start)
    return part.start - 1 + len(skipped)


def _some(block: bytes, start: int, stop: int) -> SomeLines:
    lines = block.split(b"\n")
    begins = np.cumsum([0, *(len(line) + 1 for line in lines[:-1])], dtype=np.int64) + start
    if start == 0:
        lines[0] = lines[0].removeprefix(_MARK)  # the line begins before it: a cut may lie inside the mark
    taken = [row for row, line in enumerate(lines) if begins[row] < stop and _bare(line)]
    return SomeLines(begins[taken], [_bare(lines[row]) for row in taken])


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _require_line(line: bytes, name: str, start: int) -> None:
    if len(line) >= _LONGEST:
        raise UncomputableError(
            f"the file {name!r} has a line of more than {_LONGEST} bytes from position {start} on: it has no lines, or "
            "is another kind of file. Nothing of the batch was applied"
        )
