"""Who holds a topology: raising its epoch, beating, letting go.

The fence row changes only here, at take-over. Heartbeats live in a row of their own, timed by the
database's clock, so that a beat never waits for a fenced write nor a take-over for a beat.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, and_, bindparam, exists, select, update

from trident.base.errors import FatalError, FencedError, OutcomeUnknownError, RetryableError
from trident.base.identity import Epoch
from trident.base.latency import CompleteLatency
from trident.coordinators.ledger.rules.fencing import check_epoch, lease_held
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.dialect import SecondsSince, insert_new
from trident.coordinators.ledger.sql.lifecycle import commands_wait
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.opening import refuse_hidden
from trident.coordinators.ledger.sql.presence import Presence, PresenceMark
from trident.coordinators.ledger.sql.reads import read_epoch
from trident.coordinators.ledger.sql.tables import FENCE, HEARTBEAT, TOPOLOGY
from trident.coordinators.registered import Acquired, Lease, pause_between_beats
from trident.state.databases.base import EndsSessions, HasSchemas, SqlDatabase

_LOOKS_PER_BEAT: Final = 5
_LEFT = HEARTBEAT.c.lease_seconds - SecondsSince(HEARTBEAT.c.beat_at)
_FENCE = (
    select(FENCE, HEARTBEAT.c.released, HEARTBEAT.c.lease_seconds, HEARTBEAT.c.beat_at, _LEFT.label("seconds_left"))
    .join_from(FENCE, HEARTBEAT, HEARTBEAT.c.topology == FENCE.c.topology)
    .where(FENCE.c.topology == bindparam("topology"))
)
_FENCE_LOCKED = _FENCE.with_for_update(of=[FENCE, HEARTBEAT])
_IS_CURRENT = exists().where(
    FENCE.c.topology == bindparam("in_topology"),
    FENCE.c.number == bindparam("in_number"),
    FENCE.c.token == bindparam("in_token"),
)
_OWN_HEARTBEAT = and_(
    HEARTBEAT.c.topology == bindparam("in_topology"), HEARTBEAT.c.epoch == bindparam("in_number"), _IS_CURRENT
)
_BEAT = update(HEARTBEAT).where(_OWN_HEARTBEAT, HEARTBEAT.c.released.is_(False)).values(beat_at=DatabaseNow())
_BEAT_AND_LOOK = _BEAT.values(latencies=bindparam("in_latencies")).returning(commands_wait("in_topology").label("wait"))
_RELEASE = update(HEARTBEAT).where(_OWN_HEARTBEAT).values(released=True)


@dataclass(frozen=True, slots=True)
class Holder:
    """What is stored of the last take-over; `seconds_left` is negative when its lease ran out."""

    epoch: Epoch
    name: str
    mark: PresenceMark
    released: bool
    lease: timedelta
    seconds_left: float
    beat_at: object
    """By the database's clock, in its own form: two are compared, nothing is computed."""


def acquire(database: SqlDatabase, presence: Presence, topology: str, lease: Lease, above: int) -> Acquired:
    """Raise the topology's epoch; see `Ledger.acquire`.

    Whoever held it is silent for longer than its lease, or gone, and has not shown itself since: what it has left open
    in the database is ended, so that a holder that stopped inside of a statement keeps nobody waiting.
    """
    with database.transaction() as transaction:
        before = _read_holder(transaction.connection, topology, lock=False)
        if isinstance(database, HasSchemas) and not _is_registered(transaction.connection, topology):
            found = database.elsewhere(transaction.connection, TOPOLOGY.name, TOPOLOGY.c.name.name, topology)
            refuse_hidden(topology, found)
        fence = _place_of_fence(database, transaction.connection)
    if before is not None and _holds(database, presence, topology, before):
        raise lease_held(topology, before.name, before.seconds_left, before.epoch)
    drawn = secrets.token_hex(16)
    epoch = before.epoch.next(drawn, above) if before else Epoch(above + 1, drawn)
    if isinstance(database, EndsSessions):
        database.end_older(topology, epoch)
    mark = presence.hold(topology, epoch.token)
    try:
        _raise_surely(database, topology, fence, lease, before, epoch, mark)
    except BaseException:
        presence.end(topology, epoch.token)
        raise
    return Acquired(epoch, before.name if before else None)


def _place_of_fence(database: SqlDatabase, connection: Connection) -> str:
    return database.place_of(connection, FENCE.name) if isinstance(database, HasSchemas) else FENCE.name


def _is_registered(connection: Connection, topology: str) -> bool:
    """Tell whether a topology has begun here; a fence alone may be left by whoever looked for it in a wrong place."""
    known = select(exists().where(TOPOLOGY.c.name == topology))
    found: bool = connection.execute(known).scalar_one()
    return found


def renew(
    connection: Connection, topology: str, epoch: Epoch, latencies: Sequence[CompleteLatency], *, looks: bool
) -> bool:
    """Write a heartbeat; tells, where it looks for them in the same statement, whether commands wait.

    Tables of an older version have none, and no place for latencies. Raises FencedError for another epoch or a lease
    that was let go.
    """
    if looks:
        said = {"in_latencies": codec.LATENCIES.encode(tuple(latencies)) if latencies else None}
        row = connection.execute(_BEAT_AND_LOOK, _of(topology, epoch) | said).one_or_none()
        if row is not None:
            return bool(row.wait)
    elif connection.execute(_BEAT, _of(topology, epoch)).rowcount == 1:
        return False
    check_epoch(topology, read_epoch(connection, topology), epoch)
    raise FencedError(f"topology {topology!r}: the lease of epoch {epoch.number} was released. Nothing was written.")


def release(connection: Connection, topology: str, epoch: Epoch) -> None:
    """End the lease at once; a no-op when the epoch is old."""
    connection.execute(_RELEASE, _of(topology, epoch))


def _holds(database: SqlDatabase, presence: Presence, topology: str, holder: Holder) -> bool:
    if holder.released:
        return False
    has_run_out = holder.seconds_left <= 0
    if not has_run_out and not presence.is_gone(topology, holder.epoch.token, holder.mark):
        return True
    if _is_heard_of(database, topology, holder):
        return True
    return not has_run_out and not presence.is_gone(topology, holder.epoch.token, holder.mark)


def _is_heard_of(database: SqlDatabase, topology: str, holder: Holder) -> bool:
    """Tell whether a holder that seems to be gone, or late, shows itself within two of its beats.

    One that lives may have lost only what shows that it does: its session was ended as an idle one, the server was
    started anew, or stood still for longer than the lease; its clock was set. It is given the time to say so, from
    when the server answers on.
    """
    pause, looking = pause_between_beats(holder.lease), threading.Event()
    for _ in range(2 * _LOOKS_PER_BEAT):
        looking.wait(pause / _LOOKS_PER_BEAT)
        with database.transaction() as transaction:
            now = _read_holder(transaction.connection, topology, lock=False)
        if now is None or now.epoch != holder.epoch or now.released:
            return False  # what became of it is looked at again under the lock
        if now.beat_at != holder.beat_at:
            return True
    return False


def _read_holder(connection: Connection, topology: str, *, lock: bool) -> Holder | None:
    row = connection.execute(_FENCE_LOCKED if lock else _FENCE, {"topology": topology}).one_or_none()
    if row is None:
        return None
    return Holder(
        epoch=Epoch(row.number, row.token),
        name=row.holder,
        mark=PresenceMark(row.session_pid, row.session_host, row.session_started),
        released=row.released,
        lease=timedelta(seconds=row.lease_seconds),
        seconds_left=row.seconds_left,
        beat_at=row.beat_at,
    )


def _raise_surely(
    database: SqlDatabase,
    topology: str,
    fence: str,
    lease: Lease,
    before: Holder | None,
    epoch: Epoch,
    mark: PresenceMark,
) -> None:
    """Raise the epoch; when the answer is lost, ask for it under the row's lock: the token is ours alone.

    Until it is raised others draw the same number, and of a first one another line: one that stops here is found by
    the fence that it holds.
    """
    try:
        with database.transaction() as transaction:
            transaction.take(topology, epoch, fence)
            _raise_epoch(transaction.connection, topology, lease, before, epoch, mark)
    except OutcomeUnknownError:
        with database.transaction() as transaction:
            transaction.take(topology, epoch, fence)
            now = _read_holder(transaction.connection, topology, lock=True)
        if now is None or now.epoch != epoch:
            raise RetryableError(f"the epoch of topology {topology!r} was not raised; nothing was changed") from None


def _raise_epoch(
    connection: Connection, topology: str, lease: Lease, before: Holder | None, epoch: Epoch, mark: PresenceMark
) -> None:
    if before is None:
        _first_epoch(connection, topology, lease, epoch, mark)
        return
    now = _read_holder(connection, topology, lock=True)
    if now is None or now.epoch != before.epoch:
        raise RetryableError(f"another coordinator took topology {topology!r} at this moment; nothing was changed")
    if now.beat_at != before.beat_at:  # between the two looks sessions were ended and a login was made
        raise lease_held(topology, now.name, now.seconds_left, now.epoch)
    fenced = connection.execute(
        update(FENCE)
        .where(FENCE.c.topology == topology, FENCE.c.number < epoch.number)
        .values(_fence(lease, epoch, mark))
    )
    beaten = connection.execute(
        update(HEARTBEAT).where(HEARTBEAT.c.topology == topology).values(_heartbeat(lease, epoch))
    )
    if (fenced.rowcount, beaten.rowcount) != (1, 1):
        raise FatalError(f"the epoch of topology {topology!r} could not be raised under its lock; nothing was written")


def _first_epoch(connection: Connection, topology: str, lease: Lease, epoch: Epoch, mark: PresenceMark) -> None:
    fenced = insert_new(connection, FENCE, {"topology": topology, **_fence(lease, epoch, mark)})
    if not fenced or not insert_new(connection, HEARTBEAT, {"topology": topology, **_heartbeat(lease, epoch)}):
        raise RetryableError(f"another coordinator took topology {topology!r} at this moment; nothing was changed")


def _fence(lease: Lease, epoch: Epoch, mark: PresenceMark) -> dict[str, object]:
    return {
        "number": epoch.number,
        "token": epoch.token,
        "holder": lease.holder,
        "session_pid": mark.pid,
        "session_host": mark.host,
        "session_started": mark.started,
        "raised_at": DatabaseNow(),
    }


def _heartbeat(lease: Lease, epoch: Epoch) -> dict[str, object]:
    return {
        "epoch": epoch.number,
        "beat_at": DatabaseNow(),
        "lease_seconds": lease.duration.total_seconds(),
        "released": False,
    }


def _of(topology: str, epoch: Epoch) -> dict[str, object]:
    return {"in_topology": topology, "in_number": epoch.number, "in_token": epoch.token}
