"""What of staged rows no broker takes: found before they are pinned, since afterwards a person has to decide. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.base.order import ORDER
from trident.state.kafka.clients.cluster import TopicSettings
from trident.state.kafka.records import (
    HEADERS,
    KEY,
    LINEAGE,
    LONGEST_TOPIC,
    SOURCE,
    TOPIC,
    VALUE,
    Header,
    is_topic_name,
    lineage_of,
    place_of,
)

COMPRESSIBLE: Final = 128 << 20
"""How many bytes a record may have that is compressed before it is sent."""
_OVERHEAD: Final = 128
"""What a record costs at most beside its key, value and headers: the head of a batch of one, lengths, deltas."""
_PER_HEADER: Final = 10
_PLACE: Final = 19
"""By how much the place of a record is longer in words than as bytes, at most."""


def check_rows(
    rows: pa.Table,
    topics: Mapping[str, TopicSettings],
    lineage: BatchId | None = None,
    *,
    of_markers: Collection[str] = (),
    is_compressed: bool = False,
) -> None:
    """Raise RefusedError for a row that can never be sent; `topics` are those that there are.

    Those `of_markers` are not for rows. With `lineage` its headers are counted, as those of a record of this batch.
    What will be compressed is held against what the client takes: whether it is small enough then the broker decides.
    """
    named = rows.column(TOPIC)
    if named.null_count:
        raise RefusedError(f"{named.null_count} rows name no topic; nothing was sent")
    for topic in pc.unique(named).to_pylist():
        if not is_topic_name(str(topic)):
            raise RefusedError(
                f"no topic of Kafka can be called {topic!r}: up to {LONGEST_TOPIC} letters, digits, '.', '_' and '-'; "
                "nothing of the batch was sent"
            )
        if topic in of_markers:
            raise RefusedError(
                f"a record names topic {topic!r}, which holds the markers of sinks and nothing else: a record there "
                "would stop whoever's marker has its key; nothing of the batch was sent"
            )
        if topic not in topics:
            raise RefusedError(
                f"there is no topic {topic!r}, or this login may not see it; nothing of the batch was sent. Create "
                "the topic, or let the login describe it and write to it"
            )
    _check_headers(rows)
    sizes = _sizes_of(rows, lineage)
    for topic, settings in topics.items():
        of_topic = np.flatnonzero(pc.equal(named, pa.scalar(topic)))
        if len(of_topic):
            _check_keys(rows, of_topic, topic, settings)
            _check_sizes(rows, of_topic, sizes, topic, settings.max_message_bytes, is_compressed)


def _check_keys(rows: pa.Table, of_topic: npt.NDArray[np.intp], topic: str, settings: TopicSettings) -> None:
    keys = rows.column(KEY)
    if not keys.null_count or "compact" not in settings.cleanup:
        return
    without = of_topic[np.asarray(pc.is_null(keys))[of_topic]]
    if len(without):
        raise RefusedError(
            f"a record{_made_of(rows, int(without[0]))} for topic {topic!r} has no key, and that topic is compacted "
            f"(cleanup.policy={settings.cleanup}): it takes records with a key only; nothing of the batch was sent"
        )


def _check_sizes(
    rows: pa.Table,
    of_topic: npt.NDArray[np.intp],
    sizes: npt.NDArray[np.int64],
    topic: str,
    limit: int,
    is_compressed: bool,
) -> None:
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
    return "" if order is None else f" (made of {place_of(order)})"


def _sizes_of(rows: pa.Table, lineage: BatchId | None) -> npt.NDArray[np.int64]:
    """Return how many bytes each row's key, value and headers have; those of its source at most."""
    total = _lengths(rows, KEY) + _lengths(rows, VALUE)
    headers = rows.column(HEADERS)
    if headers.null_count < rows.num_rows:
        own: list[list[dict[str, object]] | None] = headers.to_pylist()
        total += [_size((str(header["key"]), _bytes(header["value"])) for header in row or ()) for row in own]
    if lineage is not None:
        source = np.where(np.asarray(rows.column(ORDER).is_valid()), _size([(SOURCE, b"")]) + _PLACE, 0)
        total += _size(lineage_of(lineage)) + source + _lengths(rows, ORDER)
    return total


def _lengths(rows: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(pc.binary_length(rows.column(name)).fill_null(0)).astype(np.int64)


def _size(headers: Iterable[Header]) -> int:
    return sum(len(name.encode()) + len(value or b"") + _PER_HEADER for name, value in headers)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _check_headers(rows: pa.Table) -> None:
    headers = rows.column(HEADERS)
    if headers.null_count == rows.num_rows:
        return
    names = pc.struct_field(pc.list_flatten(headers), 0)
    if names.null_count:
        raise RefusedError("a header has no name; nothing was sent")
    if pc.any(pc.starts_with(names, LINEAGE)).as_py():
        raise RefusedError(f"a header's name begins with {LINEAGE!r}, which is this library's own; nothing was sent")
