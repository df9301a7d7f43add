"""One run of a topology, from opening to letting go: open, take the lease, take over, run, give back."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from trident.base.clock import Clock, SystemClock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError
from trident.base.identity import Epoch
from trident.coordinators.batches.committer import Committer, outcome_of_pin
from trident.coordinators.batches.processor import Processor
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.threads import BatchCoordinator, Parts
from trident.coordinators.holding.lease import Heartbeat, take_lease
from trident.coordinators.holding.retrying import Repeater
from trident.coordinators.holding.takeover import (
    TakenOver,
    check_refusal,
    fence_and_finish,
    first_step,
    where_states_stand,
)
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.state import ProtocolState
from trident.coordinators.records import StartPosition, TopologySpec
from trident.spouts.base import Source, Spout, Start, StartAt
from trident.state.capabilities import names_beside
from trident.state.layout import StateLayout
from trident.state.target import LedgerDatabase, State, Target

_log = logging.getLogger("trident.coordinator")

ProcessorFactory = Callable[[Mapping[str, Source], Mapping[str, Target]], Processor]


@dataclass(frozen=True)
class RunPlan:
    """What a compiled topology hands to its coordinator."""

    spec: TopologySpec
    spouts: Mapping[str, Spout]
    states: Mapping[str, tuple[State, StateLayout]]
    make_processor: ProcessorFactory


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did: the last txid that was done before it, and when it ended."""

    first_done: int
    last_done: int

    @property
    def batches(self) -> int:
        """How many txids this run finished."""
        return self.last_done - self.first_done


class Session:
    """One run of a topology in this process; `run` is called once, `stop` from anywhere."""

    def __init__(self, plan: RunPlan, ledger: Ledger, options: RunOptions, clock: Clock | None = None) -> None:
        self._plan = plan
        self._ledger = ledger
        self._options = options
        self._clock = clock or SystemClock()
        self._stopping = threading.Event()
        self._stop_requested = threading.Event()
        self._repeater = Repeater(options.give_up_after, self._stopping)
        self._coordinator: BatchCoordinator | None = None

    def stop(self) -> None:
        """Ask for a graceful end: live batches are finished, nothing new is planned. Any number of times."""
        self._stop_requested.set()
        if self._coordinator is None:
            self._stopping.set()
        else:
            self._coordinator.stop()

    def run(self) -> RunSummary:
        """Run until the end that the options name; raises the error that ended it earlier."""
        topology = self._plan.spec.name
        with ExitStack() as stack:
            self._ledger.open()
            stack.callback(self._ledger.close)
            sources, stores = open_parts(self._plan.spouts, self._plan.states, self._ledger.database, stack)
            epoch = take_lease(
                self._ledger,
                topology,
                self._options.lease,
                self._options.on_running,
                self._stopping,
                self._repeater,
            )
            stack.callback(self._ledger.release, topology, epoch)
            heartbeat = Heartbeat(self._ledger, topology, epoch, self._options.lease, self._fenced)
            with heartbeat:
                return self._run_held(epoch, sources, stores)

    def _run_held(self, epoch: Epoch, sources: Mapping[str, Source], stores: Mapping[str, Target]) -> RunSummary:
        taken = take_over_topology(self._ledger, stores, self._plan.spec, epoch, self._repeater)
        taken = with_starts(self._ledger, self._plan.spec, taken, sources, self._repeater)
        coordinator = self._coordinator = self._build(taken, sources, stores)
        if self._stop_requested.is_set():
            coordinator.stop()
        coordinator.run()
        return RunSummary(taken.snapshot.done, coordinator.done)

    def _fenced(self, error: FencedError) -> None:
        self._stopping.set()
        if self._coordinator is not None:
            self._coordinator.break_off(error)

    def _build(self, taken: TakenOver, sources: Mapping[str, Source], stores: Mapping[str, Target]) -> BatchCoordinator:
        snapshot = taken.snapshot
        book = PlanBook(snapshot)
        committer = Committer(self._ledger, stores, self._repeater)
        processor = self._plan.make_processor(sources, stores)
        parts = Parts(
            ledger=self._ledger,
            sources=sources,
            stores=stores,
            runner=BatchRunner(self._plan.spouts, sources, stores, processor, snapshot.decisions),
            plans=PlanMaker(self._ledger, self._plan.spouts, sources, book, taken.epoch, self._clock),
            book=book,
            committer=committer,
            repeater=self._repeater,
            stopping=self._stopping,
        )
        first = first_step(taken, fresh_state(taken, stores, self._options))
        coordinator = BatchCoordinator(parts, first, self._options, self._clock, random.SystemRandom())
        for item in first[0].live:
            assert snapshot.pin is not None
            coordinator.adopt(item.batch, outcome_of_pin(snapshot.pin))
        _log.info(
            "topology=%s incarnation=%s epoch=%d done=%d pinned=%s",
            snapshot.owner.topology,
            snapshot.owner.incarnation,
            taken.epoch.number,
            snapshot.done,
            snapshot.pin.txid if snapshot.pin else None,
        )
        return coordinator


def fresh_state(taken: TakenOver, stores: Mapping[str, Target], options: RunOptions) -> ProtocolState:
    """Return the protocol of a new owner with nothing live; tries of attempts that were live keep counting."""
    snapshot = taken.snapshot
    return ProtocolState(
        owner=snapshot.owner,
        epoch=taken.epoch,
        states=frozenset(stores),
        beside=names_beside(stores),
        max_pending=options.max_pending,
        max_tries=options.max_tries,
        done=snapshot.done,
        last_attempt=snapshot.last_attempt,
        tries=tuple((plan.txid, plan.tries) for plan in snapshot.live),
    )


def with_starts(
    ledger: Ledger, spec: TopologySpec, taken: TakenOver, sources: Mapping[str, Source], repeater: Repeater
) -> TakenOver:
    """Resolve start policies once per incarnation and spout, before the first plan."""
    known = taken.snapshot.starts or ()
    policy = start_policy(taken.snapshot.start)
    missing = [name for name in sources if not any(item.spout == name for item in known)]
    if taken.snapshot.starts is not None and not missing:
        return taken
    added = [start for name in missing for start in _resolve(name, sources[name], policy, repeater)]
    starts = (*known, *added)
    repeater.call("storing the start", lambda: ledger.set_starts(taken.snapshot.owner, taken.epoch, starts))
    reached(CrashPoint.AFTER_STARTS)
    snapshot = repeater.call("reading the ledger", lambda: ledger.register(taken.epoch, spec))
    return TakenOver(taken.epoch, snapshot, taken.waiting)


def _resolve(name: str, source: Source, policy: Start | None, repeater: Repeater) -> list[StartPosition]:
    bounds = repeater.call(f"asking where stream {name!r} starts", lambda: source.starts(policy))
    return [StartPosition(name, item.id, item.topic_id, item.earliest) for item in bounds]


def open_parts(
    spouts: Mapping[str, Spout],
    states: Mapping[str, tuple[State, StateLayout]],
    database: LedgerDatabase,
    stack: ExitStack,
) -> tuple[dict[str, Source], dict[str, Target]]:
    """Open every spout and state; the stack closes them again, also when a later one fails to open."""
    sources: dict[str, Source] = {}
    for name, spout in spouts.items():
        sources[name] = spout.open(name)
        stack.callback(sources[name].close)
    stores: dict[str, Target] = {}
    for name, (state, layout) in states.items():
        stores[name] = state.open(layout, database)
        stack.callback(stores[name].close)
    return sources, stores


def take_over_topology(
    ledger: Ledger, stores: Mapping[str, Target], spec: TopologySpec, epoch: Epoch, repeater: Repeater
) -> TakenOver:
    """Raise every fence, finish recorded decisions, check every position; see `coordinators.takeover`.

    Raises DecisionNeededError while a refusal waits for a person.
    """
    snapshot, _ = fence_and_finish(ledger, stores, spec, epoch, repeater)
    waiting = where_states_stand(ledger, stores, spec, snapshot, epoch, repeater)
    check_refusal(snapshot, stores, epoch, waiting)
    return TakenOver(epoch, snapshot, waiting)


def start_policy(text: str | None) -> Start | None:
    """Return the policy that a person named: "earliest", "latest" or an ISO time, None for none; else ValueError."""
    if text is None or text in tuple(StartAt):
        return None if text is None else StartAt(text)
    return datetime.fromisoformat(text)
