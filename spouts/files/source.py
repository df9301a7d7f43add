"""A folder as a source: its files become logs, what is new gets its numbers, and tasks read parts of files."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.advice import RESET, RESET_CLEARING
from trident.base.errors import ConfigurationError, FatalError
from trident.base.logs import LogCut
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.base import Start, StartAt
from trident.spouts.files.catalogue import Catalogue, ListedFile
from trident.spouts.files.folder import Folder, vanished
from trident.spouts.files.formats import Format, FormatReader
from trident.spouts.files.places import FileLog, dealt
from trident.spouts.files.task import EdgeFiles
from trident.spouts.spread import spread


class FileSource:
    """See `Source`. Numbers are given by the thread that plans; `read` may be called from several."""

    def __init__(self, name: str, folder: Folder, catalogue: Catalogue, partitions: int, format_: Format) -> None:
        self._name = name
        self._folder = folder
        self._catalogue = catalogue
        self._format = format_
        self._reader: FormatReader | None = None
        self._logs = [FileLog() for _ in range(partitions)]
        self._is_current = False
        self._dealt = 0
        self._gone = [0] * partitions
        """Of each log, how many files at its beginning have been taken away."""
        self._read: dict[PartitionId, OffsetRange] = {}
        """Where each log is read on: at the stop of the range."""
        self._lock = threading.Lock()

    def schema(self, spark: SparkSession) -> StructType:
        """Return the declared fields."""
        return self._reading(spark).schema

    def follow(self, positions: Mapping[PartitionId, OffsetRange]) -> None:
        """Hear how far each log was read: what is behind that has to be there, and what is before it the same."""
        self._read = dict(positions)

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Give new files their numbers, and return what each log has.

        Raises `FatalError` for a file that was changed, for one that is gone before it was read to its end, and for a
        catalogue that has other files where something was read; then no file has got a number.
        """
        if self._folder.look() or not self._is_current:
            self._is_current = False  # what fails below is done again, and nothing is said of half of it
            self._catalogue.refresh()
            self._deal()
            self._folder.require_unchanged(self._catalogue.files)
            while not self._take_in():
                self._catalogue.refresh()
                self._deal()
            self._deal()
            self._require_unread()
            self._is_current = True
        return tuple(
            PartitionBounds(PartitionId(self._name, number), self._catalogue.id, self._first(number), log.stop)
            for number, log in enumerate(self._logs)
        )

    def _take_in(self) -> bool:
        """Give numbers to what has none; False where somebody else was first."""
        new = [
            ListedFile(name, seen.size, seen.modified, self._format.width(self._folder.path / name, seen))
            for name, seen in self._folder.new(self._catalogue.names)
        ]
        self._require_read(new)
        return not new or self._catalogue.add(new)

    def _require_read(self, new: Sequence[ListedFile]) -> None:
        """Raise unless the logs have the files that were read, once the new ones have numbers too.

        A catalogue that is too short has lost some. The files that it gets are the same only where that is proven.
        """
        unsure = [known for known in self._read.values() if known.topic_id == self._catalogue.id]
        unsure = [known for known in unsure if not self._logs[known.id.partition].holds(known)]
        if not unsure:
            return
        grown = [log.copy() for log in self._logs]
        dealt(grown, new, self._dealt)
        for known in unsure:
            if known.epoch is None or not grown[known.id.partition].holds(known):
                raise self._lost(known)

    def _lost(self, known: OffsetRange) -> FatalError:
        """Return what is said of positions that are not of the files any more that they were planned from."""
        number, position = known.id.partition, self._read.get(known.id)
        is_read = position is not None and known.stop <= position.stop
        was, way = ("read", RESET_CLEARING) if is_read else ("planned to be read", RESET)
        return FatalError(
            f"stream {self._name!r}: partition {number} was {was} up to position {known.stop}, and the catalogue in "
            f"{str(self._catalogue.folder)!r} has other files there now, or none: it was put back as it was before, or "
            "changed. What is done stays. Nothing more was read or skipped: files that came since would be left out, "
            "or counted twice. Put the catalogue back as it was, with the files that it lists and that are not read "
            f"yet; or {way}"
        )

    def _deal(self) -> None:
        with self._lock:
            dealt(self._logs, self._catalogue.files[self._dealt :], self._dealt)
            self._dealt = len(self._catalogue.files)

    def _first(self, number: int) -> int:
        """Return the position of the first file of a log that is still there."""
        gone = self._gone[number]
        return self._logs[number].ends[gone - 1] if gone else 0

    def _require_unread(self) -> None:
        for number, log in enumerate(self._logs):
            known = self._read.get(PartitionId(self._name, number))
            unread = len(log.files) if known is None else log.first_from(known.stop)
            for file in log.files[unread:]:
                if file.width and file.name not in self._folder.names:
                    raise vanished(self._folder.path, file)
            while self._gone[number] < unread and log.files[self._gone[number]].name not in self._folder.names:
                self._gone[number] += 1

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return where the logs end: nothing is ever open."""
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at the first file that is there, or behind all of them; positions have no time to start at."""
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        is_latest = policy is StartAt.LATEST
        return tuple(self._start(bound, bound.stop if is_latest else bound.earliest) for bound in self.bounds())

    def _start(self, bound: PartitionBounds, position: int) -> PartitionBounds:
        return replace(bound, earliest=position, epoch=self.proof(bound.id, position))

    def proof(self, id_: PartitionId, position: int) -> int | None:
        """Return the hash of all files of the log up to there; see `ProvesPositions`."""
        return self._logs[id_.partition].proof(position)

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges: tasks open their files."""
        return self._reading(spark).read(
            spark, self._folder.path, self._files(edges, tasks), quick=quick, in_order=False
        )

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the records' places."""
        return self._reading(spark).read(
            spark, self._folder.path, self._files(edges, tasks), quick=quick, in_order=True
        )

    def _reading(self, spark: SparkSession) -> FormatReader:
        """Return the format with the fields that were parsed when they were first asked for."""
        if self._reader is None:
            self._reader = self._format.compile(spark)
        return self._reader

    def _files(self, edges: Sequence[Edge], tasks: int) -> tuple[tuple[EdgeFiles, ...], ...]:
        with self._lock:
            return tuple(tuple(self._parts(edge) for edge in group) for group in spread(edges, tasks))

    def _parts(self, edge: Edge) -> EdgeFiles:
        range_ = edge.range
        return EdgeFiles(edge, tuple(self._logs[range_.id.partition].slices(range_.start, range_.stop)))

    def place_of(self, id_: PartitionId, position: int) -> str:
        """Return how errors name a record: its file, and where it is in that."""
        with self._lock:
            part = self._logs[id_.partition].slice_at(position)
        path = self._folder.path / part.file.name
        return f"{self._format.place(path, part.start)} of the file {str(path)!r}"

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check that the catalogue still reaches as far as was read; each task has looked at its files itself."""
        for item in ranges:
            if item.topic_id != self._catalogue.id or not self._logs[item.id.partition].holds(item):
                raise FatalError(
                    f"stream {self._name!r}: the catalogue is not the one that partition {item.id.partition} was "
                    f"planned by up to {item.stop}; nothing of the batch was applied"
                )

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing, and raise `FatalError` where a log has other files up to the stop of a range.

        No number gets another file, so such a catalogue was put back, and a person has to decide.
        """
        for item in known:
            if not self._logs[item.id.partition].holds(item):
                raise self._lost(item)
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""
