"""Formats of files: of lines, which are JSON or values between delimiters, and Parquet's rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.order import ORDER
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import KnowsRecords, TaskDecoder
from trident.spouts.decoders.declared import Declared, declared
from trident.spouts.decoders.fast_json import plan_of
from trident.spouts.decoders.json import JsonTaskDecoder
from trident.spouts.files.compressions import LONGEST_MARK, compression_of
from trident.spouts.files.csv_lines import CsvTaskDecoder, check_types
from trident.spouts.files.errors import compressed
from trident.spouts.files.folder import SeenFile
from trident.spouts.files.lines import first_of
from trident.spouts.files.parquet_rows import rows_in
from trident.spouts.files.task import EdgeFiles, ReadLines, ReadRows

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Counted:
    """How far the lines of a file were counted."""

    position: int
    line: int
    """The number of the line that this position is in."""


COUNTED_NOTHING: Final = Counted(0, 1)


class FormatReader(Protocol):
    """A format with its fields, as they were parsed once; may be used from several threads."""

    @property
    def schema(self) -> StructType:
        """The declared fields, each of which may be null."""

    def read(
        self,
        spark: SparkSession,
        folder: Path,
        groups: tuple[tuple[EdgeFiles, ...], ...],
        *,
        quick: bool,
        in_order: bool,
    ) -> DataFrame:
        """Return the frame of `Source.read`."""


@dataclass(frozen=True, slots=True)
class Format(ABC):
    """How the files of a stream are read; a format makes nothing of what is not its own."""

    counted: ClassVar[str]
    """What a position is one of, as the catalogue says it."""

    stream: str
    ddl: str
    delimiter: str = ","
    has_header: bool = True

    @abstractmethod
    def compile(self, spark: SparkSession) -> FormatReader:
        """Parse the schema; raises `ConfigurationError` where that can't be."""

    may_begin_without: ClassVar[bool] = False
    """Whether the first positions of a file may be of no record."""

    def first_of(self, file: BinaryIO, name: str) -> int:
        """Return where the first record of a file begins, which is just opened; its end, where there is none."""
        return 0

    @abstractmethod
    def width(self, path: Path, seen: SeenFile, *, is_known: bool) -> int:
        """Return how many positions a file has; `is_known` where another one has a number under its name."""

    @abstractmethod
    def places(self, path: Path, positions: Sequence[int], since: Counted) -> tuple[list[str], Counted]:
        """Return how people name ascending positions of a file, and up to where it is counted then."""

    def declared(self, spark: SparkSession) -> Declared:
        """Return the declared fields; what is said of a schema that is none names the stream."""
        try:
            return declared(spark, self.ddl)
        except ConfigurationError as error:
            raise ConfigurationError(f"stream {self.stream!r}: {error}; nothing was read") from error


class _OfLines(Format):
    __slots__ = ()
    counted = "lines"
    may_begin_without = True

    def first_of(self, file: BinaryIO, name: str) -> int:
        """Look behind lines without anything."""
        return first_of(file, name, has_header=False)

    def width(self, path: Path, seen: SeenFile, *, is_known: bool) -> int:
        """Return its bytes: a line stands at its first one. What is compressed has no lines."""
        with _as_seen(path, seen) as file:
            kind = compression_of(file.read(LONGEST_MARK))
        if kind is not None:
            raise compressed(path, kind, is_known=is_known)
        return seen.size

    def places(self, path: Path, positions: Sequence[int], since: Counted) -> tuple[list[str], Counted]:
        """Count the lines up to there; where the file can't be read any more, say the byte."""
        found: list[str] = []
        counted = since if positions[0] >= since.position else COUNTED_NOTHING
        try:
            with path.open("rb") as file:
                file.seek(counted.position)
                for position in positions:
                    counted = Counted(position, counted.line + _ends_in(file, position - counted.position))
                    found.append(f"line {counted.line}")
        except OSError:
            return [f"byte {position}" for position in positions], COUNTED_NOTHING
        return found, counted


def _ends_in(file: BinaryIO, count: int) -> int:
    ends = 0
    while count and (block := file.read(min(count, _BLOCK))):
        ends += block.count(b"\n")
        count -= len(block)
    return ends


class JsonFormat(_OfLines):
    """An object on each line."""

    __slots__ = ()

    def compile(self, spark: SparkSession) -> FormatReader:
        """Plan the fast path."""
        found = self.declared(spark)
        plan = plan_of(found.fields, found.required)
        return _LineReader(JsonTaskDecoder(found.fields, plan, required=found.required), has_header=False)


class CsvFormat(_OfLines):
    """Values between delimiters."""

    __slots__ = ()

    def first_of(self, file: BinaryIO, name: str) -> int:
        """Look behind the header too, where the spout says that there is one."""
        return first_of(file, name, has_header=self.has_header)

    def compile(self, spark: SparkSession) -> FormatReader:
        """Refuse types that have no values in CSV."""
        found = self.declared(spark)
        check_types(found.fields, self.stream)
        return _LineReader(CsvTaskDecoder(found.fields, self.delimiter, required=found.required), self.has_header)


class ParquetFormat(Format):
    """Rows of columns."""

    __slots__ = ()
    counted = "rows"

    def compile(self, spark: SparkSession) -> FormatReader:
        """Take the fields; each file is held to them when it is read."""
        found = self.declared(spark)
        return _RowReader(found.fields, found.required)

    def width(self, path: Path, seen: SeenFile, *, is_known: bool) -> int:
        """Return its rows, as its last bytes say."""
        with _as_seen(path, seen) as file:
            return rows_in(file, str(path))

    def places(self, path: Path, positions: Sequence[int], since: Counted) -> tuple[list[str], Counted]:
        """Count rows from 0."""
        return [f"row {position}" for position in positions], COUNTED_NOTHING


@contextmanager
def _as_seen(path: Path, seen: SeenFile) -> Iterator[BinaryIO]:
    """Open a file to see how many positions it has, which are of the size and the time that it gets its number with."""
    try:
        with path.open("rb") as file:
            _require_seen(path, file, seen)
            yield file
            _require_seen(path, file, seen)
    except OSError as error:
        raise _unreadable(path, error) from None


def _require_seen(path: Path, file: BinaryIO, seen: SeenFile) -> None:
    if SeenFile.of(os.fstat(file.fileno())) != seen:
        raise RetryableError(
            f"the file {str(path)!r} was exchanged, or is being written, while it was looked at; it got no number, and "
            "nothing was planned"
        )


def _unreadable(path: Path, error: OSError) -> RetryableError:
    return RetryableError(f"the file {str(path)!r} could not be read ({type(error).__name__}); nothing was planned")


@dataclass(frozen=True, slots=True)
class _LineReader:
    decoder: TaskDecoder
    has_header: bool

    @property
    def schema(self) -> StructType:
        return self.decoder.schema

    def read(
        self,
        spark: SparkSession,
        folder: Path,
        groups: tuple[tuple[EdgeFiles, ...], ...],
        *,
        quick: bool,
        in_order: bool,
    ) -> DataFrame:
        """Return the frame; what tasks leave to the JVM is decoded behind them."""
        decoder = self.decoder.quick() if quick else self.decoder
        if in_order:
            assert isinstance(decoder, KnowsRecords)
            decoder = decoder.ordered()
        task = ReadLines(str(folder), groups, decoder, self.has_header)
        frame = spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, decoder.task_schema)
        return decoder.finish(frame)


@dataclass(frozen=True, slots=True)
class _RowReader:
    schema: StructType
    required: tuple[str, ...]

    def read(
        self,
        spark: SparkSession,
        folder: Path,
        groups: tuple[tuple[EdgeFiles, ...], ...],
        *,
        quick: bool,
        in_order: bool,
    ) -> DataFrame:
        """Return the frame: nothing is left to the JVM, quick or not."""
        order = [StructField(ORDER, BinaryType())] if in_order else []
        schema = StructType([*self.schema.fields, *order, StructField(CONTROL, StringType())])
        task = ReadRows(str(folder), groups, arrow_schema(schema), self.required)
        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, schema)
