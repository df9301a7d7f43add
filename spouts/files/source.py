"""A folder as a source: its files become logs, what is new gets its numbers, and tasks read parts of files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError, FatalError
from trident.base.logs import LogCut
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.base import Start, StartAt
from trident.spouts.files.catalogue import Catalogue, ListedFile
from trident.spouts.files.errors import (
    WAY_TO_CORRECT,
    changed,
    changed_when_read,
    emptied,
    lost_catalogue,
    lost_numbers,
    replaced_when_read,
    said,
    vanished,
)
from trident.spouts.files.folder import Folder, SeenFile
from trident.spouts.files.formats import COUNTED_NOTHING, Counted, Format, FormatReader
from trident.spouts.files.places import FileLog, FileLogs
from trident.spouts.files.task import EdgeFiles, opened
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.spread import spread

_log = logging.getLogger("trident.files")


class FileSource:
    """See `Source`. Numbers are given by the thread that plans; `read` may be called from several."""

    def __init__(self, name: str, folder: Folder, catalogue: Catalogue, partitions: int, format_: Format) -> None:
        self._name = name
        self._folder = folder
        self._catalogue = catalogue
        self._format = format_
        self._reader: FormatReader | None = None
        self._logs = FileLogs([FileLog() for _ in range(partitions)])
        self._is_current = False
        self._has_looked = False
        """Whether all files that have numbers were looked at."""
        self._may_replace = False
        """Whether `_read` is what is decided: nothing that was planned behind it will ever count."""
        self._gone = [0] * partitions
        """Of each log, how many files at its beginning have been taken away, or replaced."""
        self._read: dict[PartitionId, OffsetRange] | None = None
        """Where each log is read on: at the stop of the range. None before that was said."""
        self._counted: dict[PartitionId, tuple[ListedFile, Counted]] = {}
        """Of each log, how far the lines of a file were counted last."""
        self._lock = threading.Lock()

    def schema(self, spark: SparkSession) -> StructType:
        """Return the declared fields."""
        return self._reading(spark).schema

    def follow(self, positions: Mapping[PartitionId, OffsetRange]) -> None:
        """Hear how far each log was read: what is behind that has to be there, and what is before it the same.

        Whoever says it first has taken the topology over, and speaks of what is done or pinned.
        """
        if self._read is None:
            self._look_again()
        self._read = dict(positions)

    def _look_again(self) -> None:
        self._is_current, self._may_replace = False, True

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Give new files their numbers, and return what each log has.

        Raises `FatalError` for a file that was changed, for one that is gone before it was read to its end, and for a
        catalogue that has other files where something was read; then no file has got a number. With the first look
        of a run a file that was changed before anything of it counted is taken for a new one.
        """
        if self._folder.look() or not self._is_current:
            self._is_current = False  # what fails below is done again, and nothing is said of half of it
            self._refresh()
            while not self._take_in():
                self._refresh()
            self._deal()
            self._require_unread()
            self._is_current = self._has_looked = True
            self._may_replace = False
        return tuple(
            PartitionBounds(PartitionId(self._name, number), self._catalogue.id, self._first(number), log.stop)
            for number, log in enumerate(self._logs.logs)
        )

    def _refresh(self) -> None:
        """Read what the catalogue has; one that is lost is not made anew behind what was read from it."""
        known = sorted((self._read or {}).values(), key=lambda item: -item.stop)
        if known and not self._catalogue.is_there():
            raise lost_catalogue(self._name, self._catalogue.folder, known[0])
        self._catalogue.refresh()
        for item in known:
            if item.topic_id != self._catalogue.id:
                raise lost_catalogue(self._name, self._catalogue.folder, item)
        self._deal()

    def _take_in(self) -> bool:
        """Give numbers to what has none; False where somebody else was first."""
        is_whole = self._may_replace or not self._has_looked
        replaced = self._folder.changed(self._catalogue.files, self._catalogue.latest, all_of_them=is_whole)
        self._require_undecided(replaced)
        found = [*self._folder.new(self._catalogue.latest), *((file.name, seen) for file, seen in replaced)]
        new = [self._listed(name, seen) for name, seen in sorted(found)]
        self._require_read(new)
        if replaced:
            self._folder.require_settled(replaced)
        if new and not self._catalogue.add(new):
            return False
        for file, seen in replaced:
            _log.warning(
                "stream %r: the file %r was replaced before anything of it was done. It had %s; it is read as it is "
                "now, with %s, behind all files that were found before it",
                self._name,
                str(self._folder.path / file.name),
                said(file),
                said(seen),
            )
        return True

    def _listed(self, name: str, seen: SeenFile) -> ListedFile:
        is_known = name in self._catalogue.latest
        width = self._format.width(self._folder.path / name, seen, is_known=is_known)
        return ListedFile(name, seen.size, seen.modified, width)

    def _require_undecided(self, replaced: Sequence[tuple[ListedFile, SeenFile]]) -> None:
        """Raise unless nothing of these files is done or pinned, nor ever will be, as they were.

        Each has its number, so its positions. Where the catalogue has lost numbers `_require_read` proves them. No plan
        stops between a file's beginning and its first record (`moved`), so of one that begins before a stop there is
        something.
        """
        for file, seen in replaced:
            if not self._may_replace:
                raise changed(self._folder.path, file, seen)
            partition, begin = self._logs.where(file.name)
            known = (self._read or {}).get(PartitionId(self._name, partition))
            if known is not None and begin < known.stop and self._logs[partition].holds(known):
                raise changed_when_read(self._folder.path, file, seen)
            if not seen.size:
                raise emptied(self._folder.path, file)

    def _require_read(self, new: Sequence[ListedFile]) -> None:
        """Raise unless the logs have the files that were read, once the new ones have numbers too.

        A catalogue that is too short has lost some. The files that it gets are the same only where that is proven.
        """
        known = (self._read or {}).values()
        unsure = [item for item in known if not self._logs[item.id.partition].holds(item)]
        if not unsure:
            return
        grown = self._logs.copy()
        grown.deal(new)
        for item in unsure:
            if item.epoch is None or not grown[item.id.partition].holds(item):
                raise self._lost(item)

    def _lost(self, known: OffsetRange) -> FatalError:
        """Return what is said of positions that are not of the files any more that they were planned from."""
        position = (self._read or {}).get(known.id)
        is_read = position is not None and known.stop <= position.stop
        if self._logs[known.id.partition].held_once(known):
            return replaced_when_read(self._name, self._catalogue.folder, known)
        return lost_numbers(self._name, self._catalogue.folder, known, is_read=is_read)

    def _deal(self) -> None:
        with self._lock:
            self._logs.deal(self._catalogue.files[self._logs.count :])

    def _first(self, number: int) -> int:
        """Return the position of the first file of a log that is still there."""
        gone = self._gone[number]
        return self._logs[number].ends[gone - 1] if gone else 0

    def _require_unread(self) -> None:
        for number, log in enumerate(self._logs.logs):
            known = (self._read or {}).get(PartitionId(self._name, number))
            unread = len(log.files) if known is None else log.first_from(known.stop)
            for each in range(unread, len(log.files)):
                if log.is_read(each) and not self._is_there(log, each):
                    raise vanished(self._folder.path, log.files[each])
            while self._gone[number] < unread and not self._is_there(log, self._gone[number]):
                self._gone[number] += 1

    def _is_there(self, log: FileLog, number: int) -> bool:
        return number not in log.replaced and log.files[number].name in self._folder.names

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return where the logs end: nothing is ever open."""
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at the first file that is there, or behind all of them; positions have no time to start at."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._name)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        is_latest = policy is StartAt.LATEST
        if self._read is None:
            self._look_again()  # nothing is decided of a stream that has no start
        return tuple(self._start(bound, bound.stop if is_latest else bound.earliest) for bound in self.bounds())

    def _start(self, bound: PartitionBounds, position: int) -> PartitionBounds:
        return replace(bound, earliest=position, epoch=self.proof(bound.id, position))

    def proof(self, id_: PartitionId, position: int) -> int | None:
        """Return the hash of all files of the log up to there; see `ProvesPositions`."""
        return self._logs[id_.partition].proof(position)

    def moved(self, id_: PartitionId, stop: int) -> int:
        """Return where a plan ends that would have nothing of a file but a header or empty lines: in its first record.

        A file of which only that is done would be one of which something is done, while nothing of it counts.
        """
        if not self._format.may_begin_without:
            return stop
        with self._lock:
            part = self._logs[id_.partition].cut_at(stop)
        if part is None:
            return stop
        with opened(self._folder.path, part) as file:
            first = self._format.first_of(file, part.file.name)
        return max(stop, part.base + min(first + 1, part.file.width))

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

    @property
    def way_to_mend(self) -> str:
        """Say how a record is mended: in its file."""
        return f"Where it is the file that is wrong, {WAY_TO_CORRECT}"

    def places_of(self, id_: PartitionId, positions: Sequence[int]) -> list[str]:
        """Return how people name records: by the file, and where they are in that.

        Of a file whose lines were counted by the last call it is read on from there.
        """
        with self._lock:
            parts = [self._logs[id_.partition].slice_at(position) for position in positions]
        places: list[str] = []
        for file, of_it in groupby(parts, lambda part: part.file):
            path, (last, counted) = self._folder.path / file.name, self._counted.get(id_, (file, COUNTED_NOTHING))
            since = counted if last == file else COUNTED_NOTHING
            found, counted = self._format.places(path, [part.start for part in of_it], since)
            self._counted[id_] = (file, counted)
            places += [f"{place} of the file {str(path)!r}" for place in found]
        return places

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check that the catalogue still reaches as far as was read; each task has looked at its files itself."""
        for item in ranges:
            with self._lock:
                is_held = item.topic_id == self._catalogue.id and self._logs[item.id.partition].holds(item)
            if not is_held:
                raise FatalError(
                    f"stream {self._name!r}: the catalogue is not the one that partition {item.id.partition} was "
                    f"planned by up to {item.stop}; nothing of the batch was applied. Run the topology again: it goes "
                    "on where the files prove to be the same, and says what to do where they do not"
                )

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing, and raise `FatalError` where a log has other files up to the stop of a range.

        No number gets another file, so such a catalogue was put back, and a person has to decide. Where a file was
        replaced, what was only planned is read without it: the numbers stand, and nothing of them was decided.
        """
        for item in known:
            log, position = self._logs[item.id.partition], (self._read or {}).get(item.id)
            is_planned_only = position is not None and position.stop < item.stop
            if not log.holds(item) and not (is_planned_only and log.held_once(item)):
                raise self._lost(item)
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""
