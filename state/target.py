"""What a state is: rows found by key, changed once per txid, owned by one incarnation.

A `State` is the immutable description that a topology is built with; `open()` turns it into a
`StateStore`, the driver-side connection that the coordinator applies batches through. The update
rules themselves are pure and live in `state.values`; SQL stores follow the same rules set-wise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.layout import StateKind, StateLayout


@dataclass(frozen=True, slots=True)
class Position:
    """Where a state stands: it holds every txid up to `txid`, the last one as that attempt put it.

    `birth_txid` is the txid before the state's first one; a state stands there with attempt 0.
    """

    owner: Owner
    txid: int
    attempt: int
    birth_txid: int


@dataclass(frozen=True, slots=True)
class HeldUpdates:
    """Staged updates that the driver holds: one row per key, in the layout's schema."""

    rows: pa.Table

    @property
    def count(self) -> int:
        """How many rows are staged."""
        return int(self.rows.num_rows)


@dataclass(frozen=True, slots=True)
class WrittenUpdates:
    """Staged updates that lie in the state's database, found by the write ids of their manifests."""

    writes: tuple[WriteManifest, ...]

    @property
    def count(self) -> int:
        """How many rows are staged, as their manifests say."""
        return sum(write.rows for write in self.writes)


StagedUpdates = HeldUpdates | WrittenUpdates


@dataclass(frozen=True, slots=True)
class AppliedUpdates:
    """Updates that the pin's own transaction has applied: how many rows, and nothing else is kept of them."""

    count: int


class StagingLostError(MismatchError):
    """Rows that were accepted into staging are not all there any more; the batch is not applied.

    Before the pin the attempt is dropped and read again (a server that crashed has emptied its
    unlogged staging); after the pin a person has to decide.
    """


class CannotUndoError(FatalError):
    """A state can't bring back what was before a txid; nothing was changed."""


StagingWriter = Callable[[Iterator[pa.RecordBatch]], Iterator[str]]

"""Runs inside a Spark task, can be pickled: commits the rows of the layout under a fresh write id and
yields one encoded `WriteManifest` per id. Called again for a retried task; takes a new id then."""


class Transaction(Protocol):
    """An open transaction of the ledger's database, as the shortcut hands it to its stores.

    Stores know the concrete kinds (`state.database`); the coordinator only passes it on.
    """


class StateStore(Protocol):
    """An opened state in the coordinator's process; used by one thread at a time, except `stage`.

    Errors: `RetryableError` (rolled back), `OutcomeUnknownError` (repeat the same call),
    `FencedError` (a newer epoch is in the store), `RefusedError` (this batch can never be applied
    as it is), `MismatchError` (what is stored is not what the caller expects). No call but
    `apply`, `apply_in`, `undo` and `clear` changes a value that a reader can see.
    """

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""

    @property
    def beside_ledger(self) -> bool:
        """Whether it uses the ledger's own database object, so that it is applied in the pin's own transaction."""

    def prepare(self, beside: bool) -> None:
        """Make the tables or check those that are there; raises MismatchError naming column and type. Idempotent.

        `beside` says that batches are applied in the pin's own transaction, whatever the topology's other
        states do; only then may staging be unlogged, and `stage` has nothing to make durable.
        """

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on, waiting for a write at work; idempotent.

        Raises `FencedError` when the store holds a newer epoch. A no-op beside the ledger, whose
        fence serves it.
        """

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered. Waits for a write at work.

        Raises `MismatchError` when the state belongs to another topology.
        """

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; idempotent; refuses a table that already has rows."""

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Make held updates as durable as the pin needs (nothing to do beside the ledger), checking types and sizes.

        May run while another txid is applied. Raises `RefusedError` for what the store can't hold.
        """

    def writer(self, batch: BatchId) -> StagingWriter | None:
        """Return what tasks stage this batch's updates with, None when only the driver can hold them."""

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch in a transaction of its own, once: a batch that is in is skipped.

        `updates` are those that `stage` returned, or the same `WrittenUpdates` read back from the pin
        after a restart. First statement (after any COPY): the position moves from T-1 to T.
        """

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates to the server inside the shortcut's transaction; takes no lock that others wait for."""

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply what `copy_in` brought, in the same transaction; the caller locks the fence after it and commits."""

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch, for a person who takes them out of it; raises StagingLostError."""

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError unless `undo` can bring back what was before the batch; changes nothing."""

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring every value back to what it was before a pinned batch, which `updates` are of; idempotent.

        The state then stands at txid - 1 with the attempt `before` (0 where it was born there). Values
        that the batch made are gone; the others are of txid - 1, and what was before them is lost. A
        state that does not have the batch stays as it is, but for what a store without transactions has
        of it already. Raises CannotUndoError for other kinds than opaque, unless the batch has no rows.
        """

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete this topology's staging of txids up to `done`, dropped attempts' included; fenced."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """For a reset: delete all rows and start at the birth txid under a new owner; idempotent."""

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """For a reset: keep all rows and bind them to the new owner at the birth txid; idempotent."""

    def close(self) -> None:
        """Let go of connections; may be called again."""


class LedgerDatabase(Protocol):
    """The ledger's own database object, as a state without a database of its own uses it."""


class State(Protocol):
    """Where results live: an immutable description that a topology is built with; its repr shows no secret."""

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""

    @property
    def kind(self) -> StateKind:
        """What is stored beside each value."""

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts, to be stored in the ledger; no secrets."""

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase) -> StateStore:
        """Connect to the state's database, or share the ledger's; raises ConfigurationError if that can't hold it."""


def names_beside(stores: Mapping[str, StateStore]) -> frozenset[str]:
    """Return which of them are applied in the pin's own transaction."""
    return frozenset(name for name, store in stores.items() if store.beside_ledger)
