"""Letting go of the history of finished txids; what counts for going on, losses and dead letters stay.

Each call takes a bounded number of rows by their index, beginning with the oldest, and locks nothing that a batch
waits for: no batch is planned, pinned or done at a txid below the last done one.
"""

from __future__ import annotations

from itertools import takewhile

from sqlalchemy import Connection, Table, delete, select, tuple_

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.reads import lock_fence, read_progress
from trident.coordinators.ledger.sql.reporting import let_go_of_old
from trident.coordinators.ledger.sql.tables import COMMIT, IS_LIVE, PIN, PLAN
from trident.coordinators.registered import Keep

MOST_ROWS = 1_000
"""How many rows of a table one call deletes."""
PINS_KEPT = 1_000
"""Pins are large, and after their txid is done they only serve people."""


def clean_up(connection: Connection, owner: Owner, epoch: Epoch, keep: Keep) -> int:
    """Delete plans, pins and commits of txids that `keep` lets go; see `Ledger.clean_up`."""
    topology = owner.topology
    lock_fence(connection, topology, epoch)
    progress = read_progress(connection, topology)
    if progress is None:
        raise MismatchError(f"topology {topology!r} is not registered in this ledger. Nothing was written.")
    check_owner(progress, owner)
    errors = let_go_of_old(connection, topology, keep.age)
    last = _last_to_go(connection, topology, progress.done, keep)
    oldest_pin = _oldest_of(connection, topology, PINS_KEPT, progress.done)
    last_pin = max(last or 0, oldest_pin - 1 if oldest_pin is not None else 0)
    pins = errors + _delete(connection, PIN, topology, last_pin)
    if last is None:
        return pins
    plans = _delete(connection, PLAN, topology, last)
    if plans == MOST_ROWS:
        return pins + plans  # of a txid of very many attempts: its commit says that there is more
    return pins + plans + _delete(connection, COMMIT, topology, last)


def _last_to_go(connection: Connection, topology: str, done: int, keep: Keep) -> int | None:
    """Return the highest of the oldest txids that are beyond the kept number and older than the kept age."""
    age = SecondsSince(COMMIT.c.done_at).label("age")
    oldest = select(COMMIT.c.txid, age).where(COMMIT.c.topology == topology).order_by(COMMIT.c.txid)
    aged: list[int] = []
    for most in (1, MOST_ROWS):  # mostly there is nothing to let go of, and one row says so
        rows = connection.execute(oldest.limit(most))
        aged = [row.txid for row in takewhile(lambda row: row.age > keep.age.total_seconds(), rows)]
        if not aged:
            return None
    oldest_kept = _oldest_of(connection, topology, max(keep.count, 1), done)
    return max((txid for txid in aged if oldest_kept is not None and txid < oldest_kept), default=None)


def _oldest_of(connection: Connection, topology: str, count: int, done: int) -> int | None:
    """Return the oldest of the newest `count` txids, None when there are not so many; never one above the done."""
    newest = select(COMMIT.c.txid).where(COMMIT.c.topology == topology).order_by(COMMIT.c.txid.desc())
    oldest: int | None = connection.execute(newest.offset(count - 1).limit(1)).scalar_one_or_none()
    return None if oldest is None else min(oldest, done)


def _delete(connection: Connection, table: Table, topology: str, last: int) -> int:
    """Delete the oldest rows of txids up to the last one that are not live."""
    key = list(table.primary_key)
    oldest = select(*key).where(table.c.topology == topology, table.c.txid <= last)
    if table is PLAN:
        oldest = oldest.where(PLAN.c.status != IS_LIVE)
    oldest = oldest.order_by(table.c.txid).limit(MOST_ROWS)
    return connection.execute(delete(table).where(tuple_(*key).in_(oldest))).rowcount
