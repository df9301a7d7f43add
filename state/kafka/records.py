"""The staged rows of a sink, and the records that they become. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.identity import BatchId
from trident.base.order import ORDER, origin_of

TOPIC: Final = "topic"
KEY: Final = "key"
VALUE: Final = "value"
HEADERS: Final = "headers"
HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_TYPES: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {TOPIC: pa.string(), KEY: pa.binary(), VALUE: pa.binary(), HEADERS: pa.list_(HEADER), ORDER: pa.binary()}
)
ROWS: Final = pa.schema(_TYPES)
"""One row per record; a null value is a tombstone. Where it is of one record of a source, that is its order."""

LINEAGE: Final = "trident-"
"""How the headers begin that say where a record came from; no other one does."""
SOURCE: Final = f"{LINEAGE}source"
LONGEST_TOPIC: Final = 249
_CHUNK: Final = 5_000

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Record:
    """One record for a producer."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


def in_order(rows: pa.Table) -> pa.Table:
    """Return the rows in the order of the records that they are of; those of none stay as they are, behind the others.

    What was staged by several tasks comes in any order, and what readers see must not depend on tasks.
    """
    order = rows.column(ORDER)
    if order.null_count == rows.num_rows or _is_sorted(order):
        return rows
    return rows.sort_by([(ORDER, "ascending")])


def records_of(rows: pa.Table, batch: BatchId, *, lineage: bool) -> Iterator[Record]:
    """Yield the records of staged rows in their order, each with the headers that say where it came from."""
    common = lineage_of(batch) if lineage else []
    for first in range(0, rows.num_rows, _CHUNK):
        chunk = rows.slice(first, _CHUNK)
        columns = [chunk.column(name).to_pylist() for name in (TOPIC, KEY, VALUE, HEADERS, ORDER)]
        for topic, key, value, headers, order in zip(*columns, strict=True):
            own = [(header["key"], header["value"]) for header in headers] if headers else []
            added = _with_source(common, order) if lineage and order is not None else common
            yield Record(topic, key, value, [*own, *added])


def shown(rows: pa.Table) -> pa.Table:
    """Return staged rows as people are shown them: with the record that a row is of, in words."""
    places = [None if order is None else place_of(order) for order in rows.column(ORDER).to_pylist()]
    return rows.drop_columns([ORDER]).append_column("source", pa.array(places, pa.string()))


def _is_sorted(order: pa.ChunkedArray[pa.BinaryScalar]) -> bool:
    neighbours = pc.less_equal(order.slice(0, len(order) - 1), order.slice(1))
    return not order.null_count and bool(pc.all(neighbours, min_count=0).as_py())


def is_topic_name(name: str) -> bool:
    """Tell whether Kafka takes a topic of that name."""
    if not 1 <= len(name) <= LONGEST_TOPIC or name in (".", ".."):
        return False
    return all(character.isascii() and (character.isalnum() or character in "._-") for character in name)


def lineage_of(batch: BatchId) -> list[Header]:
    """Return the headers that all records of a batch have; its source each record has for itself."""
    return [
        (f"{LINEAGE}topology", batch.owner.topology.encode()),
        (f"{LINEAGE}txid", str(batch.txid).encode()),
        (f"{LINEAGE}attempt", str(batch.attempt).encode()),
    ]


def _with_source(common: list[Header], order: bytes) -> list[Header]:
    return [*common, (SOURCE, place_of(order).encode())]


def place_of(order: bytes) -> str:
    """Return the record that a row is of, in words."""
    origin = origin_of(order)
    return f"{origin.topic}[{origin.partition}]@{origin.offset}"
