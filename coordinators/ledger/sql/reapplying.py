"""Diverted rows that are put back, in a SQL ledger: the decision that a pin carries is the mark of it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, func, select, update

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind, RowsOf, TakenOut
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.reapplying import check_reapplied, named_by, put_back_by
from trident.coordinators.ledger.sql.decision_writes import is_decided, write_decision
from trident.coordinators.ledger.sql.many_rows import read_many
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import lock_progress
from trident.coordinators.ledger.sql.tables import DECISION, DIVERTED
from trident.coordinators.pinned import Commit, Pin
from trident.coordinators.planned import Plan


def taken_out(
    connection: Connection, owner: Owner, epoch: Epoch, txid: int, states: Collection[str]
) -> TakenOut | None:
    """Return the rows that were taken out of a txid; see `Ledger.taken_out`."""
    lock_progress(connection, owner.topology, epoch)
    table = DIVERTED.c
    where = table.topology == owner.topology, table.txid == txid, table.state.in_(sorted(states))
    kept = select(table.incarnation, table.state, func.max(table.attempt).label("attempt")).where(*where)
    lying = connection.execute(kept.group_by(table.incarnation, table.state)).all()
    if not lying:
        return None
    found = next((row for row in lying if row.incarnation == owner.incarnation), lying[-1])
    of, its = RowsOf(txid, found.state), Owner(owner.topology, found.incarnation)
    rows = read_many(connection, select(table.staged_row).where(*_kept(its, of)).order_by(table.number))
    return TakenOut(
        of,
        found.incarnation,
        tuple(row.staged_row for row in rows),
        not _was_decided(connection, its, of, found.attempt),
        _put_back(connection, its, of),
    )


def write_reapply(
    connection: Connection, owner: Owner, epoch: Epoch, pin: Pin, progress: Progress, *, is_done: bool
) -> None:
    """Record the decision that a pin carries; part of the pin's transaction.

    Open as long as its txid is not done: a version that does not know it stops there, and undoes nothing.
    """
    count, put_back, of = 0, None, named_by(pin)
    if of is not None:
        lying = select(func.count()).select_from(DIVERTED).where(*_kept(owner, of))
        count, put_back = connection.execute(lying).scalar_one(), _put_back(connection, owner, of)
    decision = check_reapplied(pin, count, put_back)
    if decision is not None and not is_decided(connection, progress, owner, epoch, decision):
        write_decision(connection, owner, epoch, decision, finished=is_done)


def finish_reapply(connection: Connection, owner: Owner, plan: Plan, commit: Commit) -> None:
    """Let the decision of a txid that is done now be finished; part of the transaction that says so."""
    if put_back_by(plan) is not None:
        at = _carried_by(owner, commit.txid, commit.attempt)
        connection.execute(update(DECISION).where(*at).values(finished_at=DatabaseNow()))


def void_reapply(connection: Connection, owner: Owner, undone: Decision) -> None:
    """Let the decision of an attempt that is undone count for nothing; part of the transaction that unpins it."""
    at = _carried_by(owner, undone.txid, undone.attempt)
    connection.execute(update(DECISION).where(*at).values(finished_at=DatabaseNow(), void=True))


def _put_back(connection: Connection, owner: Owner, of: RowsOf) -> int | None:
    mark = select(DECISION.c.txid).where(*_reapplies(owner), DECISION.c.state == str(of), DECISION.c.void.is_(False))
    found: int | None = connection.execute(mark.limit(1)).scalar_one_or_none()
    return found


def _was_decided(connection: Connection, owner: Owner, of: RowsOf, attempt: int) -> bool:
    """Tell whether a divert was decided about the very attempt that was left without these rows."""
    table = DECISION.c
    about = table.topology == owner.topology, table.incarnation == owner.incarnation, table.txid == of.txid
    diverts = table.kind.in_([kind.value for kind in DecisionKind if kind.diverts])
    decided = select(table.epoch).where(*about, table.state == of.state, table.attempt == attempt, diverts)
    return connection.execute(decided.limit(1)).first() is not None


def _kept(owner: Owner, of: RowsOf) -> tuple[ColumnElement[bool], ...]:
    table = DIVERTED.c
    owned = table.topology == owner.topology, table.incarnation == owner.incarnation
    return *owned, table.txid == of.txid, table.state == of.state


def _carried_by(owner: Owner, txid: int, attempt: int) -> tuple[ColumnElement[bool], ...]:
    return *_reapplies(owner), DECISION.c.txid == txid, DECISION.c.attempt == attempt


def _reapplies(owner: Owner) -> tuple[ColumnElement[bool], ...]:
    table = DECISION.c
    is_reapply = table.kind == DecisionKind.REAPPLY.value
    return table.topology == owner.topology, table.incarnation == owner.incarnation, is_reapply
