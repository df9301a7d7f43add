"""The fast path of `Json`: accepts what provably means the same to Spark's `from_json`, and nothing else.

msgspec's strict decoder takes a subset of the JSON that Spark's parser takes: no quoted numbers, no
fractions or exponents for integers, no single quotes, no NaN, no trailing text, no lone surrogates,
no invalid UTF-8 where a field is read. Both use the last of duplicate fields after checking each.
What remains is closed here:

- Spark's parser limits nesting (1,000), digits (1,000) and names (50,000): long records are looked at;
- decimals are kept as JSON text and turned into decimals by Arrow, and only where they have at most
  the schema's digits, so that nothing is rounded. A duplicate of such a field is not checked by
  msgspec, so a record that might have one is not accepted;
- types other than those in `_TYPES` (and fields with unusual names) leave the whole schema to Spark;
- a record that lacks a field which is NOT NULL is not accepted: it is a bad one, and that is said behind Spark.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

if TYPE_CHECKING:
    from typing import Any

    Column = pa.Array[Any]

_SHORT: Final = 1_000
_LONGEST: Final = 50_000
_LONG_NUMBER: Final = re.compile(rb"[0-9]{300}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ .-]*")
_NULL: Final = msgspec.Raw(b"null")
_REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


_Sure = npt.NDArray[np.bool_]


def _integer(bits: int) -> object:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


_TYPES: Final[dict[str, tuple[object, pa.DataType]]] = {
    "string": (str, pa.string()),
    "boolean": (bool, pa.bool_()),
    "tinyint": (_integer(8), pa.int8()),
    "smallint": (_integer(16), pa.int16()),
    "int": (_integer(32), pa.int32()),
    "bigint": (_integer(64), pa.int64()),
    "double": (float, pa.float64()),
}
_KINDS: Final[dict[type[DataType], str]] = {
    StringType: "string",
    BooleanType: "boolean",
    ByteType: "tinyint",
    ShortType: "smallint",
    IntegerType: "int",
    LongType: "bigint",
    DoubleType: "double",
}


@dataclass(frozen=True, slots=True)
class FastField:
    """A field that the fast path can decode; `decimal` is (precision, scale) for decimals."""

    name: str
    kind: str
    decimal: tuple[int, int] | None = None
    is_required: bool = False
    """Whether a record without a value there is left to Spark, behind which it is a bad one."""


FastPlan = tuple[FastField, ...]


def plan_of(schema: StructType, required: Collection[str] = ()) -> FastPlan | None:
    """Return what the fast path needs to know, or None when the schema is left to Spark as a whole."""
    fields = [_fast_field(field.name, field.dataType) for field in schema.fields]
    accepted = [replace(field, is_required=field.name in required) for field in fields if field is not None]
    return tuple(accepted) if accepted and len(accepted) == len(fields) else None


def _fast_field(name: str, type_: DataType) -> FastField | None:
    if not _NAME.fullmatch(name):
        return None
    if isinstance(type_, DecimalType):
        return FastField(name, "decimal", (type_.precision, type_.scale)) if type_.scale >= 0 else None
    kind = _KINDS.get(type(type_))
    if kind is None or type_.simpleString() != kind:  # a string with a collation is not this string
        return None
    return FastField(name, kind)


class FastJson:
    """A compiled plan; one per schema and process. Nothing of it changes, and msgspec's decoders may be shared."""

    def __init__(self, plan: FastPlan) -> None:
        self._plan = plan
        members = [_member(f"f{index}", field) for index, field in enumerate(plan)]
        renames = {f"f{index}": field.name for index, field in enumerate(plan)}
        struct = msgspec.defstruct("Record", members, rename=renames, gc=False, kw_only=True)
        self._decode = msgspec.json.Decoder(struct).decode
        self._getters = [attrgetter(f"f{index}") for index in range(len(plan))]
        self._decimal_names = [field.name for field in plan if field.decimal]

    @staticmethod
    @lru_cache(maxsize=32)
    def of(plan: FastPlan) -> FastJson:
        """Return the compiled plan, made once per process."""
        return FastJson(plan)

    def decode(self, values: Sequence[bytes | None]) -> tuple[list[Column], list[int]]:
        """Return the columns of the accepted values, in order, and the indexes of all others."""
        decoded, accepted = self._decode_all(values)
        columns = [
            _column(field, list(map(getter, decoded))) for field, getter in zip(self._plan, self._getters, strict=True)
        ]
        sure = self._sure(columns, values, accepted)
        arrays = [array for array, _ in columns]
        if sure is None:
            left = _others(len(values), accepted)
            return arrays, left
        kept = [index for index, ok in zip(accepted, sure, strict=True) if ok]
        return [array.filter(pa.array(sure)) for array in arrays], _others(len(values), kept)

    def _decode_all(self, values: Sequence[bytes | None]) -> tuple[list[object], Sequence[int]]:
        try:
            if max(map(len, values), default=0) <= _SHORT:  # type: ignore[arg-type]  # None raises TypeError, below
                return list(map(self._decode, values)), range(len(values))  # type: ignore[arg-type]
        except (TypeError, *_REFUSED):
            pass  # one record in the chunk is not for this path: find out which, record by record
        decoded: list[object] = []
        accepted: list[int] = []
        for index, value in enumerate(values):
            if value is None or not _within_limits(value):
                continue
            try:
                decoded.append(self._decode(value))
            except _REFUSED:
                continue
            accepted.append(index)
        return decoded, accepted

    def _sure(
        self,
        columns: list[tuple[Column, _Sure | None]],
        values: Sequence[bytes | None],
        accepted: Sequence[int],
    ) -> _Sure | None:
        """Return which decoded rows are certain, None when all are."""
        sure: _Sure | None = None
        for _, mask in columns:
            if mask is not None:
                sure = mask if sure is None else sure & mask
        if self._decimal_names:
            texts = pa.array([values[index] for index in accepted], pa.binary())
            single = _names_once(texts, self._decimal_names)
            sure = single if sure is None else sure & single
        return None if sure is None or bool(sure.all()) else sure


def _member(name: str, field: FastField) -> tuple[str, object] | tuple[str, object, object]:
    if field.decimal:
        return name, msgspec.Raw, _NULL
    type_, _ = _TYPES[field.kind]
    if field.is_required:
        return name, type_
    return name, type_ | None, None  # type: ignore[operator]


def _column(field: FastField, items: list[object]) -> tuple[Column, _Sure | None]:
    """Return the Arrow array and, where a value can still be unsure, which ones are sure."""
    if field.decimal:
        texts = [bytes(item) for item in items]  # type: ignore[call-overload]
        return _decimals(*field.decimal, texts, is_required=field.is_required)
    return pa.array(items, _TYPES[field.kind][1]), None


def _decimals(precision: int, scale: int, texts: list[bytes], *, is_required: bool) -> tuple[Column, _Sure]:
    """Turn JSON number texts into decimals where they have at most the schema's digits."""
    whole = precision - scale
    integer = "0" if whole <= 0 else f"(0|[1-9][0-9]{{0,{whole - 1}}})"
    fraction = f"(\\.[0-9]{{1,{scale}}})?" if scale else ""
    text = pa.array(texts, pa.binary())
    null = pc.equal(text, pa.scalar(b"null"))
    fits = pc.match_substring_regex(text, f"^-?{integer}{fraction}$")
    numbers = pc.if_else(fits, text, pa.scalar(None, pa.binary())).cast(pa.string())
    numbers = numbers.cast(pa.decimal128(precision, scale))
    return numbers, (fits if is_required else pc.or_(fits, null)).to_numpy(zero_copy_only=False)


def _names_once(texts: pa.BinaryArray, names: list[str]) -> _Sure:
    """Return which records surely have each of the names at most once (a name may be written with \\u escapes)."""
    sure = pc.invert(pc.match_substring(texts, "\\u"))
    for name in names:
        sure = pc.and_(sure, pc.less_equal(pc.count_substring(texts, f'"{name}"'), pa.scalar(1)))
    once: _Sure = sure.to_numpy(zero_copy_only=False)
    return once


def _within_limits(value: bytes) -> bool:
    """Return whether the limits of Spark's parser can't matter (on nesting, digits, length of names)."""
    if len(value) <= _SHORT:
        return True
    nested = value.count(b"{") + value.count(b"[")
    return len(value) <= _LONGEST and nested <= _SHORT and not _LONG_NUMBER.search(value)


def _others(count: int, accepted: Sequence[int]) -> list[int]:
    if len(accepted) == count:
        return []
    there = np.zeros(count, dtype=np.bool_)
    there[np.asarray(accepted, dtype=np.int64)] = True
    return [int(index) for index in np.flatnonzero(~there)]
