"""The staged rows of a sink, the records that they become, and what of them no broker takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.errors import RefusedError
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
COMPRESSIBLE: Final = 128 << 20
"""How many bytes a record may have that is compressed before it is sent."""
_OVERHEAD: Final = 128
"""What a record costs at most beside its key, value and headers: the head of a batch of one, lengths, deltas."""
_PER_HEADER: Final = 10
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
    common = _common(batch) if lineage else []
    for first in range(0, rows.num_rows, _CHUNK):
        chunk = rows.slice(first, _CHUNK)
        columns = [chunk.column(name).to_pylist() for name in (TOPIC, KEY, VALUE, HEADERS, ORDER)]
        for topic, key, value, headers, order in zip(*columns, strict=True):
            own = [(header["key"], header["value"]) for header in headers] if headers else []
            added = _with_source(common, order) if lineage and order is not None else common
            yield Record(topic, key, value, [*own, *added])


def shown(rows: pa.Table) -> pa.Table:
    """Return staged rows as people are shown them: with the record that a row is of, in words."""
    places = [None if order is None else _place(order) for order in rows.column(ORDER).to_pylist()]
    return rows.drop_columns([ORDER]).append_column("source", pa.array(places, pa.string()))


def _is_sorted(order: pa.ChunkedArray[pa.BinaryScalar]) -> bool:
    neighbours = pc.less_equal(order.slice(0, len(order) - 1), order.slice(1))
    return not order.null_count and bool(pc.all(neighbours, min_count=0).as_py())


def check_rows(rows: pa.Table, limits: Mapping[str, int], *, is_compressed: bool = False) -> None:
    """Raise RefusedError for a row that can never be sent; `limits` are the topics that there are, in bytes per batch.

    What will be compressed is held against what the client takes: whether it is small enough then the broker decides.
    """
    topics = rows.column(TOPIC)
    if topics.null_count:
        raise RefusedError(f"{topics.null_count} rows name no topic; nothing was sent")
    for topic in pc.unique(topics).to_pylist():
        if not is_topic_name(str(topic)):
            raise RefusedError(
                f"no topic of Kafka can be called {topic!r}: up to {LONGEST_TOPIC} letters, digits, '.', '_' and '-'; "
                "nothing of the batch was sent"
            )
        if topic not in limits:
            raise RefusedError(
                f"there is no topic {topic!r}, or this login may not see it; nothing of the batch was sent. Create "
                "the topic, or let the login describe it and write to it"
            )
    _check_headers(rows)
    sizes = sizes_of(rows).to_numpy()
    for topic, limit in limits.items():
        of_topic = np.flatnonzero(pc.equal(topics, pa.scalar(topic)))
        if not len(of_topic):
            continue
        number = int(of_topic[sizes[of_topic].argmax()])
        largest = int(sizes[number])
        most = max(limit, COMPRESSIBLE) if is_compressed else limit
        if largest + _OVERHEAD > most:
            takes = f", which takes {most:,} at once (max.message.bytes)"
            if is_compressed:
                takes = f": before it is compressed it may have {most:,}"
            raise RefusedError(
                f"a record of {largest:,} bytes{_made_of(rows, number)} is too large for topic {topic!r}{takes}; "
                "nothing of the batch was sent"
            )


def _made_of(rows: pa.Table, number: int) -> str:
    order = rows.column(ORDER)[number].as_py()
    return "" if order is None else f" (made of {_place(order)})"


def is_topic_name(name: str) -> bool:
    """Tell whether Kafka takes a topic of that name."""
    if not 1 <= len(name) <= LONGEST_TOPIC or name in (".", ".."):
        return False
    return all(character.isascii() and (character.isalnum() or character in "._-") for character in name)


def sizes_of(rows: pa.Table) -> pa.Array[pa.Int64Scalar]:
    """Return how many bytes each row's key, value and headers have, the lineage's not counted."""
    lengths = [np.asarray(pc.binary_length(rows.column(name)).fill_null(0)) for name in (KEY, VALUE)]
    total = lengths[0].astype(np.int64) + lengths[1]
    headers = rows.column(HEADERS)
    if headers.null_count < rows.num_rows:
        own: list[list[dict[str, object]] | None] = headers.to_pylist()
        total += [sum(map(_size, row or ())) for row in own]
    return pa.array(total, pa.int64())


def _size(header: Mapping[str, object]) -> int:
    name, value = str(header["key"]), header["value"]
    return len(name.encode()) + (len(value) if isinstance(value, bytes) else 0) + _PER_HEADER


def _check_headers(rows: pa.Table) -> None:
    headers = rows.column(HEADERS)
    if headers.null_count == rows.num_rows:
        return
    names = pc.struct_field(pc.list_flatten(headers), 0)
    if names.null_count:
        raise RefusedError("a header has no name; nothing was sent")
    if pc.any(pc.starts_with(names, LINEAGE)).as_py():
        raise RefusedError(f"a header's name begins with {LINEAGE!r}, which is this library's own; nothing was sent")


def _common(batch: BatchId) -> list[Header]:
    return [
        (f"{LINEAGE}topology", batch.owner.topology.encode()),
        (f"{LINEAGE}txid", str(batch.txid).encode()),
        (f"{LINEAGE}attempt", str(batch.attempt).encode()),
    ]


def _with_source(common: list[Header], order: bytes) -> list[Header]:
    return [*common, (f"{LINEAGE}source", _place(order).encode())]


def _place(order: bytes) -> str:
    origin = origin_of(order)
    return f"{origin.topic}[{origin.partition}]@{origin.offset}"
