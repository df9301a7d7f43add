"""What a task does with its ranges: opens their files, holds them to what they were, yields rows and manifests."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from trident.base.control import CONTROL, BadRecordWord
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RetryableError
from trident.base.order import ORDER, order_of
from trident.base.ranges import BadRecordRow, Edge
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import NO_TIMESTAMP, TaskDecoder
from trident.spouts.files.csv_lines import CsvTaskDecoder
from trident.spouts.files.errors import changed, vanished
from trident.spouts.files.folder import SeenFile
from trident.spouts.files.lines import LineRecords, header_of, lines_of
from trident.spouts.files.parquet_rows import lacking_values, rows_of, text_of
from trident.spouts.files.places import FileSlice
from trident.spouts.rows import control_batch, groups_of
from trident.spouts.tally import RangeTally


@dataclass(frozen=True, slots=True)
class EdgeFiles:
    """A range, and the parts of files that it is."""

    edge: Edge
    parts: tuple[FileSlice, ...]


@dataclass(frozen=True, slots=True)
class _Reading(ABC):
    folder: str
    groups: tuple[tuple[EdgeFiles, ...], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the ranges of every row that comes in; a row comes in once per run of its task."""
        for group in groups_of(batches):
            for item in self.groups[group]:
                tally = RangeTally(item.edge)
                for part in item.parts:
                    with opened(Path(self.folder), part) as file:
                        yield from self._part(file, part, tally)
                    reached(CrashPoint.READING)
                yield control_batch(self._schema, [tally.manifest(item.edge.range.stop)])

    @property
    @abstractmethod
    def _schema(self) -> pa.Schema:
        """The columns of what is yielded."""

    @abstractmethod
    def _part(self, file: BinaryIO, part: FileSlice, tally: RangeTally) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part of a file, and count them."""


@dataclass(frozen=True, slots=True)
class ReadLines(_Reading):
    """The function given to `mapInArrow` for files of lines."""

    decoder: TaskDecoder
    has_header: bool

    @property
    def _schema(self) -> pa.Schema:
        return arrow_schema(self.decoder.task_schema)

    def _part(self, file: BinaryIO, part: FileSlice, tally: RangeTally) -> Iterator[pa.RecordBatch]:
        header, behind = header_of(file, part.file.name) if self.has_header else (None, 0)
        if header is not None and (header or part.file.size > behind):
            # also where no line follows: what stands there may be a record; the end of one line alone is none
            assert isinstance(self.decoder, CsvTaskDecoder), "no other format has one"
            self.decoder.check_header(header, part.file.name)
        for some in lines_of(file, part):
            rows = np.flatnonzero(some.starts >= behind)
            values = [some.values[row] for row in rows]
            records = LineRecords(tally.edge, some.starts[rows] + part.base, values, header)
            if values:
                tally.add(records.offsets, records.timestamps, records.values)
                yield from self.decoder.decode(records)


@dataclass(frozen=True, slots=True)
class ReadRows(_Reading):
    """The function given to `mapInArrow` for Parquet files."""

    schema: pa.Schema
    required: tuple[str, ...] = ()

    @property
    def _schema(self) -> pa.Schema:
        return self.schema

    def _part(self, file: BinaryIO, part: FileSlice, tally: RangeTally) -> Iterator[pa.RecordBatch]:
        fields = pa.schema([field for field in self.schema if field.name not in (ORDER, CONTROL)])
        first, id_ = part.base + part.start, tally.edge.range.id
        for rows in rows_of(file, part, fields):
            offsets = np.arange(first, first + rows.num_rows, dtype=np.int64)
            tally.add(offsets, np.full(len(offsets), NO_TIMESTAMP, dtype=np.int64), ())
            tally.size_bytes += rows.nbytes
            first += rows.num_rows
            bad = lacking_values(rows, self.required)
            if bad:
                words = [_bad_row(tally.edge, rows, row, int(offsets[row]), reason) for row, reason in bad.items()]
                yield control_batch(self.schema, words)
                good = np.delete(np.arange(rows.num_rows), list(bad))
                rows, offsets = rows.take(pa.array(good, pa.int64())), offsets[good]
            order = [order_of(id_.topic, id_.partition, offsets)] if ORDER in self.schema.names else []
            nulls = pa.nulls(rows.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([*rows.columns, *order, nulls], schema=self.schema)


def _bad_row(edge: Edge, rows: pa.RecordBatch, row: int, offset: int, reason: str) -> BadRecordWord:
    return BadRecordWord(edge.id, BadRecordRow(edge.range.id, offset, None, reason, None, text_of(rows, row)))


@contextmanager
def opened(folder: Path, part: FileSlice) -> Iterator[BinaryIO]:
    """Give a file that is what it was when it was found, and still is when the block ends."""
    try:
        with (folder / part.file.name).open("rb") as file:
            _require_same(folder, part, file)
            yield file
            _require_same(folder, part, file)
    except FileNotFoundError:
        raise vanished(folder, part.file) from None
    except OSError as error:
        raise RetryableError(
            f"the file {str(folder / part.file.name)!r} could not be read ({type(error).__name__}); nothing of the "
            "batch was applied"
        ) from None


def _require_same(folder: Path, part: FileSlice, file: BinaryIO) -> None:
    seen = SeenFile.of(os.fstat(file.fileno()))
    if not part.file.is_same(seen):
        raise changed(folder, part.file, seen)
