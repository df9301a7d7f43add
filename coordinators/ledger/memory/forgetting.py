"""A topology that the memory ledger lets go of: what the SQL ledgers do, on immutable values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, LeftBehind
from trident.coordinators.ledger.memory.rows import Decided, Entry, Rows
from trident.coordinators.ledger.rules.decisions import check_drop
from trident.coordinators.ledger.rules.forgetting import (
    being_forgotten,
    check_begun,
    keeps_instead,
    require_let_go,
    without_targets,
)
from trident.state.memory.database import MemoryDatabase


class ForgetsTopologies:
    """The part of the memory ledger that lets go of topologies; see `Ledger`."""

    _database: MemoryDatabase

    def decide_forget(self, owner: Owner, epoch: Epoch, decision: Decision, nowhere: Collection[str] = ()) -> None:
        """Record it before its first effect."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            begun = entry.begun_forget()
            if begun is not None and keeps_instead(begun, decision):
                found = {key: each for key, each in entry.decisions.items() if each.decision == begun}
                changed = {key: replace(each, decision=decision) for key, each in found.items()}
                rows.put(entry._replace(decisions={**entry.decisions, **changed}))
                return
            if check_begun(owner.topology, begun, decision):
                return
            check_drop(entry.progress, decision, entry.open_decisions())
            kept = {**entry.decisions, epoch.number: Decided(owner.incarnation, decision)}
            spec, births = without_targets(entry.spec, entry.births, nowhere)
            rows.put(entry._replace(spec=spec, births=births, decisions=kept))

    def let_go_of(self, owner: Owner, epoch: Epoch, decision: Decision, target: str) -> None:
        """Take a state or sink out of what is described."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = _begun(rows, owner, epoch, decision)
            spec, births = without_targets(entry.spec, entry.births, [target])
            rows.put(entry._replace(spec=spec, births=births))

    def forget(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Delete all of the topology but its fence and the numbers that it has used up."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.check_epoch(owner.topology, epoch)
            if rows.find(owner.topology) is None and rows.used_up(owner.topology)[2] == epoch.number:
                return  # the answer may have been lost
            entry = _begun(rows, owner, epoch, decision)
            if entry.progress.pinned is not None:
                raise being_forgotten(owner.topology, decision)
            require_let_go(entry.spec, decision)
            rows.let_go(entry, epoch)

    def left_behind(self, topology: str) -> LeftBehind:
        """Count what only the ledger has of a topology's records."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            diverted = sum(len(each.rows) for _, each in rows.diverted(topology))
            return LeftBehind(len(rows.dead_letters(topology)), diverted)


def _begun(rows: Rows, owner: Owner, epoch: Epoch, decision: Decision) -> Entry:
    entry = rows.owned(owner, epoch)
    if not check_begun(owner.topology, entry.begun_forget(), decision):
        raise being_forgotten(owner.topology, decision)
    return entry
