"""Formats of files: of lines, which are JSON or values between delimiters, and Parquet's rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.order import ORDER
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import KnowsRecords, TaskDecoder
from trident.spouts.decoders.declared import declared_fields
from trident.spouts.decoders.fast_json import plan_of
from trident.spouts.decoders.json import JsonTaskDecoder
from trident.spouts.files.csv_lines import CsvTaskDecoder, check_types
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
    def place(self, path: Path, position: int) -> str:
        """Return how errors name a position of a file."""

    def fields(self, spark: SparkSession) -> StructType:
        """Return the declared fields; what is said of a schema that is none names the stream."""
        try:
            return declared_fields(spark, self.ddl)
        except ConfigurationError as error:
            raise ConfigurationError(f"stream {self.stream!r}: {error}; nothing was read") from error


class _OfLines(Format):
    __slots__ = ()
    counted = "lines"

    def width(self, path: Path, seen: SeenFile) -> int:
        """Return its bytes: a line stands at its first one."""
        return seen.size

    def place(self, path: Path, position: int) -> str:
        """Count the lines up to there; where the file can't be read any more, say the byte."""
        lines, left = 1, position
        try:
            with path.open("rb") as file:
                while left and (block := file.read(min(left, _BLOCK))):
                    lines += block.count(b"\n")
                    left -= len(block)
        except OSError:
            return f"byte {position}"
        return f"line {lines}"


class JsonFormat(_OfLines):
    """An object on each line."""

    __slots__ = ()

    def compile(self, spark: SparkSession) -> FormatReader:
        """Plan the fast path."""
        fields = self.fields(spark)
        return _LineReader(JsonTaskDecoder(fields, plan_of(fields)), has_header=False)


class CsvFormat(_OfLines):
    """Values between delimiters."""

    __slots__ = ()

    def compile(self, spark: SparkSession) -> FormatReader:
        """Refuse types that have no values in CSV."""
        fields = self.fields(spark)
        check_types(fields, self.stream)
        return _LineReader(CsvTaskDecoder(fields, self.delimiter), self.has_header)


class ParquetFormat(Format):
    """Rows of columns."""

    __slots__ = ()
    counted = "rows"

    def compile(self, spark: SparkSession) -> FormatReader:
        """Take the fields; each file is held to them when it is read."""
        return _RowReader(self.fields(spark))

    def width(self, path: Path, seen: SeenFile) -> int:
        """Return its rows, as its last bytes say."""
        try:
            with path.open("rb") as file:
                return rows_in(file, str(path))
        except OSError as error:
            raise RetryableError(
                f"the file {str(path)!r} could not be read ({type(error).__name__}); nothing was planned"
            ) from None

    def place(self, path: Path, position: int) -> str:
        """Count rows from 0."""
        return f"row {position}"


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
        task = ReadRows(str(folder), groups, arrow_schema(schema))
        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, schema)
