"""The place of an outbox in a memory ledger's database: what waits comes and goes with the pin's own transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, cast

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import Transaction
from trident.state.kafka.outbox.store import Entry, OutboxRow
from trident.state.kafka.outbox.tables import LET_GO
from trident.state.memory.database import MemoryDatabase, MemoryTransaction
from trident.state.positions import Position, before_attempt, is_in

POSITIONS: Final = "trident_outbox_position"
ENTRIES: Final = "trident_outbox"
_MOST: Final = 2
"""How many entries are sent together, so that what waits takes several transactions."""


@dataclass(frozen=True)
class MemoryOutbox:
    """See `OutboxStore`."""

    sink: str
    database: MemoryDatabase

    def prepare(self) -> None:
        """Nothing to make."""

    @contextmanager
    def work_for(self, topology: str, epoch: Epoch) -> Iterator[Transaction]:
        with self.database.transaction() as transaction:
            yield transaction

    @contextmanager
    def work_on(self, topology: str) -> Iterator[Transaction]:
        with self.database.transaction() as transaction:
            yield transaction

    def look(self, topology: str) -> OutboxRow | None:
        return rolled_back(self.database.transaction(), lambda transaction: self.read(transaction, topology))

    def read(self, transaction: Transaction, topology: str) -> OutboxRow | None:
        row = self._stored(transaction, topology)
        return None if row is None or row.position.owner.incarnation == LET_GO else row

    def _stored(self, transaction: Transaction, topology: str) -> OutboxRow | None:
        return cast("OutboxRow | None", _table(transaction, POSITIONS).get((topology, self.sink)))

    def stamp(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        row = self.read(transaction, owner.topology)
        if row is not None and row.epoch.number < epoch.number:
            self._put(transaction, owner.topology, replace(row, epoch=epoch))

    def bear(self, transaction: Transaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        stored = self._stored(transaction, owner.topology)
        if stored is not None and stored.position.owner.incarnation == LET_GO and stored.epoch.number > epoch.number:
            raise FencedError(f"epoch {stored.epoch.number} has let go of sink {self.sink!r}")
        born = OutboxRow(Position(owner, birth_txid, 0, birth_txid), epoch, birth_txid)
        self._put(transaction, owner.topology, born)

    def let_go(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        nowhere = Position(Owner(owner.topology, LET_GO), -1, 0, -1)
        self._put(transaction, owner.topology, OutboxRow(nowhere, epoch, -1))

    def put(self, transaction: Transaction, batch: BatchId, record_count: int, payload: bytes) -> None:
        row = self.read(transaction, batch.owner.topology)
        if row is not None and row.position.txid == batch.txid - 1:
            entry = Entry(batch.txid, batch.attempt, row.newest_txid, record_count, payload)
            _table(transaction, ENTRIES)[batch.owner.topology, self.sink, batch.txid] = entry

    def move(self, transaction: Transaction, batch: BatchId, *, has_records: bool) -> bool:
        row = self.read(transaction, batch.owner.topology)
        if row is not None and (row.position.owner, row.position.txid) == (batch.owner, batch.txid - 1):
            moved = Position(batch.owner, batch.txid, batch.attempt, row.position.birth_txid)
            newest = batch.txid if has_records else row.newest_txid
            self._put(transaction, batch.owner.topology, OutboxRow(moved, batch.epoch, newest))
            return True
        if not is_in(row.position if row else None, batch, self.sink):
            raise MismatchError(f"{batch}: sink {self.sink!r} moved while it was read; nothing was applied")
        return False

    def move_back(self, transaction: Transaction, batch: BatchId, row: OutboxRow, before: int) -> None:
        topology = batch.owner.topology
        found = self.entry(transaction, topology, batch.txid)
        if found is not None:
            del _table(transaction, ENTRIES)[topology, self.sink, batch.txid]
        attempt = before_attempt(row.position, batch, before)
        stood = Position(row.position.owner, batch.txid - 1, attempt, row.position.birth_txid)
        newest = row.newest_txid if found is None else found.before_txid
        self._put(transaction, topology, OutboxRow(stood, batch.epoch, newest))

    def entry(self, transaction: Transaction, topology: str, txid: int) -> Entry | None:
        return cast("Entry | None", _table(transaction, ENTRIES).get((topology, self.sink, txid)))

    def waiting(self, transaction: Transaction, topology: str, done: int) -> Sequence[Entry]:
        return [entry for entry in self._entries(transaction) if entry.txid <= done][:_MOST]

    def sent_before(self, transaction: Transaction, topology: str, row: OutboxRow) -> int:
        entries = self._entries(transaction)
        return entries[0].before_txid if entries else row.newest_txid

    def has_waiting(self, transaction: Transaction, topology: str, done: int) -> bool:
        return any(entry.txid <= done for entry in self._entries(transaction))

    def empty(self, transaction: Transaction, topology: str, txid: int, payload: bytes) -> None:
        found = self.entry(transaction, topology, txid)
        if found is not None:
            emptied = replace(found, record_count=0, payload=payload)
            _table(transaction, ENTRIES)[topology, self.sink, txid] = emptied

    def trim(self, transaction: Transaction, topology: str, sent: int) -> None:
        for entry in self._entries(transaction):
            if entry.txid <= sent:
                del _table(transaction, ENTRIES)[topology, self.sink, entry.txid]

    def _put(self, transaction: Transaction, topology: str, row: OutboxRow) -> None:
        _table(transaction, POSITIONS)[topology, self.sink] = row

    def _entries(self, transaction: Transaction) -> list[Entry]:
        """Return all entries in order; one topology has a memory ledger's database for itself."""
        found = cast("list[Entry]", list(_table(transaction, ENTRIES).values()))
        return sorted(found, key=lambda entry: entry.txid)


def _table(transaction: Transaction, name: str) -> dict[object, object]:
    assert isinstance(transaction, MemoryTransaction)
    return transaction.table(name)
