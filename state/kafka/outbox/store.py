"""What an outbox asks of the place where its records wait: a small interface, which the ledger's database serves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from trident.base.errors import FencedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Transaction
from trident.state.positions import Position


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """Where a sink stands, the epoch that last wrote it, and the newest txid that had records."""

    position: Position
    epoch: Epoch
    newest_txid: int


@dataclass(frozen=True, slots=True)
class Entry:
    """The records of one txid, as they lie there."""

    txid: int
    attempt: int
    before_txid: int
    """The newest txid with records before this one."""
    record_count: int
    payload: bytes

    def batch(self, owner: Owner, epoch: Epoch) -> BatchId:
        """Return the batch that has laid it down, as whoever has the epoch now sends it."""
        return BatchId(owner, epoch, self.txid, self.attempt)


class OutboxStore(Protocol):
    """The position and the entries of one sink; methods that are given a transaction run inside of it."""

    @property
    def sink(self) -> str:
        """The sink's name."""

    def prepare(self) -> None:
        """Make what is missing; idempotent."""

    def work_for(self, topology: str, epoch: Epoch) -> AbstractContextManager[Transaction]:
        """Open a transaction of an epoch's: kept at the end of the block, undone by any exception."""

    def work_on(self, topology: str) -> AbstractContextManager[Transaction]:
        """Open one where the epoch is not at hand."""

    def look(self, topology: str) -> OutboxRow | None:
        """Return where the sink stands, in a transaction of its own; what is missing is made in it, and rolled back."""

    def read(self, transaction: Transaction, topology: str) -> OutboxRow | None:
        """Return where the sink stands, locked."""

    def stamp(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        """Put a newer epoch beside the position, which stays."""

    def bear(self, transaction: Transaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a sink that has never been registered, or bind it to a new life.

        Raises FencedError where a later epoch has let go of it.
        """

    def let_go(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        """Take the position away and keep the epoch: `read` finds none then, and `bear` refuses an older one."""

    def put(self, transaction: Transaction, batch: BatchId, record_count: int, payload: bytes) -> None:
        """Lay a batch's records down behind the newest ones; nothing where the sink does not stand before the batch."""

    def move(self, transaction: Transaction, batch: BatchId, *, has_records: bool) -> bool:
        """Step from txid - 1 to the batch's txid; False where the batch is in; raises MismatchError otherwise."""

    def move_back(self, transaction: Transaction, batch: BatchId, row: OutboxRow, before: int) -> None:
        """Take a batch that is in away again, with the records that it has laid down."""

    def entry(self, transaction: Transaction, topology: str, txid: int) -> Entry | None:
        """Return what a batch has laid down."""

    def waiting(self, transaction: Transaction, topology: str, done: int) -> Sequence[Entry]:
        """Return the oldest entries of txids up to `done`: as many as go well into one transaction, at least one."""

    def sent_before(self, transaction: Transaction, topology: str, row: OutboxRow) -> int:
        """Return the newest txid with records before those that wait."""

    def has_waiting(self, transaction: Transaction, topology: str, done: int) -> bool:
        """Tell whether there is an entry of a txid up to `done`; looks into none."""

    def empty(self, transaction: Transaction, topology: str, txid: int, payload: bytes) -> None:
        """Take the records out of an entry, which keeps its place."""

    def trim(self, transaction: Transaction, topology: str, sent: int) -> None:
        """Delete the entries of txids up to one that was sent."""


def owned_in(store: OutboxStore, transaction: Transaction, owner: Owner, epoch: Epoch) -> OutboxRow | None:
    """Return the locked row after checking that no newer epoch has written it."""
    row = store.read(transaction, owner.topology)
    if row is not None and row.epoch.number > epoch.number:
        raise FencedError(f"epoch {row.epoch.number} wrote sink {store.sink!r} after {epoch.number}; nothing done")
    return row


def ask(store: OutboxStore, owner: Owner, epoch: Epoch) -> OutboxRow | None:
    """Do the same in a transaction of its own."""
    with store.work_for(owner.topology, epoch) as transaction:
        return owned_in(store, transaction, owner, epoch)
