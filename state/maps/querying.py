"""The values of given keys in a store without transactions: read between two looks at the position."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from trident.base.errors import MismatchError, RetryableError
from trident.state.capabilities import Found
from trident.state.folding import Row, current, key_rows, table_of
from trident.state.maps.maps import BackingPosition, BackingValue
from trident.state.maps.place import MapPlace, chunks, position_of
from trident.state.maps.raising import reading
from trident.state.values import OpaqueValue, TransactionalValue


@dataclass(frozen=True, slots=True)
class MapQuerying:
    """See `Queryable`. Non-transactional values can't tell which batch they are of: half of one may be seen."""

    place: MapPlace

    def find(self, topology: str, keys: pa.Table) -> Found:
        """Get the keys; opaque values of a batch that is being put are those before it."""
        place = self.place
        before = place.read(topology, "a query")
        position = position_of(before)
        if position is None:
            raise MismatchError(f"state {place.name!r} has never been registered; nothing was read")
        found: dict[Row, Row] = {}
        for chunk in chunks(key_rows(place.layout, keys), place.chunk_rows):
            for key, stored in zip(chunk, place.calls.get(chunk, reading("a query")), strict=True):
                row = None if stored is None else self._as_of(position.txid, stored)
                if row is not None:
                    found[key] = row
        if place.read(topology, "a query") != before:
            raise RetryableError(f"state {place.name!r} went on while it was read; nothing was changed")
        return Found(position, table_of(place.layout, found))

    def _as_of(self, txid: int, stored: BackingValue) -> Row | None:
        """Return a key's values at a txid, None where there were none yet."""
        if isinstance(stored, BackingPosition):
            raise MismatchError(f"a key of state {self.place.name!r} holds a position; nothing was changed")
        if isinstance(stored, OpaqueValue) and stored.txid > txid:
            return stored.previous
        if isinstance(stored, TransactionalValue) and stored.txid > txid:
            raise RetryableError(f"state {self.place.name!r} has part of txid {stored.txid}; nothing was changed")
        return current(stored)
