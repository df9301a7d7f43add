"""The values of given keys in a store without transactions: read between two looks at the position."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from trident.base.errors import MismatchError, RetryableError
from trident.state.capabilities import Found
from trident.state.folding import Row, current, key_rows, table_of
from trident.state.maps.ageing import Ageing, last_before
from trident.state.maps.maps import BackingPosition, BackingValue, TimedValue
from trident.state.maps.place import MapPlace, chunks, position_of
from trident.state.maps.raising import reading
from trident.state.values import OpaqueValue, TransactionalValue


@dataclass(frozen=True, slots=True)
class MapQuerying:
    """See `Queryable`. Non-transactional values can't tell which batch they are of: half of one may be seen."""

    place: MapPlace

    def find(self, topology: str, keys: pa.Table) -> Found:
        """Get the keys; opaque values of a batch that is being put are those before it."""
        return self.find_of(topology, keys, None)

    def find_of(self, topology: str, keys: pa.Table, ageing: Ageing | None) -> Found:
        """Get the keys, but for those that have expired by the time of a batch."""
        place = self.place
        before = place.read(topology, "a query")
        position = position_of(before)
        if position is None:
            raise MismatchError(f"state {place.name!r} has never been registered; nothing was read")
        found: dict[Row, Row] = {}
        for chunk in chunks(key_rows(place.layout, keys), place.chunk_rows):
            for key, stored in zip(chunk, place.calls.get(chunk, reading("a query")), strict=True):
                row = None if stored is None else self._as_of(position.txid, stored, ageing)
                if row is not None:
                    found[key] = row
        if place.read(topology, "a query") != before:
            raise RetryableError(f"state {place.name!r} went on while it was read; nothing was changed")
        return Found(position, table_of(place.layout, found))

    def _as_of(self, txid: int, stored: BackingValue, ageing: Ageing | None) -> Row | None:
        """Return a key's values at a txid, None where there were none yet, or have expired."""
        if ageing is not None and ageing.is_over(last_before(stored, txid + 1)):
            return None
        plain = stored.stored if isinstance(stored, TimedValue) else stored
        if isinstance(plain, BackingPosition):
            raise MismatchError(f"a key of state {self.place.name!r} holds a position; nothing was changed")
        if isinstance(plain, OpaqueValue) and plain.txid > txid:
            return plain.previous
        if isinstance(plain, TransactionalValue) and plain.txid > txid:
            raise RetryableError(f"state {self.place.name!r} has part of txid {plain.txid}; nothing was changed")
        return current(plain)
