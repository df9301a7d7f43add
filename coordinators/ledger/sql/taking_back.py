"""The last done txid made the pinned one again, in a SQL ledger; see `Ledger.take_back`."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, delete, select, union, update

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress
from trident.coordinators.ledger.rules.renaming import pin_renamed
from trident.coordinators.ledger.rules.taking_back import check_taken_back
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.batch_writes import write_done_plan, write_drop
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_refusal
from trident.coordinators.ledger.sql.decision_writes import is_decided, settle, write_decision
from trident.coordinators.ledger.sql.reads import known_births, lock_progress, read_pin, read_plans, read_spec
from trident.coordinators.ledger.sql.tables import COMMIT, DECISION, DIVERTED, PIN, PLAN


def read_last_done(connection: Connection, owner: Owner, epoch: Epoch) -> LastDone | None:
    """Return what is left of the last txid that is done."""
    return _last_done(connection, owner, lock_progress(connection, owner.topology, epoch))


def take_back(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Turn "done" into "pinned, and to be undone": plan, commit, progress and decision together."""
    progress = lock_progress(connection, owner.topology, epoch)
    if is_decided(connection, progress, owner, epoch, decision):
        return
    found = _last_done(connection, owner, progress)
    before = check_taken_back(
        (progress.done, progress.done_attempt),
        progress.pinned_batch,
        decision,
        found,
        read_refusal(connection, owner, progress.done),
        read_decisions(connection, owner, progress.done),
    )
    assert found is not None
    states = codec.STATES.encode(found.pin.states)  # by their present names, whatever they had when it was pinned
    write_one(connection, update(PIN).where(*_of(PIN, owner, decision.txid)).values(states=states))
    write_drop(connection, owner, decision.txid + 1)
    write_one(
        connection,
        update(PLAN)
        .where(
            PLAN.c.topology == owner.topology,
            PLAN.c.attempt == decision.attempt,
            PLAN.c.txid == decision.txid,
            PLAN.c.status == PlanStatus.DONE.value,
        )
        .values(status=PlanStatus.LIVE.value),
    )
    write_one(connection, delete(COMMIT).where(*_of(COMMIT, owner, decision.txid)))
    write_done_plan(connection, owner, epoch, before)
    values = {
        "done": before.txid,
        "done_attempt": before.attempt,
        "pinned": decision.txid,
        "pinned_attempt": decision.attempt,
        "undoing": decision.attempt,
    }
    set_progress(connection, owner.topology, values)
    write_decision(connection, owner, epoch, decision, finished=False)
    settle(connection, owner, decision)


def _last_done(connection: Connection, owner: Owner, progress: Progress) -> LastDone | None:
    pin = read_pin(connection, owner, progress, progress.done) if progress.done_attempt else None
    letters = select(COMMIT.c.dead_letters).where(*_of(COMMIT, owner, progress.done))
    dead_letters: int | None = connection.execute(letters).scalar_one_or_none()
    if pin is None or dead_letters is None:
        return None
    before = read_plans(connection, owner.topology, pin.plan.predecessor).get(pin.plan.predecessor)
    # people may delete rows that they have seen to: what they have decided stays
    decided = *_of(DECISION, owner, pin.txid), DECISION.c.attempt == pin.attempt, DECISION.c.finished_at.is_not(None)
    kinds = [kind.value for kind in DecisionKind if kind.diverts]
    is_divert = DECISION.c.kind.in_(kinds), DECISION.c.void.is_(False)
    diverted = union(
        select(DIVERTED.c.state).where(*_of(DIVERTED, owner, pin.txid)),
        select(DECISION.c.state).where(*decided, *is_divert),
    )
    spec = read_spec(connection, owner.topology)
    return LastDone(
        pin_renamed(pin, spec.renamed),
        before.plan if before is not None else None,
        known_births(connection, owner),
        tuple(gone for gone in spec.dropped if gone.incarnation == owner.incarnation),
        tuple(sorted(connection.execute(diverted).scalars())),
        dead_letters,
    )


def _of(table: Table, owner: Owner, txid: int) -> tuple[ColumnElement[bool], ...]:
    return table.c.topology == owner.topology, table.c.incarnation == owner.incarnation, table.c.txid == txid
