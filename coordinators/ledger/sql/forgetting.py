"""A topology that a SQL ledger lets go of: the decision first, and at last everything but its fence and its numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, delete, func, null, select, update

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, LeftBehind
from trident.coordinators.ledger.rules.decisions import check_drop
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.rules.forgetting import (
    being_forgotten,
    check_begun,
    keeps_instead,
    require_let_go,
    used_up_by,
    without_targets,
)
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.births import write_births
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_forgetting
from trident.coordinators.ledger.sql.decision_writes import write_decision
from trident.coordinators.ledger.sql.migrated import PartOfLedger
from trident.coordinators.ledger.sql.reads import (
    known_births,
    lock_fence,
    lock_progress,
    read_birth_txid,
    read_spec,
    read_used_up,
)
from trident.coordinators.ledger.sql.registration import write_spec
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


class ForgetsTopologies(PartOfLedger):
    """The part that lets go of topologies."""

    def decide_forget(self, owner: Owner, epoch: Epoch, decision: Decision, nowhere: Collection[str] = ()) -> None:
        """Record the decision to let go of the topology."""
        with self._migrated(owner.topology, epoch) as transaction:
            decide_forget(transaction.connection, owner, epoch, decision, nowhere)

    def let_go_of(self, owner: Owner, epoch: Epoch, decision: Decision, target: str) -> None:
        """Record that one of its states or sinks was let go of."""
        with self._migrated(owner.topology, epoch) as transaction:
            let_go_of(transaction.connection, owner, epoch, decision, target)

    def forget(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Delete all of the topology but its fence and the numbers that it has used up."""
        with self._migrated(owner.topology, epoch) as transaction:
            forget(transaction.connection, owner, epoch, decision)

    def left_behind(self, topology: str) -> LeftBehind:
        """Count what only the ledger has of a topology's records."""
        with self._database.transaction() as transaction:
            return left_behind(transaction.connection, topology)


def decide_forget(
    connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, nowhere: Collection[str] = ()
) -> None:
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
        _take_out(connection, owner, nowhere)


def let_go_of(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, target: str) -> None:
    """Take a state or sink out of what is described; see `Ledger.let_go_of`."""
    _require_begun(connection, owner, epoch, decision)
    _take_out(connection, owner, [target])


def forget(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Delete every row of the topology but those that say what is used up; see `Ledger.forget`."""
    topology = owner.topology
    if _is_forgotten(connection, topology, epoch):
        return
    progress = _require_begun(connection, owner, epoch, decision)
    if progress.pinned is not None:
        raise being_forgotten(topology, decision)
    require_let_go(read_spec(connection, topology), decision)
    used_up = used_up_by(progress.last_txid, read_birth_txid(connection, owner))
    for table in METADATA.sorted_tables:
        if table not in _STAY:
            connection.execute(delete(table).where(table.c.topology == topology))
    # no attempt is done any more: its place says in which epoch it was forgotten
    nowhere = {"incarnation": "", "done": used_up, "last_txid": used_up, "done_attempt": epoch.number}
    set_progress(connection, topology, {**nowhere, "reset_to": null(), "held": 0})
    write_one(connection, delete(TOPOLOGY).where(TOPOLOGY.c.name == topology))


def _require_begun(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> Progress:
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    begun = read_forgetting(connection, owner.topology)
    if not check_begun(owner.topology, begun, decision):
        raise being_forgotten(owner.topology, decision)
    return progress


def _take_out(connection: Connection, owner: Owner, targets: Collection[str]) -> None:
    stored, births = read_spec(connection, owner.topology), known_births(connection, owner)
    spec, left = without_targets(stored, births, targets)
    if spec != stored:
        write_spec(connection, spec)
        write_births(connection, owner, left)


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
