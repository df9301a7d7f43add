"""How files become logs: dealt to partitions by their numbers, one behind the other in each."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from trident.base.ranges import OffsetRange
from trident.spouts.files.catalogue import ListedFile


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A part of a file, as a task reads it."""

    file: ListedFile
    base: int
    """The position of the file's beginning in its log."""
    start: int
    """Where the part begins, in positions of the file itself."""
    stop: int


@dataclass(slots=True)
class FileLog:
    """The files of one partition; each takes as many positions as it has bytes, or rows."""

    files: list[ListedFile] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """The position behind each of them."""
    proofs: list[int] = field(default_factory=list)
    """Of each of them, a hash of all files up to and with it."""

    @property
    def stop(self) -> int:
        """The position behind the last file."""
        return self.ends[-1] if self.ends else 0

    def append(self, file: ListedFile) -> None:
        """Put a file behind all others."""
        self.proofs.append(_chained(self.proofs[-1] if self.proofs else 0, file))
        self.ends.append(self.stop + file.width)
        self.files.append(file)

    def copy(self) -> FileLog:
        """Return one that grows by itself."""
        return FileLog(list(self.files), list(self.ends), list(self.proofs))

    def proof(self, position: int) -> int | None:
        """Return the hash of the files that the positions before this one are of, the same however the log grows.

        None where there are none, and behind the end.
        """
        return self.proofs[bisect_left(self.ends, position)] if 0 < position <= self.stop else None

    def holds(self, known: OffsetRange) -> bool:
        """Tell whether it has, up to where a range stops, the files that it had when that was planned.

        One that was planned before there were hashes proves by its length only that it may have them.
        """
        return known.stop <= self.stop and known.epoch in (None, self.proof(known.stop))

    def first_from(self, position: int) -> int:
        """Return which file is the first that has something at or behind the position; their number for none."""
        return bisect_right(self.ends, position)

    def slices(self, start: int, stop: int) -> Iterator[FileSlice]:
        """Yield the parts of files that are the positions from `start` up to and without `stop`."""
        for number in range(self.first_from(start), len(self.files)):
            file, end = self.files[number], self.ends[number]
            base = end - file.width
            if base >= stop:
                return
            if file.width:
                yield FileSlice(file, base, max(start - base, 0), min(stop - base, file.width))

    def slice_at(self, position: int) -> FileSlice:
        """Return the file that has a position, from there to its end."""
        return next(self.slices(position, self.stop))


def _chained(before: int, file: ListedFile) -> int:
    """Return a number below 2**63, which every database and every reader of JSON holds."""
    entry = json.dumps([before, file.name, file.size, file.modified, file.width])
    return int.from_bytes(blake2b(entry.encode(), digest_size=8).digest()) >> 1


def dealt(logs: Sequence[FileLog], files: Sequence[ListedFile], first: int) -> None:
    """Deal files with the numbers from `first` on to the logs, in turns."""
    for number, file in enumerate(files, first):
        logs[number % len(logs)].append(file)
