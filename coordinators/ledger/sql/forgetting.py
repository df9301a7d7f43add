"""A topology that a SQL ledger lets go of: the decision first, and at last everything but its fence and its numbers."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, delete, func, null, select, update

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, LeftBehind
from trident.coordinators.ledger.rules.decisions import check_drop
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.rules.forgetting import being_forgotten, check_begun, keeps_instead
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_forgetting
from trident.coordinators.ledger.sql.decision_writes import write_decision
from trident.coordinators.ledger.sql.reads import lock_fence, lock_progress, read_used_up
from trident.coordinators.ledger.sql.tables import (
    DEAD_LETTER,
    DECISION,
    DIVERTED,
    FENCE,
    HEARTBEAT,
    METADATA,
    PROGRESS,
    SCHEMA,
    TOPOLOGY,
)

_STAY: Final = (FENCE, HEARTBEAT, PROGRESS, SCHEMA, TOPOLOGY)


def decide_forget(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Record it before its first effect; see `Ledger.decide_forget`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    begun = read_forgetting(connection, owner.topology)
    if keeps_instead(begun, decision):
        is_it = (DECISION.c.topology == owner.topology, DECISION.c.kind == decision.kind.value)
        write_one(connection, update(DECISION).where(*is_it).values(state=decision.state))
    elif not check_begun(owner.topology, begun, decision):
        check_drop(progress, decision, read_decisions(connection, owner, progress.done))
        write_decision(connection, owner, epoch, decision, finished=False)


def forget(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Delete every row of the topology but those that say what is used up; see `Ledger.forget`."""
    topology = owner.topology
    if _is_forgotten(connection, topology, epoch):
        return
    progress = lock_progress(connection, topology, epoch)
    check_owner(progress, owner)
    begun = read_forgetting(connection, topology)
    if begun is None or not check_begun(topology, begun, decision) or progress.pinned is not None:
        raise being_forgotten(topology, begun or decision)
    for table in METADATA.sorted_tables:
        if table not in _STAY:
            connection.execute(delete(table).where(table.c.topology == topology))
    # no attempt is done any more: its place says in which epoch it was forgotten
    nowhere = {"incarnation": "", "done": progress.last_txid, "done_attempt": epoch.number}
    set_progress(connection, topology, {**nowhere, "reset_to": null(), "held": 0})
    write_one(connection, delete(TOPOLOGY).where(TOPOLOGY.c.name == topology))


def _is_forgotten(connection: Connection, topology: str, epoch: Epoch) -> bool:
    """Tell whether this very epoch has let go of it: the answer to that may have been lost."""
    lock_fence(connection, topology, epoch)
    used_up = read_used_up(connection, topology)
    return used_up is not None and used_up[1] == epoch.number


def left_behind(connection: Connection, topology: str) -> LeftBehind:
    """Count what only the ledger has."""
    letters, diverted = (
        connection.execute(select(func.count()).where(table.c.topology == topology)).scalar_one()
        for table in (DEAD_LETTER, DIVERTED)
    )
    return LeftBehind(int(letters), int(diverted))
