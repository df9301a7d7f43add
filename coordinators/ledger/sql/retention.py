"""Letting go of the history of finished txids; what counts for going on, losses and dead letters stay."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.reads import lock_progress
from trident.coordinators.ledger.sql.tables import COMMIT, PIN, PLAN
from trident.coordinators.registered import Keep


def clean_up(connection: Connection, owner: Owner, epoch: Epoch, keep: Keep) -> int:
    """Delete plans, pins and commits of txids that `keep` lets go; see `Ledger.clean_up`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    last = _last_to_go(connection, owner.topology, progress.done, keep)
    if last is None:
        return 0
    finished = [
        delete(PLAN).where(
            PLAN.c.topology == owner.topology, PLAN.c.txid <= last, PLAN.c.status != PlanStatus.LIVE.value
        ),
        delete(PIN).where(PIN.c.topology == owner.topology, PIN.c.txid <= last),
        delete(COMMIT).where(COMMIT.c.topology == owner.topology, COMMIT.c.txid <= last),
    ]
    return sum(connection.execute(statement).rowcount for statement in finished)


def _last_to_go(connection: Connection, topology: str, done: int, keep: Keep) -> int | None:
    """Return the highest txid below the done one that is beyond the kept number and older than the kept age."""
    kept = (
        select(COMMIT.c.txid)
        .where(COMMIT.c.topology == topology)
        .order_by(COMMIT.c.txid.desc())
        .limit(max(keep.count, 1))
        .subquery()
    )
    oldest_kept = select(func.min(kept.c.txid)).scalar_subquery()
    last: int | None = connection.execute(
        select(func.max(COMMIT.c.txid)).where(
            COMMIT.c.topology == topology,
            COMMIT.c.txid < done,
            COMMIT.c.txid < oldest_kept,
            SecondsSince(COMMIT.c.done_at) > keep.age.total_seconds(),
        )
    ).scalar_one()
    return last
