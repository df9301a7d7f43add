"""The commit turn: staged batches become pins, pins become rows; one txid at a time, on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trident.base.advice import RESET_CLEARING, UNDO
from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RefusedError, about
from trident.base.identity import BatchId
from trident.base.user_code import LeftBehindError
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.sifting import how_many
from trident.coordinators.batches.steps import Steps
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.pinned import Commit, Pin
from trident.coordinators.retrying import Repeater
from trident.state.sifting import Sifted, with_number
from trident.state.staged import AppliedUpdates, StagedUpdates, StagingLostError, WrittenUpdates
from trident.state.target import Target


class Committer:
    """Performs the protocol's commit commands; used by the committing thread only.

    Every call is idempotent: after a lost answer it is repeated and finds its own effect.
    """

    def __init__(self, ledger: Ledger, stores: Mapping[str, Target], repeater: Repeater, clock: Clock) -> None:
        self._ledger = ledger
        self._stores = stores
        self._repeater = repeater
        self._clock = clock
        self._started: dict[BatchId, float] = {}

    def together(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Pin, apply and finish the batch in one transaction of the ledger's database."""
        started = self._clock.monotonic()
        steps = Steps(batch, self._stores, outcome.updates)
        reached(CrashPoint.IN_TURN, batch.txid)

        def commit_together() -> None:
            with about(lambda: steps.at_work, batch):
                steps.make_ready()
                self._ledger.commit_together(
                    batch.owner,
                    batch.epoch,
                    outcome.pin(),
                    outcome.commit(0),
                    steps.copies,
                    steps.applies,
                    partial(self._since, started),
                )

        try:
            self._repeater.call(f"committing {batch}", commit_together, lambda: steps.at_work)
        except RefusedError as error:
            raise self._refused(steps, error, outcome) from error
        except LeftBehindError as error:
            raise steps.left_behind(error) from error
        reached(CrashPoint.AFTER_DONE, batch.txid)
        return outcome.commit(self._since(started))

    def told(self, stopped: StoppedError) -> StoppedError:
        """Return it with what is true of the batch at this level; all that is said of a stop is of the first one."""
        return stopped

    def pin(self, batch: BatchId, outcome: Outcome) -> None:
        """Make the durable decision; the states beside the ledger have the batch with it."""
        self._started[batch] = self._clock.monotonic()
        reached(CrashPoint.IN_TURN, batch.txid)
        pin = outcome.pin()
        steps = Steps(batch, self._stores, outcome.updates)
        reached(CrashPoint.BEFORE_PIN, batch.txid)

        def write_pin() -> None:
            with about(lambda: steps.at_work, batch):
                steps.make_ready()
                self._ledger.pin(batch.owner, batch.epoch, pin, steps.copies, steps.applies)

        try:
            self._repeater.call(f"pinning {batch}", write_pin, lambda: steps.at_work)
        except RefusedError as error:
            if not steps.has_states:
                raise
            raise self._refused(steps, error, outcome) from error
        except LeftBehindError as error:
            raise steps.left_behind(error) from error
        reached(CrashPoint.AFTER_PIN, batch.txid)

    def apply(self, batch: BatchId, state: str, pin: Pin) -> None:
        """Apply the pinned batch to one state from what is durable, once."""
        staged = pin.of(state)
        assert staged is not None, f"{batch} was pinned without state {state!r}"
        updates = WrittenUpdates(staged.writes)

        def apply() -> None:
            with about(f"state {state!r}", batch):
                self._stores[state].apply(batch, updates)

        try:
            self._repeater.call(f"applying {batch} to state {state!r}", apply)
        except LeftBehindError as error:
            raise LeftBehindError(f"{batch}: {error}") from error
        except StagingLostError as error:
            raise StagingLostError(
                f"{error}. The txid is pinned: restore the database of state {state!r}; or take the txid back "
                f"({UNDO} {batch.txid}; every state goes back to the txid before, the batch is read again, "
                f"as far as its streams can be); or {RESET_CLEARING}"
            ) from error
        except RefusedError as error:
            reason = with_number(error, self._found(batch, state, {state: updates}))
            raise StoppedError(
                f"state {state!r} refused {batch} for good: {reason}. The txid is pinned: states that have it keep it, "
                "this one's staged rows stay.",
                Refusal(batch.txid, batch.attempt, StopKind.REFUSED, state, reason),
                is_pinned=True,
            ) from error
        reached(CrashPoint.AFTER_APPLY, batch.txid)

    def done(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Record that every state has the txid."""
        started = self._started.pop(batch, self._clock.monotonic())
        commit = outcome.commit(self._since(started))
        reached(CrashPoint.BEFORE_DONE, batch.txid)
        self._repeater.call(f"finishing {batch}", lambda: self._ledger.done(batch.owner, batch.epoch, commit))
        reached(CrashPoint.AFTER_DONE, batch.txid)
        return commit

    def _refused(self, steps: Steps, error: RefusedError, outcome: Outcome) -> StoppedError:
        return steps.refused(error, outcome, self._found(steps.batch, steps.state, outcome.updates))

    def _found(
        self, batch: BatchId, state: str, updates: Mapping[str, StagedUpdates | AppliedUpdates]
    ) -> Sifted | None:
        made = {name: staged for name, staged in updates.items() if not isinstance(staged, AppliedUpdates)}
        return how_many(self._stores, batch, made, state)

    def _since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)
