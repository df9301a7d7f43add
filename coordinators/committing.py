"""The commit turn: staged batches become pins, pins become rows; one txid at a time, on one thread."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FatalError, RefusedError
from trident.base.identity import BatchId
from trident.coordinators.ledger.base import Ledger, TransactionStep
from trident.coordinators.records import Commit, DeadLetter, Pin, Plan, StatePin
from trident.coordinators.retrying import Repeater
from trident.spouts.base import RangeManifest
from trident.state.base import HeldUpdates, StagedUpdates, StateStore, WrittenUpdates


@dataclass(frozen=True)
class Outcome:
    """A processed attempt: all that its pin will say, and its staged updates."""

    plan: Plan
    manifests: tuple[tuple[str, RangeManifest], ...]
    dead_letters: tuple[DeadLetter, ...]
    updates: Mapping[str, StagedUpdates]
    plan_ms: int
    process_ms: int

    @property
    def records(self) -> int:
        """How many records were read, dead letters included."""
        return sum(manifest.count for _, manifest in self.manifests)

    @property
    def keys(self) -> int:
        """How many rows are staged, over all states."""
        return sum(rows_of(updates) for updates in self.updates.values())

    def pin(self) -> Pin:
        """Return the decision to be stored."""
        states = tuple(
            StatePin(name, rows_of(updates), updates.writes if isinstance(updates, WrittenUpdates) else ())
            for name, updates in self.updates.items()
        )
        return Pin(self.plan, self.manifests, states, self.dead_letters)

    def commit(self, started: float) -> Commit:
        """Return the record of the finished txid; `started` is when its turn began (perf_counter)."""
        plan = self.plan
        return Commit(
            txid=plan.txid,
            attempt=plan.attempt,
            tries=plan.tries,
            records=self.records,
            dead_letters=len(self.dead_letters),
            keys=self.keys,
            plan_ms=self.plan_ms,
            process_ms=self.process_ms,
            commit_ms=round((time.perf_counter() - started) * 1000),
        )


def rows_of(updates: StagedUpdates) -> int:
    """Return how many rows are staged."""
    if isinstance(updates, HeldUpdates):
        return updates.rows.num_rows
    return sum(write.rows for write in updates.writes)


class Committer:
    """Performs the protocol's commit commands; used by the committing thread only.

    Every call is idempotent: after a lost answer it is repeated and finds its own effect.
    """

    def __init__(self, ledger: Ledger, stores: Mapping[str, StateStore], repeater: Repeater) -> None:
        self._ledger = ledger
        self._stores = stores
        self._repeater = repeater
        self._started: dict[BatchId, float] = {}

    def together(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Pin, apply and finish the batch in one transaction of the ledger's database."""
        started = time.perf_counter()
        copies: list[TransactionStep] = []
        applies: list[TransactionStep] = []
        for name, updates in outcome.updates.items():
            store = self._stores[name]
            copies.append(lambda tx, store=store, updates=updates: store.copy_in(tx, batch, updates))  # type: ignore[misc]
            applies.append(lambda tx, store=store, updates=updates: store.apply_in(tx, batch, updates))  # type: ignore[misc]
        applies.append(lambda _: reached(CrashPoint.IN_PIN_TRANSACTION, batch.txid))
        reached(CrashPoint.IN_TURN, batch.txid)
        try:
            self._repeater.call(
                f"committing {batch}",
                lambda: self._ledger.commit_together(
                    batch.owner, batch.epoch, outcome.pin(), outcome.commit(started), copies, applies
                ),
            )
        except RefusedError as error:
            raise FatalError(
                f"the store refused {batch} for good: {error}. Nothing of this txid was applied or pinned; it is read "
                "again at the next start. Change the data's type, filter the record out, or widen the column."
            ) from error
        reached(CrashPoint.AFTER_DONE, batch.txid)
        return outcome.commit(started)

    def pin(self, batch: BatchId, outcome: Outcome) -> None:
        """Make the durable decision."""
        self._started[batch] = time.perf_counter()
        reached(CrashPoint.IN_TURN, batch.txid)
        pin = outcome.pin()
        reached(CrashPoint.BEFORE_PIN, batch.txid)
        self._repeater.call(f"pinning {batch}", lambda: self._ledger.pin(batch.owner, batch.epoch, pin))
        reached(CrashPoint.AFTER_PIN, batch.txid)

    def apply(self, batch: BatchId, state: str, pin: Pin) -> None:
        """Apply the pinned batch to one state from what is durable, once."""
        staged = next(item for item in pin.states if item.state == state)
        updates = WrittenUpdates(staged.writes)
        try:
            self._repeater.call(
                f"applying {batch} to state {state!r}", lambda: self._stores[state].apply(batch, updates)
            )
        except RefusedError as error:
            raise FatalError(
                f"state {state!r} refused {batch} for good: {error}. The txid is pinned: states that have it keep it, "
                "this one has nothing of it, and its staged rows stay. Mend the table and start again to roll it on."
            ) from error
        reached(CrashPoint.AFTER_APPLY, batch.txid)

    def done(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Record that every state has the txid."""
        started = self._started.pop(batch, time.perf_counter())
        commit = outcome.commit(started)
        reached(CrashPoint.BEFORE_DONE, batch.txid)
        self._repeater.call(f"finishing {batch}", lambda: self._ledger.done(batch.owner, batch.epoch, commit))
        reached(CrashPoint.AFTER_DONE, batch.txid)
        return commit


def outcome_of_pin(pin: Pin) -> Outcome:
    """Return the outcome of a batch that another coordinator pinned; its durations are unknown (0)."""
    updates = {item.state: WrittenUpdates(item.writes) for item in pin.states}
    return Outcome(pin.plan, pin.manifests, pin.dead_letters, updates, 0, 0)
