"""Formats of files: of lines, which are JSON or values between delimiters, and Parquet's rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
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
from trident.spouts.files.parquet_rows import rows_in
from trident.spouts.files.task import EdgeFiles, ReadLines, ReadRows

_BLOCK: Final = 1 << 20


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

    @abstractmethod
    def width(self, path: Path, seen: SeenFile) -> int:
        """Return how many positions a file has."""

    @abstractmethod
    def places(self, path: Path, positions: Sequence[int]) -> list[str]:
        """Return how people name ascending positions of a file."""

    def declared(self, spark: SparkSession) -> Declared:
        """Return the declared fields; what is said of a schema that is none names the stream."""
        try:
            return declared(spark, self.ddl)
        except ConfigurationError as error:
            raise ConfigurationError(f"stream {self.stream!r}: {error}; nothing was read") from error


class _OfLines(Format):
    __slots__ = ()
    counted = "lines"

    def width(self, path: Path, seen: SeenFile) -> int:
        """Return its bytes: a line stands at its first one. What is compressed has no lines."""
        try:
            with path.open("rb") as file:
                kind = compression_of(file.read(LONGEST_MARK))
        except OSError as error:
            raise _unreadable(path, error) from None
        if kind is not None:
            raise compressed(path, kind)
        return seen.size

    def places(self, path: Path, positions: Sequence[int]) -> list[str]:
        """Count the lines up to there; where the file can't be read any more, say the byte."""
        found: list[str] = []
        try:
            with path.open("rb") as file:
                line, reached = 1, 0
                for position in positions:
                    line += _ends_in(file, position - reached)
                    reached = position
                    found.append(f"line {line}")
        except OSError:
            return [f"byte {position}" for position in positions]
        return found


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

    def width(self, path: Path, seen: SeenFile) -> int:
        """Return its rows, as its last bytes say."""
        try:
            with path.open("rb") as file:
                return rows_in(file, str(path))
        except OSError as error:
            raise _unreadable(path, error) from None

    def places(self, path: Path, positions: Sequence[int]) -> list[str]:
        """Count rows from 0."""
        return [f"row {position}" for position in positions]


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
