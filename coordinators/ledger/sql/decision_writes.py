"""Refusals and a person's decisions in a SQL ledger; see `Ledger` for what each call guarantees."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Update, and_, delete, func, insert, null, or_, select, update

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind, Diverted, Refusal
from trident.coordinators.ledger.rules.decisions import (
    check_carried_out,
    check_decision,
    check_parted,
    check_refusal,
    is_held,
    is_repeated_refusal,
    made_void,
    replaced,
    with_rows_of,
    without_rows_of,
)
from trident.coordinators.ledger.rules.evolving import births_without
from trident.coordinators.ledger.rules.fencing import check_life, check_owner
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.batch_writes import write_drop
from trident.coordinators.ledger.sql.births import write_births
from trident.coordinators.ledger.sql.decision_reads import decision_of, read_decisions, read_refusal, refusal_of
from trident.coordinators.ledger.sql.many_rows import database_now, insert_many
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import known_births, lock_progress, read_pin, read_plans, read_refused
from trident.coordinators.ledger.sql.tables import DEAD_LETTER, DECISION, DIVERTED, PIN, REFUSAL
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.planned import Plan


def refuse(connection: Connection, owner: Owner, epoch: Epoch, refusal: Refusal) -> None:
    """Record why this epoch stops; see `Ledger.refuse`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    row = connection.execute(
        select(REFUSAL).where(REFUSAL.c.topology == owner.topology, REFUSAL.c.epoch == epoch.number)
    ).one_or_none()
    if is_repeated_refusal(progress, None if row is None else refusal_of(row), refusal):
        return
    check_refusal(progress, read_plans(connection, owner.topology, refusal.attempt).get(refusal.attempt), refusal)
    values = {
        **_named(owner, epoch),
        "txid": refusal.txid,
        "attempt": refusal.attempt,
        "kind": refusal.kind.value,
        "state": refusal.state,
        "reason": refusal.reason,
        "refused_at": DatabaseNow(),
    }
    connection.execute(insert(REFUSAL).values(values))


def decide(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Record a decision before its first effect; see `Ledger.decide`."""
    progress = lock_progress(connection, owner.topology, epoch)
    if is_decided(connection, progress, owner, epoch, decision):
        return
    refusal = read_refusal(connection, owner, progress.done)
    known = read_decisions(connection, owner, progress.done)
    check_decision(progress.done, progress.pinned_batch, decision, refusal, known)
    before = replaced(decision, known)
    if before is not None:
        write_one(connection, _finishing(owner, before.kind, before.txid, before.state).values(void=True))
    write_decision(connection, owner, epoch, decision, finished=decision.kind is DecisionKind.RETRY)
    settle(connection, owner, decision)
    if decision.kind is DecisionKind.UNDO:
        set_progress(connection, owner.topology, {"undoing": decision.attempt})
    elif is_held(progress, decision) and before is None:
        set_progress(connection, owner.topology, {"held": progress.held + 1})


def is_decided(connection: Connection, progress: Progress, owner: Owner, epoch: Epoch, decision: Decision) -> bool:
    """Tell whether this epoch has decided just that; it decides once, and only in this life."""
    check_life(progress, owner)
    row = connection.execute(
        select(DECISION).where(DECISION.c.topology == owner.topology, DECISION.c.epoch == epoch.number)
    ).one_or_none()
    if row is not None and decision_of(row) == decision:
        return True
    check_owner(progress, owner)
    if row is not None:
        raise MismatchError(f"this epoch decided before: {decision_of(row)}. Nothing was written.")
    return False


def write_decision(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, *, finished: bool) -> None:
    """Insert a decision, as finished if it is so with its record."""
    values = {
        **_named(owner, epoch),
        "txid": decision.txid,
        "attempt": decision.attempt,
        "kind": decision.kind.value,
        "state": decision.state,
        "decided_by": decision.decided_by,
        "decided_at": DatabaseNow(),
        "finished_at": DatabaseNow() if finished else null(),
    }
    connection.execute(insert(DECISION).values(values))


def divert(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str]) -> None:
    """Keep the diverted rows and take them out of the pin; see `Ledger.divert`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    pin = _check_open(connection, owner, progress, decision)
    if pin is None:
        return
    _write_rows(connection, owner, decision.txid, decision.attempt, decision.state, rows)
    states = codec.STATES.encode(without_rows_of(pin, decision.state))
    write_one(connection, update(PIN).where(_pin_of(owner, decision.txid)).values(states=states))
    _finish(connection, owner, decision)


def divert_refused(
    connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str], kept: StatePin
) -> None:
    """Record a decision and carry it out at once: some rows leave the pin; see `Ledger.divert_refused`."""
    progress = lock_progress(connection, owner.topology, epoch)
    if is_decided(connection, progress, owner, epoch, decision):
        return
    refusal = read_refusal(connection, owner, progress.done)
    known = read_decisions(connection, owner, progress.done)
    check_decision(progress.done, progress.pinned_batch, decision, refusal, known)
    pin = read_pin(connection, owner, progress, decision.txid) if progress.pinned == decision.txid else None
    if pin is None:
        raise MismatchError(f"no {decision}: nothing of it is pinned. Nothing was written.")
    check_parted(progress, pin, decision, kept, len(rows))
    write_decision(connection, owner, epoch, decision, finished=True)
    settle(connection, owner, decision)
    _write_rows(connection, owner, decision.txid, decision.attempt, decision.state, rows)
    states = codec.STATES.encode(with_rows_of(pin, kept))
    write_one(connection, update(PIN).where(_pin_of(owner, decision.txid)).values(states=states))


def divert_waiting(
    connection: Connection, owner: Owner, epoch: Epoch, txid: int, attempt: int, diverted: Diverted
) -> None:
    """Keep rows that a sink has not sent yet; see `Ledger.divert_waiting`."""
    check_owner(lock_progress(connection, owner.topology, epoch), owner)
    kept = select(DIVERTED.c.number).where(
        DIVERTED.c.topology == owner.topology,
        DIVERTED.c.incarnation == owner.incarnation,
        DIVERTED.c.txid == txid,
        DIVERTED.c.state == diverted.state,
    )
    if connection.execute(kept.limit(1)).first() is None:
        _write_rows(connection, owner, txid, attempt, diverted.state, diverted.rows)


def unpin(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Take a pin back that every state has undone; see `Ledger.unpin`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_life(progress, owner)
    if _check_open(connection, owner, progress, decision) is None:
        return
    write_one(connection, delete(PIN).where(_pin_of(owner, decision.txid)))
    for table in (DEAD_LETTER, DIVERTED):
        # they were those of the undone attempt; what takes its place has its own
        of_batch = and_(
            table.c.topology == owner.topology,
            table.c.incarnation == owner.incarnation,
            table.c.txid == decision.txid,
        )
        connection.execute(delete(table).where(of_batch))
    write_drop(connection, owner, decision.txid)
    set_progress(connection, owner.topology, {"pinned": null(), "pinned_attempt": null(), "undoing": null()})
    before = known_births(connection, owner)
    births = births_without(before, decision.txid)
    if births != before:
        write_births(connection, owner, births)
    _finish(connection, owner, decision)


def hold_for(connection: Connection, owner: Owner, plan: Plan, progress: Progress) -> None:
    """Check what a plan says of the decisions that wait for its txid, and make those about other records void."""
    decisions = read_decisions(connection, owner, progress.done) if progress.held else ()
    void = made_void(plan, decisions, {item.attempt: item for item in read_refused(connection, owner, decisions)})
    for item in void:
        write_one(connection, _finishing(owner, item.kind, item.txid, item.state).values(void=True))
    if void:
        set_progress(connection, owner.topology, {"held": progress.held - len(void)})


def write_diverts(connection: Connection, owner: Owner, pin: Pin, progress: Progress) -> None:
    """Keep the rows that held decisions took out of a batch and finish these; part of the pin's transaction."""
    if not pin.diverts:
        return
    for item in pin.diverts:
        _write_rows(connection, owner, pin.txid, pin.attempt, item.state, item.rows)
        write_one(connection, _finishing_divert(owner, pin.txid, item.state))
    set_progress(connection, owner.topology, {"held": progress.held - len(pin.diverts)})


def _check_open(connection: Connection, owner: Owner, progress: Progress, decision: Decision) -> Pin | None:
    """Return the pin that a decision is about; None when it was carried out before."""
    if _is_finished(connection, owner, decision):
        return None
    check_carried_out(progress, decision, read_decisions(connection, owner, progress.done))
    pin = read_pin(connection, owner, progress, decision.txid)
    if pin is None:
        raise FatalError(f"the ledger is damaged: the pin of txid {decision.txid} is gone; nothing was written")
    return pin


def _is_finished(connection: Connection, owner: Owner, decision: Decision) -> bool:
    finished = select(DECISION.c.epoch).where(
        _decided(owner, decision.kind, decision.txid, decision.state),
        DECISION.c.attempt == decision.attempt,
        DECISION.c.finished_at.is_not(None),
    )
    return connection.execute(finished).first() is not None


def settle(connection: Connection, owner: Owner, decision: Decision) -> None:
    """Mark every refusal of this life as decided."""
    connection.execute(
        update(REFUSAL)
        .where(
            REFUSAL.c.topology == owner.topology,
            REFUSAL.c.incarnation == owner.incarnation,
            REFUSAL.c.settled_at.is_(None),
        )
        .values(settled_by=decision.kind.value, settled_at=DatabaseNow())
    )


def _write_rows(connection: Connection, owner: Owner, txid: int, attempt: int, state: str, rows: Sequence[str]) -> None:
    if not rows:
        return
    now = database_now(connection)
    of_all = (owner.topology, owner.incarnation, txid, state, attempt, now)
    last = connection.execute(
        select(func.max(DIVERTED.c.number)).where(
            DIVERTED.c.topology == owner.topology,
            DIVERTED.c.incarnation == owner.incarnation,
            DIVERTED.c.txid == txid,
            DIVERTED.c.state == state,
        )
    ).scalar()  # rows of the same batch may have been taken out before
    columns = ("topology", "incarnation", "txid", "state", "attempt", "diverted_at", "number", "staged_row")
    insert_many(connection, DIVERTED, columns, ((*of_all, *row) for row in enumerate(rows, start=(last or 0) + 1)))


def _finish(connection: Connection, owner: Owner, decision: Decision) -> None:
    write_one(connection, _finishing(owner, decision.kind, decision.txid, decision.state))


def _finishing(owner: Owner, kind: DecisionKind, txid: int, state: str) -> Update:
    is_open = and_(_decided(owner, kind, txid, state), DECISION.c.finished_at.is_(None))
    return update(DECISION).where(is_open).values(finished_at=DatabaseNow())


def _finishing_divert(owner: Owner, txid: int, state: str) -> Update:
    """Finish the one that is open, of whichever kind: a second one about the same rows takes its place."""
    kinds = [kind for kind in DecisionKind if kind.diverts]
    of_kinds = or_(*(_decided(owner, kind, txid, state) for kind in kinds))
    return update(DECISION).where(of_kinds, DECISION.c.finished_at.is_(None)).values(finished_at=DatabaseNow())


def _decided(owner: Owner, kind: DecisionKind, txid: int, state: str) -> ColumnElement[bool]:
    return and_(
        DECISION.c.topology == owner.topology,
        DECISION.c.incarnation == owner.incarnation,
        DECISION.c.kind == kind.value,
        DECISION.c.txid == txid,
        DECISION.c.state == state,
    )


def _pin_of(owner: Owner, txid: int) -> ColumnElement[bool]:
    return and_(PIN.c.topology == owner.topology, PIN.c.incarnation == owner.incarnation, PIN.c.txid == txid)


def _named(owner: Owner, epoch: Epoch) -> dict[str, object]:
    return {"topology": owner.topology, "incarnation": owner.incarnation, "epoch": epoch.number}
