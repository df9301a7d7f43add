"""Taking a topology over, in the one order that is safe: fences first, then reading, then deciding."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trident.base.advice import RESET, UNDO
from trident.base.clock import Clock, SystemClock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.outcome import outcome_of_pin
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.batches.stopping import record_stop
from trident.coordinators.decided import Decision, ResetDecision
from trident.coordinators.holding.carrying_out import carry_out, carry_out_reset, check_undo, pinned_batch
from trident.coordinators.holding.standing import check_positions
from trident.coordinators.holding.starts import starts_to_store
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.refusals import decision_needed, refused_by_state, ways_on
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.spouts.base import Source
from trident.state.capabilities import CannotUndoError
from trident.state.target import Target


class LedgerBehindError(MismatchError):
    """A state was fenced by an epoch that the ledger, which gave out the newest one, does not know."""


class TakeOver:
    """One take-over, under an epoch that was raised in the ledger before; used by one thread, once.

    `complete` is all of it, in its order; a person's decision takes the same steps and puts its own between them.
    Every step may be repeated.
    """

    def __init__(
        self,
        ledger: Ledger,
        stores: Mapping[str, Target],
        spec: TopologySpec,
        epoch: Epoch,
        repeater: Repeater,
        clock: Clock | None = None,
    ) -> None:
        self.ledger = ledger
        self.stores = stores
        self.spec = spec
        self.epoch = epoch
        self.repeater = repeater
        self._clock = clock or SystemClock()
        self._read: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """What is open in the ledger, as read last; before every fence is raised nothing may be built on it."""
        assert self._read is not None, "a take-over reads what is open after it has raised every fence"
        return self._read

    def complete(self, sources: Mapping[str, Source]) -> TakenOver:
        """Take over; raises DecisionNeededError while a refusal waits for a person."""
        self.raise_fences()
        self.finish_reset()
        self.finish_decisions()
        waiting = self.where_states_stand()
        self.require_no_refusal(waiting)
        if self._has_unborn():
            self.roll_forward(waiting)
            waiting = self.where_states_stand()
        self.resolve_starts(sources)
        return TakenOver(self.epoch, self.snapshot, waiting)

    def raise_fences(self) -> None:
        """Register or check the topology, raise its epoch in every store, then read what is open.

        Raises `LedgerBehindError` when a state holds a later epoch although nobody has taken the ledger over.
        """
        owner = self._registered().owner
        reached(CrashPoint.AFTER_REGISTRATION)
        for name, store in self.stores.items():
            self.repeater.call(f"preparing state {name!r}", store.prepare)
            reached(CrashPoint.AFTER_PREPARATION)
            self._raise_fence(store, owner)
        self.read()
        reached(CrashPoint.AFTER_READING_LEDGER)

    def read(self) -> None:
        """Read what is open in the ledger now."""
        self._read = self._registered()

    def finish_reset(self) -> None:
        """Finish a recorded reset that was cut off."""
        if self.snapshot.open_reset is not None:
            self.carry_out_reset(self.snapshot.open_reset)

    def carry_out_reset(self, decision: ResetDecision) -> None:
        """Bring every state and the ledger to the decided incarnation, and read what is open then."""
        self.repeater.call("finishing a reset", partial(self._carry_out_reset, decision))

    def finish_decisions(self) -> tuple[Decision, ...]:
        """Carry out what was decided about the pinned txid; returns what was carried out.

        Decisions that are held for the next attempt stay open.
        """
        pinned = pinned_batch(self.snapshot, self.epoch)
        if pinned is None:
            return ()
        about = (pinned.batch.txid, pinned.batch.attempt)
        due = tuple(each for each in self.snapshot.decisions if (each.txid, each.attempt) == about)
        for decision in due:
            self.where_states_stand()
            step = partial(carry_out, self.ledger, self.stores, pinned, decision)
            self.repeater.call(f"carrying out the {decision}", step)
        if due:
            self.read()
        return due

    def where_states_stand(self) -> frozenset[str]:
        """Check every position, and return the states that wait for the pinned batch; see `check_positions`."""
        check = partial(check_positions, self.snapshot, self.stores, self.epoch)
        try:
            return self.repeater.call("checking the states", check)
        except MismatchError:
            self._registered()  # a newer owner may have moved the states on since the ledger was read: it says so here
            raise

    def require_no_refusal(self, waiting: frozenset[str]) -> None:
        """Raise DecisionNeededError while a refusal waits for a person; says what is where and which commands go on."""
        snapshot, refusal = self.snapshot, self.snapshot.refusal
        if refusal is None or not refusal.blocks:
            return
        topology = snapshot.owner.topology
        found = refused_by_state(topology, refusal)
        if snapshot.pin is None or snapshot.pin.txid != refusal.txid:
            text = f"{found} Nothing of it is pinned or applied; txid {snapshot.done} is done."
            raise decision_needed(topology, text, refusal, ways_on(topology, refusal))
        holders = ", ".join(repr(name) for name in sorted(self.stores.keys() - waiting)) or "no state"
        names = ", ".join(repr(name) for name in sorted(waiting)) or "none"
        text = f"{found} It is pinned: {holders} has it, waiting for it: {names}; txid {snapshot.done} is done."
        raise decision_needed(topology, text, refusal, ways_on(topology, refusal, undo=self._undo_way()))

    def roll_forward(self, waiting: frozenset[str]) -> None:
        """Apply the pinned batch to the states that wait for it, record it as done, and read what is open then.

        A state that refuses it is recorded like any other refusal, for a person to decide.
        """
        pinned = pinned_batch(self.snapshot, self.epoch)
        assert pinned is not None
        committer = Committer(self.ledger, self.stores, self.repeater, self._clock)
        try:
            for name in sorted(waiting):
                committer.apply(pinned.batch, name, pinned.pin)
        except StoppedError as stopped:
            told = record_stop(self.ledger, self.snapshot.owner, self.epoch, stopped, self.repeater)
            if told is stopped:
                raise
            raise told from stopped
        committer.done(pinned.batch, outcome_of_pin(pinned.pin))
        self.read()

    def resolve_starts(self, sources: Mapping[str, Source]) -> None:
        """Resolve start policies once per incarnation and spout, before the first plan."""
        starts = starts_to_store(self.snapshot, sources, self.repeater)
        if starts is None:
            return
        owner = self.snapshot.owner
        self.repeater.call("storing the start", lambda: self.ledger.set_starts(owner, self.epoch, starts))
        reached(CrashPoint.AFTER_STARTS)
        self.read()

    def _has_unborn(self) -> bool:
        """Whether a state is new while a txid is pinned without it: it is born when that one is done, not before."""
        pin = self.snapshot.pin
        if pin is None:
            return False
        topology = self.snapshot.owner.topology
        new = [store for name, store in self.stores.items() if pin.of(name) is None]
        return any(self.repeater.call("reading the states", partial(store.position, topology)) is None for store in new)

    def _registered(self) -> Snapshot:
        return self.repeater.call("reading the ledger", lambda: self.ledger.register(self.epoch, self.spec))

    def _raise_fence(self, store: Target, owner: Owner) -> None:
        try:
            self.repeater.call(
                f"raising the fence of state {store.name!r}", lambda: store.raise_fence(owner, self.epoch)
            )
        except FencedError as error:
            # a newer owner says so here
            self.repeater.call("renewing the lease", lambda: self.ledger.renew(owner.topology, self.epoch))
            raise LedgerBehindError(_behind(store, owner, self.epoch)) from error
        reached(CrashPoint.AFTER_FENCE)

    def _carry_out_reset(self, decision: ResetDecision) -> None:
        carry_out_reset(self.ledger, self.stores, self.spec.name, self.epoch, decision)
        self._read = self.ledger.register(self.epoch, self.spec)

    def _undo_way(self) -> str:
        pinned = pinned_batch(self.snapshot, self.epoch)
        assert pinned is not None
        try:
            check_undo(self.stores, pinned)
        except CannotUndoError as error:
            return f"(an undo is not possible: {error})"
        txid = pinned.batch.txid
        return f"{UNDO} {txid}  (every state goes back to txid {txid - 1}, the batch is read again)"


def _behind(store: Target, owner: Owner, epoch: Epoch) -> str:
    return (
        f"state {store.name!r} knows a later epoch than {epoch.number}, the latest that the ledger of topology "
        f"{owner.topology!r} has given out: the ledger was lost or restored from a backup, or another ledger has a "
        "topology of this name with this state. Nothing was changed. Restore the ledger and all states to the same "
        f"point, or {RESET}."
    )
