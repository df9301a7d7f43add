"""Taking a topology over, in the one order that is safe: fences first, then reading, then deciding."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from trident.base.clock import Clock, SystemClock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RetryableError
from trident.base.identity import Epoch, Owner
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.log import log_losses
from trident.coordinators.batches.outcome import outcome_of_pin
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.batches.stopping import record_stop
from trident.coordinators.decided import Decision, ResetDecision
from trident.coordinators.gone import Gone
from trident.coordinators.holding.at_rest import require_not_forgotten_meanwhile, require_not_killed
from trident.coordinators.holding.carrying_out import (
    UnfinishedError,
    carry_out,
    carry_out_reset,
    check_undo,
    due_decisions,
    pinned_batch,
)
from trident.coordinators.holding.evolving import grow, has_coming, tell_columns
from trident.coordinators.holding.fencing import prepare, raise_fence
from trident.coordinators.holding.naming import require_names
from trident.coordinators.holding.places import require_one_place
from trident.coordinators.holding.plain_stores import PlainStores
from trident.coordinators.holding.refused import refused_start
from trident.coordinators.holding.renaming import as_they_lie, follow, under_other_names
from trident.coordinators.holding.standing import (
    Standing,
    known_without_position,
    require_kept,
    require_known,
    where_they_stand,
)
from trident.coordinators.holding.starts import nothing_wrong, starts_to_store
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.holding.telling import can_not_be_kept, of_what_comes_back, say_new
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.rules.forgetting import require_not_forgotten
from trident.coordinators.ledger.rules.topics import named_topics
from trident.coordinators.planned import StartPosition
from trident.coordinators.refusals import undo_way
from trident.coordinators.registered import Birth, Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater, Result
from trident.spouts.base import Source
from trident.state.capabilities import CannotUndoError, keeps_rows
from trident.state.positions import Position
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")


class TakeOver:
    """One take-over, under an epoch that was raised in the ledger before; used by one thread, once.

    `complete` is all of it, in its order; a person's decision takes the same steps and puts its own between them.
    Every step may be repeated. The given description is in force from `register` on, which comes after all that may
    be refused: whoever is refused leaves the version before as it was.
    """

    def __init__(
        self,
        ledger: Ledger,
        stores: Mapping[str, Target],
        spec: TopologySpec,
        epoch: Epoch,
        repeater: Repeater,
        clock: Clock | None = None,
        plain: Mapping[str, Target] | None = None,
        waited_for: int | None = None,
    ) -> None:
        """`plain` are those of the targets that stand nowhere; `waited_for` had the lease when a wait for it began."""
        self.ledger = ledger
        self._named = stores
        self.stores = stores
        """From a look until the fences are raised, those that lie under a former name stand for the others."""
        self.plain = PlainStores(plain or {}, spec.level, repeater)
        self.spec = spec
        self.epoch = epoch
        self.repeater = repeater
        self._clock = clock or SystemClock()
        self._waited_for = waited_for
        self._read: Snapshot | None = None
        self._owners: dict[str, Owner] = {}  # whose each state is by its own word, which a reset may change
        self._is_registered = False

    @property
    def snapshot(self) -> Snapshot:
        """What is open in the ledger, as read last; before every fence is raised nothing may be built on it."""
        assert self._read is not None, "a take-over reads what is open after it has raised every fence"
        return self._read

    def complete(self, sources: Mapping[str, Source], check: Callable[[], None] = nothing_wrong) -> TakenOver:
        """Take over; raises DecisionNeededError while a refusal waits for a person.

        `check` raises what else is wrong with this version: before a fence is raised where it brings something new, and
        of each before it replaces the one that is stored.
        """
        self._look_at_all(sources, check)
        self.raise_fences()
        if self.snapshot.open_reset is not None:
            self.finish_reset()
            self.plain.check(self.snapshot)  # what was left out while it was open
        self.finish_decisions()
        standing = self.where_states_stand()
        self.require_no_refusal(standing)
        if self._has_unborn():
            self.roll_forward(standing)
            standing = self.where_states_stand()
        starts = starts_to_store(self.snapshot, sources, self.repeater, self._topics, self.epoch.line)
        check()
        self.register()
        self._bear(standing, self.plain.births(self.snapshot))
        self.plain.own(self.snapshot.owner, self.epoch)
        self._store_starts(starts)
        return TakenOver(self.epoch, self.snapshot, standing.waiting)

    def look(
        self, *, ledger_lost: bool = False, registers: bool = False
    ) -> tuple[Snapshot, Mapping[str, Position | None]]:
        """Return what the ledger and every state say, and raise what they would refuse; nothing is changed.

        Raises `MismatchError` when a state is another ledger's, unless a person has said that this one was lost.
        """
        topology = self.spec.name
        seen = self.repeater.call("looking at the ledger", lambda: self.ledger.look(self.epoch, self.spec))
        require_not_forgotten(seen)
        tell_columns(self._named, seen)
        self.stores = as_they_lie(self._named, seen, self.repeater)
        if ledger_lost:
            self.stores = under_other_names(self.stores, seen, self.spec, self.ledger, self.epoch, self.repeater)
        if registers:
            require_not_killed(self.ledger, seen, self.epoch, self.repeater)
            require_not_forgotten_meanwhile(topology, seen.added.forgotten_in, self._waited_for)
        known = {birth.state for birth in seen.births}
        positions: dict[str, Position | None] = {}
        for name, store in self.stores.items():
            look = partial(store.look, topology, registers and name not in known)
            with of_what_comes_back(seen, name):
                positions[name] = self.repeater.call(f"looking at state {name!r}", look)
        noted = self.plain.look(topology)
        require_one_place({**self.stores, **self.plain.stores}, self.repeater)
        self._owners = {name: found.owner for name, found in positions.items() if found is not None}
        if not ledger_lost:  # else a person has said that what the ledger does not know was there
            self.unless_fenced(partial(require_known, seen, {**positions, **noted}))
            require_names(self.spec, seen.added, positions)
        reached(CrashPoint.AFTER_LOOKING)
        return seen, positions

    def unless_fenced(self, check: Callable[[], Result]) -> Result:
        """Hold what was looked at together; where it disagrees because a newer owner went on meanwhile, say that."""
        try:
            return check()
        except MismatchError:
            self._require_newest()
            raise

    def as_registered(self, seen: Snapshot) -> None:
        """Take over what the ledger knows: what this version adds waits for its first start.

        A person's decision about a txid must not put a version in force that has never run.
        """
        self.stores = self._described(self.stores, seen)

    def raise_fences(self) -> None:
        """Raise the topology's epoch in every store, then read what is open.

        Whoever calls it has looked before. Raises `LedgerBehindError` for a later epoch that the ledger has not given.
        """
        owner = self._now().owner
        for name, store in self.stores.items():
            raise_fence(store, owner, self.epoch, self.repeater, self._require_newest)
            if store is not self._named[name]:
                lying = self._owners.get(name, owner)
                follow(self._named[name], store.name, lying, self.epoch, self.repeater, self._require_newest)
        self.stores = {name: self._named[name] for name in self.stores}
        self.plain.raise_fences(owner, self.epoch, self._require_newest)
        self.read()
        reached(CrashPoint.AFTER_READING_LEDGER)

    def read(self) -> None:
        """Read what is open in the ledger now."""
        self._read = self._now()

    def register(self) -> None:
        """Store the given description, and read what is open then; before anything that it adds is planned or born."""
        self._read = self.repeater.call("registering", lambda: self.ledger.register(self.epoch, self.spec))
        self._is_registered = True
        reached(CrashPoint.AFTER_REGISTRATION)
        grow(self.stores, self._read, lambda store: prepare(store, self.repeater))

    def settle(self, seen: Snapshot) -> tuple[Decision, ...]:
        """Raise every fence, then finish what was decided before and cut off; returns the decisions among it.

        With this every decision of a person begins, once what was seen has been checked.
        """
        self.as_registered(seen)
        self.raise_fences()
        self.finish_reset()
        return self.finish_decisions()

    def finish_reset(self) -> None:
        """Finish a recorded reset that was cut off.

        Raises `MismatchError`, with the reset that takes its place, where the rows that it was to keep are gone.
        """
        if self.snapshot.open_reset is not None:
            self.carry_out_reset(self.snapshot.open_reset)

    def carry_out_reset(self, decision: ResetDecision) -> None:
        """Bring every state and the ledger to the decided incarnation, and read what is open then.

        Those that the stored description names are born there; what this version adds is none of them.
        """
        stores = self._described({**self.stores, **self.plain.stores}, self.snapshot)
        self.repeater.call("finishing a reset", partial(self._carry_out_reset, stores, decision))

    def finish_decisions(self, *, counts: bool = True) -> tuple[Decision, ...]:
        """Carry out what was decided about the pinned txid; returns what was carried out.

        Decisions that are held for the next attempt stay open. See `where_states_stand` for `counts`.
        """
        pinned, due = pinned_batch(self.snapshot, self.epoch), due_decisions(self.snapshot)
        if pinned is None:
            return ()
        for decision in due:
            self.where_states_stand(counts=counts)
            step = partial(carry_out, self.ledger, self.stores, pinned, decision)
            self.repeater.call(f"carrying out the {decision}", step)
        if due:
            self.read()
        return due

    def where_states_stand(self, *, counts: bool = True) -> Standing:
        """Check every position, and return which states wait for the pinned batch and which are still to be born.

        See `where_they_stand` for what is refused; nothing has been changed then. States that the pinned batch is for
        are registered where that was cut off; what is new is born once the description is stored. Without `counts` the
        rows are taken for what they should be: a person says so, and they are counted anew when that is carried out.
        """
        check = partial(self.repeater.call, "checking the states", partial(self._standing, counts=counts))
        standing = self.unless_fenced(check)
        reached(CrashPoint.AFTER_CHECKING)
        if self.snapshot.pin is not None:
            self._bear(standing)
        return standing

    def held_against(self, snapshot: Snapshot, positions: Mapping[str, Position | None]) -> Standing:
        """Hold what was found of the states against the ledger; see `where_they_stand`."""
        return where_they_stand(snapshot, positions, self.unplaced(snapshot, positions))

    def unplaced(self, snapshot: Snapshot, positions: Mapping[str, Position | None]) -> frozenset[str]:
        """Return the states that the ledger knows whose rows are there and whose position is not; asks those only."""
        without = known_without_position(snapshot, positions)
        asked = {name: partial(keeps_rows, self.stores[name], snapshot.owner.topology) for name in without}
        return frozenset(name for name in asked if self.repeater.call(f"finding rows of state {name!r}", asked[name]))

    def positions(self) -> dict[str, Position | None]:
        """Return where every state stands by its own word."""
        return {name: store.position(self.spec.name) for name, store in self.stores.items()}

    def require_no_refusal(self, standing: Standing) -> None:
        """Raise DecisionNeededError while a refusal waits for a person; says what is where and which commands go on."""
        if self.snapshot.refusal is not None and self.snapshot.refusal.blocks:
            raise refused_start(self.snapshot, self.spec.received, standing.waiting, self._undo_way)

    def roll_forward(self, standing: Standing) -> None:
        """Apply the pinned batch to the states that wait for it, record it as done, and read what is open then.

        A state that refuses it is recorded like any other refusal, for a person to decide.
        """
        pinned = pinned_batch(self.snapshot, self.epoch)
        assert pinned is not None
        committer = Committer(self.ledger, self.stores, self.repeater, self._clock)
        try:
            for name in sorted(standing.waiting):
                committer.apply(pinned.batch, name, pinned.pin)
        except StoppedError as stopped:
            received = self.spec.received
            plan = pinned.pin.plan
            told = record_stop(self.ledger, self.snapshot.owner, self.epoch, stopped, self.repeater, received, plan)
            if told is stopped:
                raise
            raise told from stopped
        committer.done(pinned.batch, outcome_of_pin(pinned.pin))
        log_losses(self.spec.name, pinned.pin.plan)
        self.read()

    def _store_starts(self, starts: tuple[StartPosition, ...] | None) -> None:
        """Store start policies as resolved, once per incarnation and spout, before the first plan."""
        if starts is None:
            return
        owner = self.snapshot.owner
        self.repeater.call("storing the start", lambda: self.ledger.set_starts(owner, self.epoch, starts))
        for stream, topic in self.snapshot.added.topics:
            _log.info("topology=%s stream %r reads topic %r from now on", self.spec.name, stream, topic)
        reached(CrashPoint.AFTER_STARTS)
        self.read()

    def _look_at_all(self, sources: Mapping[str, Source], check: Callable[[], None]) -> None:
        """Refuse, before anything is changed, what the take-over would refuse after it had begun.

        New sources are asked as well, and last, since a queue is taken from then: a topic that is not there is mostly a
        name that is misspelt.
        """
        seen, positions = self.look(registers=True)
        if seen.added.is_something:
            check()
        if seen.open_reset is None:  # else some states may have followed it, others not
            self.unless_fenced(partial(self.held_against, seen, positions))
            self.unless_fenced(partial(self.plain.check, seen))
        starts_to_store(seen, sources, self.repeater, self._topics, self.epoch.line)

    @property
    def _topics(self) -> dict[str, tuple[str, ...]]:
        return {name: named_topics(what) for name, what in self.spec.spouts.items()}

    def _has_unborn(self) -> bool:
        """Whether a state, or a value of one, is new while a txid is pinned without it: born when that one is done."""
        pin = self.snapshot.pin
        if pin is None:
            return False
        if has_coming(self.snapshot):
            return True
        new = [name for name in self.stores if pin.of(name) is None]
        positions = self.repeater.call("reading the states", self.positions)
        return any(positions[name] is None for name in new)

    def _standing(self, *, counts: bool) -> Standing:
        standing, pin = self.held_against(self.snapshot, self.positions()), self.snapshot.pin
        pinned = None if pin is None else pin.txid
        for name, store in self.stores.items():
            if counts and store.capabilities.counting is not None:
                with of_what_comes_back(self.snapshot, name):
                    store.capabilities.counting.check_rows(self.snapshot.owner, self.epoch, pinned)
        return standing

    def _bear(self, standing: Standing, plain: tuple[Birth, ...] = ()) -> None:
        """Record births in the ledger before anything can be in those states; one that is cut off is repeated."""
        owner, births = self.snapshot.owner, (*standing.births, *plain)
        if births:
            self.repeater.call("recording births", lambda: self.ledger.set_births(owner, self.epoch, births))
            reached(CrashPoint.AFTER_RECORDING_BIRTHS)
            self.read()
        for name in sorted(standing.unborn):
            register = partial(self.stores[name].register, owner, self.epoch, self.snapshot.done)
            self.repeater.call(f"registering state {name!r}", register)
            reached(CrashPoint.AFTER_BIRTH)
            say_new(self.snapshot, name, self.stores[name])
        for birth in plain:
            say_new(self.snapshot, birth.state, self.plain.stores[birth.state])

    def _now(self) -> Snapshot:
        return self.repeater.call("reading the ledger", self._stored)

    def _stored(self) -> Snapshot:
        if self._is_registered:
            return self.ledger.snapshot(self.epoch, self.spec.name)
        return self.ledger.look(self.epoch, self.spec)  # nobody may have run it before

    def _described(self, stores: Mapping[str, Target], seen: Snapshot) -> dict[str, Target]:
        """Return those that the stored description names, which may be fewer than are given."""
        added = () if self._is_registered else seen.added.states
        return {name: store for name, store in stores.items() if name not in added}

    def _require_newest(self) -> None:
        """Raise FencedError if a newer owner took over, who may have moved on what this one has read."""
        self.repeater.call("renewing the lease", lambda: self.ledger.renew(self.spec.name, self.epoch))

    def _carry_out_reset(self, stores: Mapping[str, Target], decision: ResetDecision) -> None:
        try:
            if decision.states == "adopt":
                self.plain.check_kept(self.snapshot)
                positions = self.positions()
                require_kept(self.snapshot, positions, decision, self.unplaced(self.snapshot, positions))
            carry_out_reset(self.ledger, stores, self.spec.name, self.epoch, decision)
        except MismatchError as error:
            if decision.states != "adopt" or isinstance(error, UnfinishedError):
                raise
            raise MismatchError(can_not_be_kept(decision, error)) from error
        self._read = self._stored()

    def _undo_way(self) -> str:
        pinned = pinned_batch(self.snapshot, self.epoch)
        assert pinned is not None
        try:
            check_undo(self.stores, pinned)
        except CannotUndoError as error:
            return f"(an undo is not possible: {error})"
        except RetryableError:
            pass  # somebody holds rows just now: whoever decides tries it again
        return undo_way(pinned.batch.txid, Gone.of(self.spec.received, pinned.pin.plan.ranges))
