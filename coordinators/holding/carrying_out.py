"""Carrying recorded decisions out, and telling before they are recorded whether every state could follow.

Each step is idempotent: what was cut off is carried out again from its start, at the next take-over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trident.base.advice import RESET_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FatalError, MismatchError, TridentError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind, ResetDecision
from trident.coordinators.holding.trying import in_order, try_all
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.pinned import Pin
from trident.coordinators.registered import Snapshot
from trident.state.capabilities import (
    CannotUndoError,
    Transaction,
    TriesTogether,
    check_resettable,
    diverting_of,
    resetting_of,
    undoing_of,
)
from trident.state.rows import json_rows
from trident.state.staged import AppliedUpdates, WrittenUpdates
from trident.state.target import Target


class UnfinishedError(MismatchError):
    """A recorded decision that a state refuses to follow; the text says so, and how it is finished."""


@dataclass(frozen=True, slots=True)
class PinnedBatch:
    """The pinned txid under the epoch of whoever decides about it."""

    batch: BatchId
    pin: Pin
    before: int
    """The attempt that the txid before it was done with."""

    def written(self, state: str) -> WrittenUpdates:
        """Return what the pin says is to be applied to one state after it."""
        item = self.pin.of(state)
        return WrittenUpdates(item.writes if item is not None else ())

    def staged(self, state: str) -> WrittenUpdates | AppliedUpdates:
        """Return what the pin says of one state's rows: the writes, or how many it applied itself."""
        item = self.pin.of(state)
        return item.updates if item is not None else WrittenUpdates(())


def pinned_batch(snapshot: Snapshot, epoch: Epoch) -> PinnedBatch | None:
    """Return the pinned batch, None when nothing is pinned."""
    pin = snapshot.pin
    if pin is None:
        return None
    return PinnedBatch(BatchId(snapshot.owner, epoch, pin.txid, pin.attempt), pin, snapshot.done_attempt)


def due_decisions(snapshot: Snapshot) -> tuple[Decision, ...]:
    """Return what was decided about the pinned txid; all others are held for the attempt that commits."""
    return tuple(each for each in snapshot.decisions if (each.txid, each.attempt) == snapshot.pinned)


def has_open(snapshot: Snapshot) -> bool:
    """Tell whether what was decided before is to be carried out first: nothing can be held against it before that."""
    return snapshot.open_reset is not None or bool(due_decisions(snapshot))


def check_undo(stores: Mapping[str, Target], pinned: PinnedBatch) -> None:
    """Raise CannotUndoError unless every state of the pin can go back to the txid before.

    Each is asked by itself, then all are tried together; RetryableError while somebody holds what would be changed.
    """
    batch, wanted = pinned.batch, tuple(stores[item.state] for item in pinned.pin.states)
    for store in wanted:
        undoing_of(store, batch).check_undo(batch, pinned.staged(store.name))

    def go_back(trying: TriesTogether, transaction: Transaction, store: Target) -> Callable[[], None]:
        return trying.try_undo(transaction, batch, pinned.before, pinned.staged(store.name))

    refused = try_all(wanted, go_back)
    if refused is None:
        return
    if isinstance(refused.error, CannotUndoError):
        raise refused.error
    raise CannotUndoError(
        f"{batch}: state {refused.state!r} can't go back to the txid before: {refused.error}"
    ) from refused.error


def check_divert(
    stores: Mapping[str, Target], pinned: PinnedBatch, decision: Decision, waiting: frozenset[str]
) -> None:
    """Raise MismatchError or CannotUndoError unless the state's rows can be taken out of the pinned txid."""
    if decision.state not in waiting:
        raise MismatchError(f"no {decision}: the state has this txid already. Nothing was written.")
    store, staged = stores[decision.state], pinned.written(decision.state)
    # a store without transactions may have part of it, which has to go first
    if store.capabilities.undoing is not None:
        store.capabilities.undoing.check_undo(pinned.batch, staged)
    diverting_of(store).staged_rows(pinned.batch, staged)


def carry_out(ledger: Ledger, stores: Mapping[str, Target], pinned: PinnedBatch, decision: Decision) -> None:
    """Do what was decided about the pinned txid, states first, then the ledger, which finishes the decision."""
    match decision.kind:
        case DecisionKind.UNDO:
            undo(ledger, stores, pinned, decision)
        case DecisionKind.DIVERT:
            divert(ledger, stores, pinned, decision)
        case _:
            raise AssertionError(f"a {decision} leaves nothing to carry out")


def undo(ledger: Ledger, stores: Mapping[str, Target], pinned: PinnedBatch, decision: Decision) -> None:
    """Bring every state of the pin back to the txid before, then take the pin back."""
    batch = pinned.batch

    def go_back(store: Target) -> None:
        undoing_of(store, batch).undo(batch, pinned.before, pinned.staged(store.name))
        reached(CrashPoint.AFTER_UNDOING_STATE, batch.txid)

    def way() -> str:
        return f"; if nothing can be mended, {RESET_CLEARING}" if _can_be_emptied(stores, batch) else ""

    _carry_out_in_each(str(decision), in_order([stores[item.state] for item in pinned.pin.states]), go_back, way=way)
    ledger.unpin(batch.owner, batch.epoch, decision)
    reached(CrashPoint.AFTER_UNPINNING, batch.txid)


def divert(ledger: Ledger, stores: Mapping[str, Target], pinned: PinnedBatch, decision: Decision) -> None:
    """Take one state's rows out of the pin, into the ledger."""
    batch, store, staged = pinned.batch, stores[decision.state], pinned.written(decision.state)
    # a store without transactions may have been cut off in the middle: part of the rows is in
    if store.capabilities.undoing is not None:
        store.capabilities.undoing.undo(batch, pinned.before, staged)
    ledger.divert(batch.owner, batch.epoch, decision, json_rows(diverting_of(store).staged_rows(batch, staged)))
    reached(CrashPoint.AFTER_DIVERTING, batch.txid)


def carry_out_reset(
    ledger: Ledger, stores: Mapping[str, Target], topology: str, epoch: Epoch, decision: ResetDecision
) -> None:
    """Bring every state to the decided incarnation, then the ledger."""
    owner = Owner(topology, decision.incarnation)

    def holds(transaction: Transaction) -> None:
        ledger.require_held(topology, epoch, transaction)

    def follow(store: Target) -> None:
        plain = store.capabilities.plain
        if plain is not None:
            plain.own(owner, epoch, emptied=decision.states == "clear", holds=holds)
            reached(CrashPoint.AFTER_RESETTING_STATE)
            return
        resetting = resetting_of(store)
        change = resetting.clear if decision.states == "clear" else resetting.adopt
        change(owner, epoch, decision.birth_txid)
        reached(CrashPoint.AFTER_RESETTING_STATE)

    what, given = f"reset (to incarnation {decision.incarnation})", tuple(stores.values())
    if decision.states == "clear":
        _carry_out_in_each(what, in_order(given), follow)
    else:
        _carry_out_in_each(what, given, follow, untold=MismatchError)
    ledger.finish_reset(epoch, topology, decision)
    reached(CrashPoint.AFTER_RESET)


def _can_be_emptied(stores: Mapping[str, Target], batch: BatchId) -> bool:
    try:
        check_resettable(batch.owner.topology, stores, keep_rows=False)
    except TridentError:  # a store that does not answer just now is no reason to name a way
        return False
    return True


def _carry_out_in_each(
    what: str,
    stores: Sequence[Target],
    act: Callable[[Target], None],
    untold: type[FatalError] | None = None,
    way: Callable[[], str] = str,
) -> None:
    """Act on each state; on one that refuses again after the others, whose rows may have referred to its rows.

    Raises UnfinishedError for one that refuses still, whatever its error said of what was changed: this is recorded.
    An `untold` kind of error the caller tells in words of its own; `way` is a way on where nothing can be mended.
    """
    refused: dict[str, FatalError] = {}
    for store in stores:
        try:
            act(store)
        except FatalError as error:
            if untold is not None and isinstance(error, untold):
                raise
            refused[store.name] = error
    if not refused:
        return
    if len(refused) < len(stores):
        _carry_out_in_each(what, [store for store in stores if store.name in refused], act, untold, way)
        return
    name, first = next(iter(refused.items()))
    problem = first.problem if isinstance(first, CannotUndoError) else str(first).removesuffix(".")
    raise UnfinishedError(
        f"the {what} was recorded and can't be finished: state {name!r} refused it: {problem}. This state is as it was "
        "(one in a map may have followed in part), others may have followed it. Mend what refuses, then start the "
        f"topology or give the same command again: that finishes it{way()}."
    ) from first
