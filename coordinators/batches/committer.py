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
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.ledger.base import Ledger, TransactionStep
from trident.coordinators.pinned import Commit, Pin
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import Transaction, beside_of, names_beside
from trident.state.staged import HeldUpdates, StagedUpdates, StagingLostError, WrittenUpdates
from trident.state.target import Target


class Steps:
    """What the states beside the ledger do in the pin's own transaction: all copies, all applies, then what these left.

    Knows which state is at work, as the database names none when it refuses.
    """

    def __init__(self, batch: BatchId, stores: Mapping[str, Target], updates: Mapping[str, object]) -> None:
        self.batch = batch
        self.state = ""
        self.copies: list[TransactionStep] = []
        self.applies: list[TransactionStep] = []
        self._beside: list[tuple[Target, StagedUpdates]] = []
        self._applied: list[tuple[Target, StagedUpdates]] = []
        beside = names_beside(stores)
        for name, staged in updates.items():
            if name not in beside:
                continue
            assert isinstance(staged, HeldUpdates | WrittenUpdates)  # what is applied already has its pin
            self._beside.append((stores[name], staged))

    def make_ready(self) -> None:
        """Do what takes long, before the transaction; again for each try."""
        self.copies, self.applies = [], []
        for store, staged in self._beside:
            self.state = store.name
            ready = beside_of(store).ready(self.batch, staged)
            self.copies.append(partial(self._copy, store, ready))
            self.applies.append(partial(self._apply, store, ready))
        if self.applies:
            self.applies.append(self._end)
        self._applied.clear()
        self.state = ""

    @property
    def has_states(self) -> bool:
        """Whether any state is beside the ledger."""
        return bool(self._beside)

    @property
    def at_work(self) -> str:
        """Who refused, in words."""
        return f"state {self.state!r}" if self.state else "the ledger's database"

    def refused(self, error: RefusedError, outcome: Outcome) -> StoppedError:
        """Return the error of a transaction that was rolled back as a whole."""
        return StoppedError(
            f"{self.at_work} refused {self.batch} for good: {error}. Nothing of this txid was applied or pinned.",
            Refusal(self.batch.txid, self.batch.attempt, StopKind.REFUSED, self.state, str(error)),
            tuple(item.state for item in outcome.diverts),
        )

    def left_behind(self, error: LeftBehindError) -> StoppedError:
        """Return the error of a user's code that has not returned, from before anything is pinned.

        Recorded, it is no death of its coordinator: the next start tries the txid once more, however often it failed.
        """
        refusal = Refusal(self.batch.txid, self.batch.attempt, StopKind.UNPROCESSABLE, "", str(error))
        return StoppedError(f"{self.batch}: {error}", refusal)

    def _copy(self, store: Target, updates: StagedUpdates, transaction: Transaction) -> None:
        self.state = store.name
        beside_of(store).copy_in(transaction, self.batch, updates)

    def _apply(self, store: Target, updates: StagedUpdates, transaction: Transaction) -> None:
        self.state = store.name
        if beside_of(store).apply_in(transaction, self.batch, updates):
            self._applied.append((store, updates))

    def _runs_deferred(self, store: Target, transaction: Transaction) -> bool:
        self.state = store.name
        return beside_of(store).run_deferred_in(transaction, of_all=False)

    def _check_stored(self, transaction: Transaction) -> None:
        """Look at all of them: what one table's trigger does may take away another one's rows."""
        for store, updates in self._applied:
            self.state = store.name
            beside_of(store).check_stored_in(transaction, self.batch, updates)
        self.state = ""

    def _end(self, transaction: Transaction) -> None:
        act = [store for store, _ in self._applied if self._runs_deferred(store, transaction)]
        self.state = ""  # what could not be told apart is nobody's
        if act:
            beside_of(act[0]).run_deferred_in(transaction, of_all=True)
            self._check_stored(transaction)
        reached(CrashPoint.IN_PIN_TRANSACTION, self.batch.txid)


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
            raise steps.refused(error, outcome) from error
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
            raise StoppedError(
                f"state {state!r} refused {batch} for good: {error}. The txid is pinned: states that have it keep it, "
                "this one's staged rows stay.",
                Refusal(batch.txid, batch.attempt, StopKind.REFUSED, state, str(error)),
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
        return steps.refused(error, outcome)

    def _since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)
