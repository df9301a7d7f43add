"""When a key counts as not there: what was last updated too long before a batch, by the times of batches alone.

A clock is never asked. The batch's time and the limit lie with its staged rows, so that whoever applies them, now or
after a take-over, and with whatever option, comes to the same result; and the time of a key is that of the value before
the txid, so that a replay does, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa

from trident.state.folding import Row, StoredRow, undone, updated
from trident.state.layout import StateKind
from trident.state.maps.maps import BackingValue, TimedValue
from trident.state.values import OpaqueValue, Update

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEP: Final = timedelta(microseconds=1)
_AT: Final = b"trident.batch_time"
_AFTER: Final = b"trident.expire_after"


@dataclass(frozen=True, slots=True)
class Ageing:
    """The time of a batch, and how long after its last update a key is there."""

    at: datetime
    after: timedelta

    def is_over(self, last: datetime | None) -> bool:
        """Tell whether what was updated then counts as not there; what has no time has not expired."""
        return last is not None and self.at - last >= self.after


def marked(rows: pa.Table, ageing: Ageing) -> pa.Table:
    """Return the rows with the time beside them, to be staged."""
    at, after = (ageing.at - _EPOCH) // _STEP, ageing.after // _STEP
    return rows.replace_schema_metadata({_AT: str(at), _AFTER: str(after)})


def ageing_of(rows: pa.Table) -> Ageing | None:
    """Return the time that staged rows were marked with, None for those of a state without `expire_after`."""
    found = rows.schema.metadata or {}
    if _AT not in found:
        return None
    return Ageing(_EPOCH + int(found[_AT]) * _STEP, int(found[_AFTER]) * _STEP)


def without_time(stored: BackingValue | None) -> object:
    """Return what a state without `expire_after` would have stored."""
    return stored.stored if isinstance(stored, TimedValue) else stored


def last_before(stored: BackingValue | None, txid: int) -> datetime | None:
    """Return when the value that a txid finds was updated, also where the txid is in already; None without a time."""
    if not isinstance(stored, TimedValue):
        return None
    is_in = not isinstance(stored.stored, tuple) and stored.stored.txid == txid
    return stored.before if is_in else stored.at


def aged(
    kind: StateKind, stored: BackingValue | None, txid: int, update: Update[Row], ageing: Ageing | None
) -> StoredRow | TimedValue:
    """Return what is to be stored after a txid's update of one key, which starts from nothing where it has expired.

    What was there stays the previous value all the same: another attempt may be of another time, or be undone.
    """
    if ageing is None:
        return updated(kind, without_time(stored), txid, update)
    last = last_before(stored, txid)
    is_over = ageing.is_over(last)
    new = updated(kind, without_time(stored), txid, lambda before: update(None if is_over else before))
    return TimedValue(new, ageing.at, last)


def taken_back(stored: BackingValue, txid: int) -> OpaqueValue[Row] | TimedValue | None:
    """Return what is to be stored once a txid is undone, None for a key that is to go."""
    back = undone(without_time(stored), txid)
    last = last_before(stored, txid)
    if back is None or last is None or not isinstance(stored, TimedValue):
        return back
    return stored if back is stored.stored else TimedValue(back, last, last)
