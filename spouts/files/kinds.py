"""Kinds of files: of lines, which are JSON or values between delimiters, and Parquet's rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.order import ORDER
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import KnowsRecords, TaskDecoder
from trident.spouts.decoders.json import Json
from trident.spouts.files.csv_lines import CsvTaskDecoder, check_types
from trident.spouts.files.folder import SeenFile
from trident.spouts.files.parquet_rows import rows_in
from trident.spouts.files.task import EdgeFiles, ReadLines, ReadRows

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How values stand in a line."""

    delimiter: str
    has_header: bool


@dataclass(frozen=True, slots=True)
class FilesOfLines:
    """JSON objects, one a line, or with a form values between delimiters; see `ReadsFiles`."""

    stream: str
    ddl: str
    csv: CsvForm | None

    def schema(self, spark: SparkSession) -> StructType:
        """Return the declared fields."""
        return self._decoder(spark).schema

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
        decoder = self._decoder(spark)
        if quick:
            decoder = decoder.quick()
        if in_order:
            assert isinstance(decoder, KnowsRecords)
            decoder = decoder.ordered()
        has_header = self.csv is not None and self.csv.has_header
        task = ReadLines(str(folder), groups, decoder, has_header)
        frame = spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, decoder.task_schema)
        return decoder.finish(frame)

    def _decoder(self, spark: SparkSession) -> TaskDecoder:
        if self.csv is None:
            return Json(self.ddl).compile(spark)
        fields = declared(spark, self.ddl, self.stream)
        check_types(fields, self.stream)
        return CsvTaskDecoder(fields, self.csv.delimiter, self.csv.has_header)


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """See `ReadsFiles`."""

    stream: str
    ddl: str

    def schema(self, spark: SparkSession) -> StructType:
        """Return the declared fields."""
        return declared(spark, self.ddl, self.stream)

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
        schema = StructType([*self.schema(spark).fields, *order, StructField(CONTROL, StringType())])
        task = ReadRows(str(folder), groups, arrow_schema(schema))
        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, schema)


def declared(spark: SparkSession, ddl: str, stream: str) -> StructType:
    """Return the fields of a schema, each of which may be null; raises `ConfigurationError` for none."""
    try:
        found = spark.createDataFrame([], ddl).schema
    except PySparkException as error:
        raise ConfigurationError(f"stream {stream!r}: the schema {ddl!r} is not valid; nothing was read") from error
    return StructType([StructField(field.name, field.dataType, True) for field in found.fields])
