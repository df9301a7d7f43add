"""A map whose keys expire: staged rows bear the time of their batch, and what has expired is removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow as pa

from trident.base.identity import BatchId
from trident.state.capabilities import Found
from trident.state.maps.ageing import Ageing, marked
from trident.state.maps.maps import (
    BackingKey,
    BackingPosition,
    BackingValue,
    ExpiringBackingMap,
    TimedPosition,
    TimedValue,
)
from trident.state.maps.place import MapPlace
from trident.state.maps.querying import MapQuerying
from trident.state.maps.raising import removing_expired
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates


class MapExpiring:
    """See `Expires`; for the thread that applies, but for `stage_at`."""

    def __init__(self, place: MapPlace, after: timedelta) -> None:
        self._place = place
        self._after = after
        self._txid = 0
        self._touched = 0
        self._removed = 0

    def stage_at(self, batch: BatchId, updates: HeldUpdates, at: datetime) -> StagedUpdates:
        """Commit the rows, also none of them, to the ledger's database, with the time that decides about their keys."""
        rows = conform(updates.rows, self._place.layout.schema())
        return WrittenUpdates((self._place.blobs.put(batch, marked(rows, Ageing(at, self._after))),))

    def find_at(self, topology: str, keys: pa.Table, at: datetime) -> Found:
        """Return the values of keys that a batch of this time finds."""
        return MapQuerying(self._place).find_of(topology, keys, Ageing(at, self._after))

    def expired_with(self, txid: int) -> int:
        """Return how many keys were found expired with a txid, if it was the last that was at work here."""
        return self._touched + self._removed if self._txid == txid else 0

    def count_touched(self, txid: int, keys: int) -> None:
        """Note how many keys of a batch had expired; a call that comes again finds the same ones."""
        self._begin(txid)
        self._touched = keys

    def remove_expired(self, batch: BatchId, found: BackingPosition | None, ageing: Ageing, puts: int) -> None:
        """Remove keys that had expired when the txid before was done; as many as the batch puts, or a chunk of them.

        Nothing brings that txid back, and no batch is of an earlier time than the one before it: such a key is not
        there for this batch, whatever becomes of it. `found` is what the reserved key holds.
        """
        if not isinstance(found, TimedPosition) or not isinstance(self._place.backing_map, ExpiringBackingMap):
            return
        self._begin(batch.txid)
        limit, left = found.at - ageing.after, max(puts, self._place.chunk_rows)
        while left > 0:
            asked = min(left, self._place.chunk_rows)
            keys = self._place.calls.expired(limit, asked, removing_expired(batch))
            gone = self._remove(batch, keys, limit)
            self._removed += gone
            left -= gone
            if len(keys) < asked or not gone:
                return

    def _remove(self, batch: BatchId, keys: Sequence[BackingKey], limit: datetime) -> int:
        """Remove those that have expired indeed and hold what they held a moment ago; returns how many."""
        place, aim = self._place, removing_expired(batch)
        stored = place.get(list(keys), aim.about)
        over: list[tuple[BackingKey, BackingValue | None]] = [
            (key, value) for key, value in stored.items() if isinstance(value, TimedValue) and value.at <= limit
        ]
        place.cache.drop([key for key, _ in over])
        return len(over) - len(place.remove(over, aim, may_be_left=True))

    def _begin(self, txid: int) -> None:
        if self._txid != txid:
            self._txid, self._touched, self._removed = txid, 0, 0
