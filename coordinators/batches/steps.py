"""What the states beside the ledger do in the pin's own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.base.user_code import LeftBehindError
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.ledger.base import TransactionStep
from trident.state.capabilities import Transaction, beside_of, names_beside
from trident.state.sifting import Sifted, with_number
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.target import Target


class Steps:
    """What the states beside the ledger do in the pin's own transaction: all copies, all applies, then what these left.

    Knows which state is at work, as the database names none when it refuses.
    """

    def __init__(self, batch: BatchId, stores: Mapping[str, Target], updates: Mapping[str, object]) -> None:
        self.batch = batch
        self.state = ""
        self.is_late = False
        """Whether every state has merged its rows: what is refused then waited for the COMMIT."""
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
            self.applies += [self._end, self._reach]
        self._applied.clear()
        self.state, self.is_late = "", False

    def do(self, transaction: Transaction) -> None:
        """Do all of it in a transaction that is rolled back, with what waits for the COMMIT."""
        for step in [*self.copies, *self.applies[:-1]]:
            step(transaction)

    def do_first(self, transaction: Transaction) -> None:
        """Do it in a transaction that is rolled back, as far as it comes before other states' part in it."""
        for step in [*self.copies, *self.applies[:-2]]:
            step(transaction)

    @property
    def has_states(self) -> bool:
        """Whether any state is beside the ledger."""
        return bool(self._beside)

    @property
    def at_work(self) -> str:
        """Who refused, in words."""
        return f"state {self.state!r}" if self.state else "the ledger's database"

    def refused(self, error: RefusedError, outcome: Outcome, found: Sifted | None) -> StoppedError:
        """Return the error of a transaction that was rolled back as a whole; `found` tells how many rows it is about.

        A state that still has rows may have some to leave out, whatever was before.
        """
        reason = with_number(error, found)
        return StoppedError(
            f"{self.at_work} refused {self.batch} for good: {reason}. Nothing of this txid was applied or pinned.",
            Refusal(self.batch.txid, self.batch.attempt, StopKind.REFUSED, self.state, reason),
            tuple(item.state for item in outcome.diverts if not outcome.updates[item.state].count),
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
        self.is_late = True
        act = [store for store, _ in self._applied if self._runs_deferred(store, transaction)]
        self.state = ""  # what could not be told apart is nobody's
        if act:
            beside_of(act[0]).run_deferred_in(transaction, of_all=True)
            self._check_stored(transaction)

    def _reach(self, _: Transaction) -> None:
        reached(CrashPoint.IN_PIN_TRANSACTION, self.batch.txid)
