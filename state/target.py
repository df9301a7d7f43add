"""What a target is: results of one kind in one place, changed once per txid, owned by one incarnation.

A `State` or a `Sink` is the immutable description that a topology is built with; `open()` turns it into a
`Target`, the driver-side connection that the coordinator applies batches through. What only some
targets can do is in `state.capabilities`; the update rules are pure and live in `state.values`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import pyarrow as pa

from trident.base.identity import BatchId, Epoch, Owner
from trident.base.timeouts import Timeouts
from trident.state.capabilities import Capabilities
from trident.state.layout import StateKind, StateLayout
from trident.state.positions import Position
from trident.state.staged import HeldUpdates, StagedUpdates


class Target(Protocol):
    """An opened state or sink in the coordinator's process; used by one thread at a time, except `stage`.

    Errors: `RetryableError` (rolled back), `OutcomeUnknownError` (repeat the same call),
    `FencedError` (a newer epoch is in the store), `RefusedError` (this batch can never be applied
    as it is), `MismatchError` (what is stored is not what the caller expects). No call but `apply`,
    and the capabilities' `apply_in`, `undo`, `clear` and, of what was applied before, `relay` and `adopt`, changes what
    a reader can see.
    """

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do beside this; the same for as long as it is open."""

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Raise what `prepare` would raise, and return where it stands; changes nothing, not even a missing table.

        But what somebody has left open there may be ended, where it hides the answer. If it has never been registered
        and the caller `registers` what has not, also what that would raise.
        Raises `MismatchError` when it belongs to another topology.
        """

    def prepare(self) -> None:
        """Make the tables or check those that are there; raises MismatchError naming column and type. Idempotent.

        Only a target that can share the ledger's transaction may have unlogged staging, for its batches
        are applied in the pin's own one, whatever the topology's other states do.
        """

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on, waiting for a write at work; idempotent.

        Raises `FencedError` when the store holds a newer epoch. A no-op beside the ledger, whose
        fence serves it.
        """

    def position(self, topology: str) -> Position | None:
        """Return where it stands, None when it has never been registered. Waits for a write at work.

        Raises `MismatchError` when it belongs to another topology.
        """

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new target's owner and birth txid; idempotent; refuses a table that already has rows."""

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Make held updates as durable as the pin needs (nothing to do beside the ledger), checking types and sizes.

        May run while another txid is applied. Raises `RefusedError` for what the store can't hold.
        """

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch in a transaction of its own, once: a batch that is in is skipped.

        `updates` are those that `stage` returned, or the same `WrittenUpdates` read back from the pin
        after a restart. First statement (after any COPY): the position moves from T-1 to T.
        """

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete this topology's staging of txids up to `done`, dropped attempts' included; fenced.

        Deletes nothing, and needs not say so, where it does not stand at this very epoch: it was put back.
        """

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Delete all that is staged, whatever txid it is of; fenced.

        Nothing of it may be pinned or wait: the topology gives the target up, and nobody cleans up there any more.
        What a successor has staged stays, also where this stands still in the middle and wakes up behind it. Where
        the fence can't be held while staging is deleted: list what lies there, look at the fence, and delete only what
        was listed. Numbers are no bound: a ledger that was lost hands attempts out again.
        """

    def close(self) -> None:
        """Let go of connections; may be called again."""


class LedgerDatabase(Protocol):
    """The ledger's own database object, as a state without a database of its own uses it."""


OpensTarget: TypeAlias = Callable[[LedgerDatabase, Timeouts], Target]
"""Connects to where results of one end of a topology go, or shares the ledger's database; see `State.open`."""


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

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        """Connect to the state's database, or share the ledger's; raises ConfigurationError if that can't hold it.

        What connections of its own hold on a server, tasks' connections too, must end within `timeouts.lease`.
        """


class Sink(Protocol):
    """Where records go that leave: an immutable description that a topology is built with; its repr shows no secret."""

    @property
    def name(self) -> str:
        """The sink's name, unique among the states and sinks of its topology."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of its staged rows, which are applied in their order."""

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts, to be stored in the ledger; no secrets."""

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        """Connect, or make ready to; see `State.open`."""
