"""How files become logs: dealt to partitions by their numbers, one behind the other in each."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
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
    """The files of one partition; each takes as many positions as it has bytes, or rows.

    A file in whose place another one was put keeps its positions, and nothing is read there any more.
    """

    files: list[ListedFile] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """The position behind each of them."""
    proofs: list[int] = field(default_factory=list)
    """Of each of them, a hash of all files up to and with it, and of which of them were replaced."""
    replaced: dict[int, None] = field(default_factory=dict)
    """Which of them were, by their numbers here, in the order in which that happened."""

    @property
    def stop(self) -> int:
        """The position behind the last file."""
        return self.ends[-1] if self.ends else 0

    def append(self, file: ListedFile) -> None:
        """Put a file behind all others."""
        self.proofs.append(_chained(self.proofs[-1] if self.proofs else 0, file, is_replaced=False))
        self.ends.append(self.stop + file.width)
        self.files.append(file)

    def replace(self, numbers: Sequence[int]) -> None:
        """Let nothing be read any more of the files with these numbers, in the order in which they were replaced."""
        self.replaced.update(dict.fromkeys(numbers))
        first = min(numbers)
        before = self.proofs[first - 1] if first else 0
        self.proofs = [*self.proofs[:first], *self._chain(first, len(self.files), self.replaced, before)]

    def copy(self) -> FileLog:
        """Return one that grows by itself."""
        return FileLog(list(self.files), list(self.ends), list(self.proofs), dict(self.replaced))

    def begin(self, number: int) -> int:
        """Return the position of a file's beginning."""
        return self.ends[number] - self.files[number].width

    def proof(self, position: int) -> int | None:
        """Return the hash of the files that the positions before this one are of, the same however the log grows.

        None where there are none, and behind the end. It changes when one of these files is replaced.
        """
        return self.proofs[bisect_left(self.ends, position)] if 0 < position <= self.stop else None

    def holds(self, known: OffsetRange) -> bool:
        """Tell whether it has, up to where a range stops, the files that it had when that was planned.

        One that was planned before there were hashes proves by its length only that it may have them: not where a file
        was replaced, since nobody knows before what.
        """
        if known.stop > self.stop:
            return False
        if known.epoch is None:
            return all(self.begin(number) >= known.stop for number in self.replaced)
        return known.epoch == self.proof(known.stop)

    def held_once(self, known: OffsetRange) -> bool:
        """Tell whether it had these files before some of them were replaced: that happened since the plan."""
        last = bisect_left(self.ends, known.stop)
        order = [number for number in self.replaced if number <= last]
        if known.epoch is None or not 0 < known.stop <= self.stop or not order:
            return False
        proofs = self.proofs[: last + 1]
        while order and proofs[-1] != known.epoch:
            number = order.pop()  # what is before it had the same proofs with it and without
            proofs[number:] = self._chain(number, last + 1, order, proofs[number - 1] if number else 0)
        return proofs[-1] == known.epoch

    def _chain(self, first: int, behind: int, replaced: Iterable[int], before: int) -> list[int]:
        """Return the proofs of some files, behind that of the file before them."""
        left, proofs = frozenset(replaced), []
        for number in range(first, behind):
            before = _chained(before, self.files[number], is_replaced=number in left)
            proofs.append(before)
        return proofs

    def first_from(self, position: int) -> int:
        """Return which file is the first that has something at or behind the position; their number for none."""
        return bisect_right(self.ends, position)

    def is_read(self, number: int) -> bool:
        """Tell whether there is anything to read of a file: it has something, and is not replaced."""
        return bool(self.files[number].width) and number not in self.replaced

    def slices(self, start: int, stop: int) -> Iterator[FileSlice]:
        """Yield the parts of files that are the positions from `start` up to and without `stop`."""
        for number in range(self.first_from(start), len(self.files)):
            file, base = self.files[number], self.begin(number)
            if base >= stop:
                return
            if self.is_read(number):
                yield FileSlice(file, base, max(start - base, 0), min(stop - base, file.width))

    def cut_at(self, stop: int) -> FileSlice | None:
        """Return what there is up to a position of the file that goes on there; None where no file does, to be read."""
        number = self.first_from(stop)
        if number == len(self.files) or self.begin(number) >= stop or not self.is_read(number):
            return None
        base = self.begin(number)
        return FileSlice(self.files[number], base, 0, stop - base)

    def slice_at(self, position: int) -> FileSlice:
        """Return the file that has a position, from there to its end."""
        number = self.first_from(position)
        file, base = self.files[number], self.begin(number)
        return FileSlice(file, base, position - base, file.width)


@dataclass(slots=True)
class FileLogs:
    """The logs of a folder: files are dealt to them by their numbers, in turns."""

    logs: list[FileLog]
    count: int = 0
    """How many files were dealt."""
    _where: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each name the file that has it now: its log, and its number there."""

    def __getitem__(self, partition: int) -> FileLog:
        return self.logs[partition]

    def deal(self, files: Iterable[ListedFile]) -> None:
        """Deal the files with the next numbers; each takes the place of the one that had its name."""
        replaced: dict[int, list[int]] = {}
        for file in files:
            if file.name in self._where:
                partition, number = self._where[file.name]
                replaced.setdefault(partition, []).append(number)
            partition = self.count % len(self.logs)
            self._where[file.name] = (partition, len(self.logs[partition].files))
            self.logs[partition].append(file)
            self.count += 1
        for partition, numbers in replaced.items():
            self.logs[partition].replace(numbers)

    def copy(self) -> FileLogs:
        """Return the same, which go on by themselves."""
        return FileLogs([log.copy() for log in self.logs], self.count, dict(self._where))

    def where(self, name: str) -> tuple[int, int]:
        """Return in which log the file of a name is, and the position of its beginning."""
        partition, number = self._where[name]
        return partition, self.logs[partition].begin(number)


def _chained(before: int, file: ListedFile, *, is_replaced: bool) -> int:
    """Return a number below 2**63, which every database and every reader of JSON holds."""
    entry = [before, file.name, file.size, file.modified, file.width, *(["replaced"] if is_replaced else [])]
    return int.from_bytes(blake2b(json.dumps(entry).encode(), digest_size=8).digest()) >> 1
