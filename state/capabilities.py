"""What a target may be able to do beside what every target does; each is a protocol of its own.

A target names what it can in `Capabilities`; what it leaves out it can't. Whoever needs one of them
asks by the functions below, so that a target that lacks it is refused in the same words everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from trident.base.errors import ConfigurationError, FatalError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.secrets import Secret
from trident.base.writes import WriteManifest
from trident.state.evolving import Evolves
from trident.state.forgetting import Forgettable
from trident.state.positions import Position
from trident.state.renaming import Renames
from trident.state.staged import AppliedUpdates, HeldUpdates, StagedUpdates, StagingWriter
from trident.state.surroundings import EndsOlder, KnowsItsPlace
from trident.state.tasks import Tasks

if TYPE_CHECKING:
    from trident.state.plainly import WritesPlainly
    from trident.state.putting_back import PutsBack
    from trident.state.sifting import Sifts
    from trident.state.target import Target


class SentInPartError(RefusedError):
    """What waits can never be sent as a whole, and not be taken out either: some of it was sent."""


class CannotUndoError(FatalError):
    """A target can't bring back what was before a txid; nothing was changed, unless an undo was recorded before.

    `problem` is why, without a word of what was changed.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem}. Nothing was changed"


class Transaction(Protocol):
    """An open transaction of the ledger's database, as a pin hands it to the targets beside it.

    Targets know the concrete kinds (`SqlTransaction`, `MemoryTransaction`); the coordinator only passes it on.
    """


class SharesTransaction(Protocol):
    """Lives in the ledger's own database: applied in the pin's transaction, served by the ledger's fence."""

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Return the updates as `copy_in` and `apply_in` take them: all that takes long is done here, user code too.

        Called in the batch's turn, before the transaction begins; called again for each try.
        """

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates to the server inside the pin's transaction; takes no lock that others wait for."""

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Apply what `copy_in` brought, in the same transaction; the caller locks the fence after it and commits.

        Returns whether it did: a batch that is in is skipped.
        """

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Have what the store left for the COMMIT happen now, where it raises what it would have raised then.

        What is surely this target's own, or `of_all` that takes part. Returns whether what any target stored may be
        something else by now. Called after every target's `apply_in`: what is left for the COMMIT may compare two.
        """

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Raise RefusedError unless all that was applied just now is there after that, as far as that can be told."""


class Undoable(Protocol):
    """Can go back to the txid before the one it stands at."""

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError unless `undo` can bring back what was before the batch; changes nothing."""

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring every value back to what it was before a pinned batch, which `updates` are of; idempotent.

        The target then stands at txid - 1 with the attempt `before` (0 where it was born there). Values
        that the batch made are gone; the others are of txid - 1, and what was before them is lost. A
        target that does not have the batch stays as it is, but for what a store without transactions has
        of it already. Raises CannotUndoError for other kinds than opaque, unless the batch has no rows.
        """


class Resettable(Protocol):
    """Can follow a topology into a new incarnation."""

    def check_clear(self, topology: str) -> None:
        """Raise ConfigurationError or MismatchError unless `clear` can empty it; changes nothing.

        What can only be told by trying is left to `TriesTogether`.
        """

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete all rows and start at the birth txid under a new owner; idempotent.

        What has left, by a target with `keeps_what_left`, stays where it went.
        """

    def check_adopt(self, topology: str) -> int | None:
        """Return the newest txid among the rows that `adopt` would keep, 0 where rows have none, None without rows.

        Raises MismatchError for rows that are gone: there is nothing to keep. A store that can't list its rows goes by
        its position, and adds one where a batch that died may have put some. Changes nothing, needs no `prepare`.
        """

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep all rows and bind them to the new owner at the birth txid; idempotent."""


class TriesTogether(Protocol):
    """Lives where what a decision will do can be tried and rolled back, with all others that live there.

    What stands in the way there may depend on the others: keys that refer to their rows, triggers that look at them.
    """

    def home(self) -> str:
        """Return what is equal for targets that can be tried in one transaction."""

    def refers_to(self) -> frozenset[str]:
        """Return the places to which its rows refer (`KnowsItsPlace`): what is done there may be done to them, too."""

    def try_in(self, action: Callable[[Transaction], None]) -> None:
        """Run a transaction of its home that is rolled back; raises what a real one would raise."""

    def resists(self, transaction: Transaction) -> bool:
        """Tell whether anything there may keep its rows from being changed; otherwise nothing needs to be tried."""

    def try_clear(self, transaction: Transaction, topology: str, epoch: Epoch) -> Callable[[], None]:
        """Do what `Resettable.clear` does to its rows; returns what raises unless it holds once the others are tried.

        Raises MismatchError where rows of another topology would change with them.
        """

    def try_undo(
        self, transaction: Transaction, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates
    ) -> Callable[[], None]:
        """Do what `Undoable.undo` does; returns what raises unless it holds once the others are tried.

        Raises CannotUndoError where rows of another topology would change with them.
        """


class WritableByTasks(Protocol):
    """Tasks can stage its updates themselves, where they are too many for the driver."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What a writer needs to know in a task and must not carry: whoever runs it has it told to the task first."""

    def writer(self, batch: BatchId) -> StagingWriter:
        """Return what tasks stage this batch's updates with."""

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Raise StagingLostError where this process does not find what tasks have written, as far as that costs little.

        Called before the batch is pinned: it is read again then.
        """


class Divertible(Protocol):
    """Gives staged rows back, for a person who takes them out of a batch.

    One that may hold a part of a batch that it has not finished must be undoable as well.
    """

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch; raises StagingLostError."""


@dataclass(frozen=True, slots=True)
class Found:
    """The stored values of some keys, and the position that all of them are of."""

    position: Position
    rows: pa.Table
    """In the layout's schema; a key that is not stored has no row. In no order."""


class Queryable(Protocol):
    """Tells the values of given keys."""

    def find(self, topology: str, keys: pa.Table) -> Found:
        """Return the current values of these keys, all as of one position; a key that is given twice is found once.

        `keys` has the layout's key columns, null being a key like any other; without key columns the one
        row is asked for. Raises `MismatchError` when the target was never registered, `RetryableError`
        where a batch was applied meanwhile and the store can't show what was before it.
        """


class Expires(Protocol):
    """Has keys that a batch does not find because they were last updated too long before it.

    What decides is the batch's own time, which is planned, and what the txid before has left: never a clock.
    """

    def stage_at(self, batch: BatchId, updates: HeldUpdates, at: datetime) -> StagedUpdates:
        """Do what `Target.stage` does; the batch's time goes with what is staged, for whoever applies it."""

    def find_at(self, topology: str, keys: pa.Table, at: datetime) -> Found:
        """Do what `Queryable.find` does for a batch of this time, which does not find what has expired."""

    def expired_with(self, txid: int) -> int:
        """Return how many keys were found expired with a txid that this target has just applied, 0 for any other."""


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """What of one txid waits to be sent, for a person."""

    attempt: int
    rows: pa.Table
    lost: int = 0
    """How many rows of it are gone where they were staged, and not among these."""


class Relays(Protocol):
    """Sends later what it was given: a txid is done when it lies there durably, and leaves in the order of txids."""

    def relay(self, owner: Owner, epoch: Epoch, done: int) -> int:
        """Send the oldest of what waits of txids up to `done`; returns the txid up to which nothing waits any more.

        Idempotent: what was sent and not noted is not sent again. Raises `FencedError` under an old epoch, and
        `RefusedError` for what can never be sent, naming its txid; nothing of that txid was sent then.
        """

    def waiting(self, owner: Owner, epoch: Epoch, txid: int, without_lost: bool = False) -> WaitingRows | None:
        """Return what waits of a txid; None where nothing of it does.

        Raises StagingLostError where rows of it are gone, unless what is left is asked for.
        """

    def divert_in(self, transaction: Transaction, owner: Owner, epoch: Epoch, txid: int) -> None:
        """Let nothing of a txid that waits be sent, in a transaction of the ledger's; what waits behind it follows."""


class UsesTasks(Protocol):
    """Has work of its own that tasks may do, beside their staging."""

    def use(self, tasks: Tasks) -> None:
        """Give what is too much for one process to these tasks from now on; without, it is done in this one."""


class CountsRows(Protocol):
    """Can tell whether what is there still belongs to its position: by an account of its rows, or by what it knows."""

    def check_rows(self, owner: Owner, epoch: Epoch, pinned: int | None = None) -> None:
        """Raise MismatchError for rows that are gone, or more, as far as that costs little; changes no row.

        `pinned` is the txid that may be here in part.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a target can do; mostly it is the target itself, or a part of it, that does it."""

    beside: SharesTransaction | None = None
    undoing: Undoable | None = None
    resetting: Resettable | None = None
    trying: TriesTogether | None = None
    writing: WritableByTasks | None = None
    diverting: Divertible | None = None
    sifting: Sifts | None = None
    putting_back: PutsBack | None = None
    querying: Queryable | None = None
    counting: CountsRows | None = None
    ending: EndsOlder | None = None
    placing: KnowsItsPlace | None = None
    relaying: Relays | None = None
    tasking: UsesTasks | None = None
    expiring: Expires | None = None
    evolving: Evolves | None = None
    forgetting: Forgettable | None = None
    renaming: Renames | None = None
    plain: WritesPlainly | None = None
    """Of a target of the two weaker levels, which stands nowhere."""
    keeps_what_left: bool = False
    """Nothing takes back what it has applied, a reset neither: readers elsewhere have it."""


def names_beside(targets: Mapping[str, Target]) -> frozenset[str]:
    """Return which of them are applied in the pin's own transaction."""
    return frozenset(name for name, target in targets.items() if target.capabilities.beside is not None)


def beside_of(target: Target) -> SharesTransaction:
    """Return what applies it in the pin's transaction; asked of those that `names_beside` names."""
    beside = target.capabilities.beside
    if beside is None:
        raise TypeError(f"{target.name!r} takes no part in the ledger's transactions")
    return beside


def staged_at(target: Target, batch: BatchId, updates: HeldUpdates, at: datetime) -> StagedUpdates:
    """Return held updates of a batch of this time as its pin needs them; see `Target.stage`."""
    expiring = target.capabilities.expiring
    return target.stage(batch, updates) if expiring is None else expiring.stage_at(batch, updates, at)


def expired_keys(targets: Mapping[str, Target], txid: int) -> int:
    """Return how many keys of all targets were found expired with a txid that they have just applied."""
    expiring = [target.capabilities.expiring for target in targets.values()]
    return sum(each.expired_with(txid) for each in expiring if each is not None)


def names_relaying(targets: Mapping[str, Target]) -> frozenset[str]:
    """Return which of them send later what they were given."""
    return frozenset(name for name, target in targets.items() if target.capabilities.relaying is not None)


def relaying_of(target: Target) -> Relays:
    """Return what sends later; asked of those that `names_relaying` names."""
    relaying = target.capabilities.relaying
    if relaying is None:
        raise TypeError(f"{target.name!r} sends nothing later")
    return relaying


def plain_of(target: Target) -> WritesPlainly:
    """Return what writes at once; asked of the targets of a topology at one of the weaker levels."""
    plain = target.capabilities.plain
    if plain is None:
        raise TypeError(f"{target.name!r} writes nothing at once")
    return plain


def undoing_of(target: Target, batch: BatchId) -> Undoable:
    """Return what undoes a batch; raises CannotUndoError naming a target that can't."""
    undoing = target.capabilities.undoing
    if undoing is None:
        raise CannotUndoError(f"{batch}: state {target.name!r} keeps nothing of what was before a txid")
    return undoing


def diverting_of(target: Target) -> Divertible:
    """Return what reads staged rows back; raises ConfigurationError naming a target that can't."""
    diverting = target.capabilities.diverting
    if diverting is None:
        raise ConfigurationError(
            f"rows of state {target.name!r} can't be read back to be diverted; nothing was changed"
        )
    return diverting


def resetting_of(target: Target) -> Resettable:
    """Return what follows a reset; raises ConfigurationError naming a target that can't."""
    resetting = target.capabilities.resetting
    if resetting is None:
        raise ConfigurationError(f"state {target.name!r} can't follow a reset; nothing was changed")
    return resetting


def check_resettable(topology: str, targets: Mapping[str, Target], keep_rows: bool) -> None:
    """Raise ConfigurationError, before anything is recorded, for a target that could not follow a reset."""
    for target in targets.values():
        resetting = resetting_of(target)
        if not keep_rows:
            resetting.check_clear(topology)


def keeps_rows(target: Target, topology: str) -> bool:
    """Tell whether rows are there and no position is, which another owner may have written since it was looked for.

    Changes nothing.
    """
    resetting = target.capabilities.resetting
    has_rows = resetting is not None and resetting.check_adopt(topology) is not None
    return has_rows and target.look(topology, False) is None
