"""A reset in a SQL ledger: first the decision, then, when every state has followed it, the new incarnation."""

from __future__ import annotations

from sqlalchemy import Connection, null, update

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.resets import (
    check_open_reset,
    check_reset,
    is_repeated_reset,
    starts_of_reset,
)
from trident.coordinators.ledger.rules.specs import births_of_reset
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.batch_writes import write_drop
from trident.coordinators.ledger.sql.dialect import insert_new
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import (
    known_births,
    lock_progress,
    read_done_plan,
    read_open_reset,
    read_spec,
    read_starts,
)
from trident.coordinators.ledger.sql.registration import new_incarnation
from trident.coordinators.ledger.sql.tables import INCARNATION, RESET, TOPOLOGY


def decide_reset(connection: Connection, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
    """Record a decision before its first effect; see `Ledger.decide_reset`."""
    progress = lock_progress(connection, topology, epoch)
    stored = read_open_reset(connection, topology)
    if is_repeated_reset(topology, stored, decision):
        return
    check_reset(progress, decision)
    if stored is not None:  # its row stays, and says of states that stand in its incarnation where that came from
        _end(connection, topology, stored)
    row = {
        "topology": topology,
        "incarnation": decision.incarnation,
        "birth_txid": decision.birth_txid,
        "states": decision.states,
        "start": decision.start,
        "epoch": epoch.number,
        "decided_at": DatabaseNow(),
        "streams": None if decision.streams is None else codec.STREAMS.encode(decision.streams),
        "begins": None if decision.begins is None else codec.STARTS.encode(decision.begins),
        "stood": None if decision.stood is None else codec.STARTS.encode(decision.stood),
        "foreign_incarnations": codec.STREAMS.encode(decision.foreign) if decision.foreign else None,
    }
    if progress.incarnation == decision.incarnation or not insert_new(connection, RESET, row):
        raise MismatchError(
            f"topology {topology!r}: incarnation {decision.incarnation} was there before; a reset needs a new id. "
            "Nothing was written."
        )
    set_progress(connection, topology, {"reset_to": decision.incarnation})


def finish_reset(connection: Connection, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
    """Open the decided incarnation; see `Ledger.finish_reset`."""
    progress = lock_progress(connection, topology, epoch)
    if progress.incarnation == decision.incarnation:
        return
    check_open_reset(topology, read_open_reset(connection, topology), decision)
    owner, before = Owner(topology, decision.incarnation), Owner(topology, progress.incarnation)
    starts = starts_of_reset(decision, read_done_plan(connection, before, progress), read_starts(connection, before))
    _close_incarnation(connection, before, progress)
    known = known_births(connection, before)
    births = births_of_reset(read_spec(connection, topology), known, progress.done, decision)
    row = new_incarnation(owner, decision.birth_txid, f"reset: {decision.states}", births, starts)
    if not insert_new(connection, INCARNATION, row):
        raise FatalError(
            f"incarnation {owner.incarnation} of topology {topology!r} is there already; nothing was written"
        )
    set_progress(
        connection,
        topology,
        {
            "incarnation": decision.incarnation,
            "done": decision.birth_txid,
            "done_attempt": 0,
            "pinned": null(),
            "pinned_attempt": null(),
            "last_txid": max(progress.last_txid, decision.birth_txid),
            "reset_to": null(),
            "undoing": null(),
            "held": 0,
        },
    )
    write_one(connection, update(TOPOLOGY).where(TOPOLOGY.c.name == topology).values(incarnation=owner.incarnation))
    _end(connection, topology, decision)


def _end(connection: Connection, topology: str, decision: ResetDecision) -> None:
    write_one(
        connection,
        update(RESET)
        .where(RESET.c.topology == topology, RESET.c.incarnation == decision.incarnation)
        .values(finished_at=DatabaseNow()),
    )


def _close_incarnation(connection: Connection, owner: Owner, progress: Progress) -> None:
    write_drop(connection, owner, progress.done + 1)
    write_one(
        connection,
        update(INCARNATION)
        .where(INCARNATION.c.topology == owner.topology, INCARNATION.c.id == owner.incarnation)
        .values(status="closed"),
    )
