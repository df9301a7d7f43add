"""What each topic takes: asked once in a while, not for each batch."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.state.kafka.checking import check_rows
from trident.state.kafka.clients.cluster import Cluster, TopicSettings
from trident.state.kafka.records import TOPIC, is_topic_name

_COMPRESSION: Final = ("compression.type", "compression.codec")
_AS_LONG: Final = 200
"""How many times an answer does: whoever has made a topic's limit smaller meanwhile is told by a refusal."""


class MessageLimits:
    """What the topics of staged rows take; may be called from several threads.

    With `lineage` the headers that say where a record came from count, too; topics `of_markers` take no rows.
    """

    def __init__(
        self, cluster: Cluster, *, lineage: bool, of_markers: Collection[str] = (), is_compressed: bool = False
    ) -> None:
        self._cluster = cluster
        self._lineage = lineage
        self._of_markers = of_markers
        self._is_compressed = is_compressed
        self._lock = threading.Lock()
        self._known: dict[str, TopicSettings] = {}
        self._left = 0

    def check(self, rows: pa.Table, batch: BatchId) -> None:
        """Raise RefusedError for a row that can never be sent; a limit that was raised meanwhile is asked for first."""
        try:
            self._check(rows, batch)
        except RefusedError:
            self._forget()
            self._check(rows, batch)

    def of(self, tables: Sequence[pa.Table]) -> dict[str, int]:
        """Return how many bytes a batch may have, of the topics in these rows that are there."""
        return {topic: told.max_message_bytes for topic, told in self._settings_of(tables).items()}

    def _check(self, rows: pa.Table, batch: BatchId) -> None:
        lineage = batch if self._lineage else None
        topics = self._settings_of([rows])
        check_rows(rows, topics, lineage, of_markers=self._of_markers, is_compressed=self._is_compressed)

    def _forget(self) -> None:
        with self._lock:
            self._left = 0

    def _settings_of(self, tables: Sequence[pa.Table]) -> dict[str, TopicSettings]:
        """Return what is known of the topics in these rows that are there; missing ones are asked for each time."""
        named = {topic for table in tables for topic in pc.unique(table.column(TOPIC)).to_pylist() if topic is not None}
        named = {topic for topic in named if is_topic_name(topic)}  # a broker would refuse the whole question
        if not named:
            return {}
        with self._lock:
            self._left -= 1
            if self._left >= 0 and named <= self._known.keys():
                return {topic: self._known[topic] for topic in named}
        found = dict(self._cluster.settings(sorted(named)))
        with self._lock:
            self._known, self._left = {**self._known, **found}, _AS_LONG
            for topic in named - found.keys():
                self._known.pop(topic, None)
        return found


def is_compressed(client_options: Mapping[str, str]) -> bool:
    """Tell whether a client with these options compresses what it sends: how large that is only the broker knows."""
    return any(client_options.get(name, "none") != "none" for name in _COMPRESSION)
