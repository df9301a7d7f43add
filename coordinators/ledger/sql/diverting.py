"""What a SQL ledger keeps of rows that a person takes out of a txid."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.coordinators.decided import Decision, Diverted, TakenOut
from trident.coordinators.ledger.base import TransactionStep
from trident.coordinators.ledger.sql import decision_reads, decision_writes, reapplying
from trident.coordinators.ledger.sql.migrated import PartOfLedger
from trident.coordinators.pinned import StatePin


class SqlDiverting(PartOfLedger):
    """The part that keeps diverted rows."""

    def divert(self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str]) -> None:
        """Keep one state's staged rows of the pinned txid and take them out of its pin."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.divert(transaction.connection, owner, epoch, decision, rows)

    def divert_refused(
        self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str], kept: StatePin
    ) -> None:
        """Record that some rows of the pinned txid are taken out, and take them out."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.divert_refused(transaction.connection, owner, epoch, decision, rows, kept)

    def divert_waiting(
        self, owner: Owner, epoch: Epoch, txid: int, attempt: int, diverted: Diverted, divert_in: TransactionStep
    ) -> None:
        """Keep rows that a sink has not sent, and take them out of it."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.divert_waiting(transaction.connection, owner, epoch, txid, attempt, diverted)
            divert_in(transaction)

    def taken_out(self, owner: Owner, epoch: Epoch, txid: int, states: Collection[str]) -> TakenOut | None:
        """Return the rows that were taken out of a txid of a state that had one of these names."""
        return rolled_back(
            self._migrated(owner.topology, epoch),
            lambda opened: reapplying.taken_out(opened.connection, owner, epoch, txid, states),
        )

    def diverted(self, topology: str) -> tuple[tuple[int, Diverted], ...]:
        """Return the rows that decisions took out of txids, with the txid, by state."""
        with self._database.transaction() as transaction:
            return decision_reads.read_diverted(transaction.connection, topology)
