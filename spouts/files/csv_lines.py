"""Lines of comma-separated values as columns: each value exactly as its type says, or the line is a bad record."""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.arrays import AnyArray
from trident.base.control import CONTROL, BadRecordWord
from trident.base.conversions import decimals_of
from trident.base.errors import ConfigurationError, UncomputableError
from trident.base.exact import InexactError
from trident.base.order import ORDER, order_of
from trident.base.ranges import BadRecordRow, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import RawRecords
from trident.spouts.decoders.declared import lacking
from trident.spouts.files.errors import WAY_TO_CORRECT
from trident.spouts.files.lines import LineRecords
from trident.spouts.rows import control_batch

_INTEGER: Final = r"-?[0-9]+"
_DECIMAL: Final = r"[+-]?[0-9]+(\.[0-9]+)?"
_FLOAT: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Infinity"
_NOT_ZERO: Final = r"^[+-]?[0.]*[1-9]"
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT: Final = rf"{_DAY}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?"
_ZONE: Final = r"(Z|[+-][0-9]{2}:[0-9]{2})"
_TAKEN: Final = "string, integer, decimal, float, double, boolean, date, timestamp and timestamp_ntz"


class _UnfitError(ValueError):
    """Some line is no record of the schema; the text names a field where that is known, and no value."""


def form_of(type_: pa.DataType) -> str | None:
    """Return how a value of the type is written, as a regular expression; None for one that no value is of."""
    if pa.types.is_integer(type_):
        return _INTEGER
    if pa.types.is_decimal(type_):
        return _DECIMAL
    if pa.types.is_floating(type_):
        return _FLOAT
    if pa.types.is_boolean(type_):
        return "true|false"
    if pa.types.is_date(type_):
        return _DAY
    if isinstance(type_, pa.TimestampType):
        return _MOMENT if type_.tz is None else f"{_MOMENT}{_ZONE}?"
    return "(?s).*" if pa.types.is_string(type_) else None


def check_types(schema: StructType, stream: str) -> None:
    """Raise `ConfigurationError` for fields that values between commas can't be of."""
    for field in arrow_schema(schema):
        if form_of(field.type) is None:
            raise ConfigurationError(
                f"stream {stream!r}: the field {field.name!r} is of a type that CSV has no values of; it may be one of "
                f"{_TAKEN}. Nothing was read"
            )


@dataclass(frozen=True)
class CsvTaskDecoder:
    """See `TaskDecoder`; every field is text between delimiters, or between double quotes, which are doubled inside.

    What is empty is null, and `""` the empty text. A moment without a zone is one of UTC.
    """

    schema: StructType
    delimiter: str
    is_ordered: bool = False
    required: tuple[str, ...] = ()

    @property
    def task_schema(self) -> StructType:
        """The fields and the control column."""
        order = [StructField(ORDER, BinaryType())] if self.is_ordered else []
        return StructType([*self.schema.fields, *order, StructField(CONTROL, StringType())])

    @property
    def wants_headers(self) -> bool:
        """Lines have none."""
        return False

    def quick(self) -> CsvTaskDecoder:
        """It is: nothing is left to the JVM."""
        return self

    def ordered(self) -> CsvTaskDecoder:
        """Return the same with the records' places."""
        return replace(self, is_ordered=True)

    def finish(self, frame: DataFrame) -> DataFrame:
        """Nothing is left to do."""
        return frame

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return the lines' values, and a word for each line that is no record."""
        assert isinstance(records, LineRecords)
        names = self.schema.names if records.header is None else self._names_in(records.header)
        yield from self._decode(records, names, 0, len(records.lines))

    def _decode(self, records: LineRecords, names: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode some lines; where that fails by halves, down to those that are bad."""
        if start == stop:
            return
        try:
            columns = self._columns(records.lines[start:stop], names)
        except _UnfitError as error:
            if stop - start == 1:
                yield control_batch(self._arrow, [_bad(records, start, str(error))])
                return
            middle = (start + stop) // 2
            yield from self._decode(records, names, start, middle)
            yield from self._decode(records, names, middle, stop)
            return
        places = records.offsets[start:stop]
        order = [order_of(records.topic, records.partition, places)] if self.is_ordered else []
        nulls = pa.nulls(len(places), pa.string())
        yield pa.RecordBatch.from_arrays([*columns, *order, nulls], schema=self._arrow)

    @cached_property
    def _arrow(self) -> pa.Schema:
        return arrow_schema(self.task_schema)

    @cached_property
    def _well_formed(self) -> re.Pattern[bytes]:
        mark = re.escape(self.delimiter.encode())
        value = rb'(?:"(?:[^"]|"")*"|[^"\r\n' + mark + rb"]*)"
        return re.compile(value + rb"(?:" + mark + value + rb")*")

    def check_header(self, header: bytes, name: str) -> None:
        """Raise `UncomputableError` for a first line that does not name the fields, and show nothing of it."""
        found, wanted = self._names_in(header), self.schema.names
        if sorted(found) != sorted(wanted):
            lacks = [each for each in wanted if each not in found]
            raise UncomputableError(
                f"the first line of the file {name!r} does not hold the {len(wanted)} names {', '.join(wanted)}, in "
                f"whatever order: it has {len(found)} values and lacks {', '.join(lacks) or 'none, but has others'}. "
                "Nothing of the batch was applied. Where that line is a record already say header=False; where the "
                f"schema is wrong, correct that; else {WAY_TO_CORRECT}"
            )

    def _names_in(self, header: bytes) -> list[str]:
        try:
            return [str(row[0]) for row in self._texts([header], 1 + self._values_in(header)).values()]
        except _UnfitError:
            return []

    def _values_in(self, line: bytes) -> int:
        return re.sub(rb'"(?:[^"]|"")*"', b"", line).count(self.delimiter.encode())

    def _columns(self, lines: list[bytes], names: Sequence[str]) -> list[AnyArray]:
        texts = dict(zip(names, self._texts(lines, len(names)).values(), strict=True))
        for name in self.required:
            if texts[name].null_count:
                raise _UnfitError(lacking(name))
        return [_exact(texts[field.name], field) for field in self._arrow if field.name in texts]

    def _texts(self, lines: list[bytes], width: int) -> Mapping[str, pa.StringArray]:
        if not all(map(self._well_formed.fullmatch, lines)):
            raise _UnfitError("its quotes are not in pairs around whole values")
        # Arrow leaves out a mark at the beginning of whatever it is given, and that is any line of the file
        data, names = BOM_UTF8 + b"\n".join(lines) + b"\n", [str(number) for number in range(width)]
        try:
            table = csv.read_csv(
                io.BytesIO(data),
                csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
                csv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=False),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            raise _UnfitError(f"it is no UTF-8, or has not {width} values") from None
        if table.num_rows != len(lines):
            raise _UnfitError("its values are not those of one line")
        return {name: cast("pa.StringArray", table.column(name).combine_chunks()) for name in names}


def _exact(texts: pa.StringArray, field: pa.Field[pa.DataType]) -> AnyArray:
    """Return texts as values of the field's type; raises unless each is one, exactly."""
    if pa.types.is_string(field.type):
        return texts
    form = form_of(field.type)
    if not pc.all(pc.match_substring_regex(texts, f"^({form})$"), min_count=0).as_py():
        raise _UnfitError(f"what it has for the field {field.name!r} is not a value of the type")
    if isinstance(field.type, pa.TimestampType) and field.type.tz is not None:
        texts = pc.replace_substring_regex(texts, rf"^({_MOMENT})$", r"\1Z")
    try:
        is_decimal = pa.types.is_decimal(field.type)
        values: AnyArray = decimals_of(texts, field.type) if is_decimal else texts.cast(field.type)
    except (pa.ArrowException, InexactError):
        raise _UnfitError(f"the type of the field {field.name!r} does not hold its value exactly") from None
    if pa.types.is_floating(field.type):
        _require_near(texts, values, field.name)
    return values


def _require_near(texts: pa.StringArray, values: AnyArray, name: str) -> None:
    """Raise where a number became infinite, or 0 without being it; a float rounds any other text."""
    overflown = pc.and_(pc.is_inf(values), pc.invert(pc.match_substring(texts, "Infinity")))
    vanished = pc.and_(pc.equal(values, pa.scalar(0.0)), pc.match_substring_regex(texts, _NOT_ZERO))
    if pc.any(pc.or_(overflown, vanished), min_count=0).as_py():
        raise _UnfitError(f"the type of the field {name!r} does not hold its value")


def _bad(records: LineRecords, row: int, reason: str) -> BadRecordWord:
    id_ = PartitionId(records.topic, records.partition)
    offset = int(records.offsets[row])
    return BadRecordWord(records.edge, BadRecordRow(id_, offset, None, reason, None, records.lines[row]))
