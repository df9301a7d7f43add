"""What a memory ledger keeps of rows that a person takes out of a txid."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, Diverted, TakenOut
from trident.coordinators.ledger.base import TransactionStep
from trident.coordinators.ledger.memory import decisions, reapplying
from trident.coordinators.ledger.memory.rows import Rows
from trident.coordinators.pinned import StatePin
from trident.state.memory.database import MemoryDatabase


class MemoryDiverting:
    """See `Ledger`."""

    _database: MemoryDatabase

    def divert(self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str]) -> None:
        """Keep one state's staged rows of the pinned txid and take them out of its pin."""
        with self._database.transaction() as transaction:
            tables = Rows(transaction)
            entry = tables.fenced(owner.topology, epoch)
            tables.put(decisions.diverted(tables, entry, owner, decision, rows))

    def divert_refused(
        self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str], kept: StatePin
    ) -> None:
        """Record that some rows of the pinned txid are taken out, and take them out."""
        with self._database.transaction() as transaction:
            tables = Rows(transaction)
            entry = tables.fenced(owner.topology, epoch)
            tables.put(decisions.parted(tables, entry, owner, epoch, decision, rows, kept))

    def taken_out(self, owner: Owner, epoch: Epoch, txid: int, states: Collection[str]) -> TakenOut | None:
        """Return the rows that were taken out of a txid of a state that had one of these names."""
        with self._database.transaction() as transaction:
            tables = Rows(transaction)
            return reapplying.taken_out(tables, tables.fenced(owner.topology, epoch), owner, txid, states)

    def divert_waiting(
        self, owner: Owner, epoch: Epoch, txid: int, attempt: int, diverted: Diverted, divert_in: TransactionStep
    ) -> None:
        """Keep rows that a sink has not sent, and take them out of it."""
        with self._database.transaction() as transaction:
            tables = Rows(transaction)
            tables.fenced(owner.topology, epoch)
            tables.add_diverted(owner, txid, diverted)
            divert_in(transaction)
