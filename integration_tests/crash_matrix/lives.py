"""What one process of a case does: it runs or resets the topology, and may die on its way."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Literal, cast

import pyarrow as pa

from integration_tests.crash_matrix.cases import TARGET, Case
from integration_tests.crash_matrix.places import LEASE, Addresses, Place
from tests.coordinators.fakes import LAYOUT, ListProcessor, ListSpout, Topic
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed, reached
from trident.base.errors import RetryableError
from trident.base.writes import WriteManifest
from trident.coordinators.batches import pace
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.deciding import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import Limits, Source, Spout
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.target import State, Target

_ACCOUNTS = 9
_PARTITIONS = 2
_RENEWALS = (CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL)
OPTIONS = RunOptions(
    until=Until.CAUGHT_UP,
    max_pending=2,
    lease=LEASE,
    retry_pause=timedelta(0),
    idle_interval=timedelta(milliseconds=2),
    give_up_after=timedelta(seconds=10),
)


@dataclass(frozen=True, slots=True)
class Life:
    """One process: what it does, how much there is to read, and where it dies, if it does."""

    case: Case
    addresses: Addresses
    key: str
    does: Literal["run", "reset", "retry", "undo", "divert"] = "run"
    each: int = 15
    """Records in each partition of the topic."""
    limit: int = 10
    """Records per batch."""
    dies_at: CrashPoint | None = None
    version: Literal["first", "added", "renamed", "foreign"] = "first"
    """The first one; one with a state more; one with a state renamed; one whose new state's table is another's."""
    is_refused: bool = False
    """Whether the last state can't take the target's sums."""

    @property
    def place(self) -> Place:
        """Where ledger and states live."""
        return Place(self.case, self.addresses, self.key)

    @property
    def states(self) -> tuple[State, ...]:
        """The states of this version."""
        place = self.place
        match self.version:
            case "first":
                return place.states()
            case "renamed":
                return (*place.states()[1:], place.added())
            case _:
                return (*place.states(), place.added())

    @property
    def topic(self) -> Topic:
        """The log; a longer one begins with the same records."""
        return Topic([_records(partition, self.each) for partition in range(_PARTITIONS)])


def live(life: Life) -> None:
    """Do what the life says; a death is a SIGKILL of this very process."""
    pace._CLEAN_UP_EVERY = TARGET  # read whenever a run is made
    death = _Death(life)
    with armed(death):
        match life.does:
            case "run":
                TopologyRun(_plan(life, death), life.place.ledger(), OPTIONS).run()
            case "reset":
                _reset(life)
            case "retry":
                retry_topology(life.place.topology, life.place.ledger(), TARGET, OPTIONS)
            case "undo":
                _decide(life, WantedDecision(DecisionKind.UNDO, TARGET))
            case "divert":
                _decide(life, WantedDecision(DecisionKind.DIVERT, TARGET, life.place.states()[-1].name))


@dataclass
class _Death:
    """Kills the process at its place, with the target in flight where there is a txid."""

    life: Life
    target_is_processed: threading.Event = field(default_factory=threading.Event)

    def __call__(self, point: CrashPoint, txid: int) -> None:
        is_in_flight = point not in _RENEWALS or self.target_is_processed.is_set()
        if point is self.life.dies_at and txid in (0, TARGET) and is_in_flight:
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # the signal is on its way


@dataclass
class _Processor(ListProcessor):
    """Stages as the case needs it: by the driver, or by a writer as a Spark task does it."""

    stores: Mapping[str, Target] = field(default_factory=dict)
    writes: bool = False

    def process(self, request: ProcessRequest) -> ProcessResult:
        reached(CrashPoint.READING, request.batch.txid)
        result = super().process(request)
        if not self.writes:
            return result
        return replace(result, updates={name: self._written(request, name, x) for name, x in result.updates.items()})

    def _written(self, request: ProcessRequest, state: str, updates: StagedUpdates) -> WrittenUpdates:
        writing = self.stores[state].capabilities.writing
        assert writing is not None
        assert isinstance(updates, HeldUpdates)
        words = [decode(word) for word in writing.writer(request.batch)(iter(updates.rows.to_batches()))]
        return WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))


def _plan(life: Life, death: _Death) -> RunnableTopology:
    topic, states = life.topic, life.states
    spout = ListSpout(topic, kind=life.case.spout, limits=Limits(max_records=life.limit))
    failures = life.case.tries - 1 if life.dies_at and life.case.tries > 1 else 0

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid != TARGET:
            return result
        if life.is_refused:
            last = states[-1].name
            result = replace(result, updates={**result.updates, last: _too_large(result.updates[last])})
        if request.tries <= failures:
            raise RetryableError("an ordinary failure")
        if life.dies_at in _RENEWALS:
            death.target_is_processed.set()
            threading.Event().wait(5)
        return result

    def make_processor(_: Mapping[str, Source], stores: Mapping[str, Target]) -> _Processor:
        names = [state.name for state in states]
        by_tasks = life.case.point is CrashPoint.AFTER_COPY
        return _Processor(topic, names, meddle, stores=stores, writes=by_tasks)

    return RunnableTopology(
        _spec(life),
        {"s": cast(Spout, spout)},
        {state.name: partial(state.open, LAYOUT) for state in states},
        make_processor,
    )


def _spec(life: Life) -> TopologySpec:
    return TopologySpec(
        life.place.topology,
        {"s": {"spout": "list"}},
        {state.name: state.description() for state in life.states},
    )


def _too_large(updates: StagedUpdates) -> HeldUpdates:
    """Return the updates with sums that overflow whatever is stored."""
    assert isinstance(updates, HeldUpdates)
    index = updates.rows.schema.get_field_index("total")
    sums = pa.array([2**63 - 1] * updates.rows.num_rows, pa.int64())
    return HeldUpdates(updates.rows.set_column(index, updates.rows.schema.field(index), sums))


def _decide(life: Life, wanted: WantedDecision) -> None:
    states = {state.name: partial(state.open, LAYOUT) for state in life.place.states()}
    decide_topology(_spec(life), states, life.place.ledger(), wanted, OPTIONS)


def _reset(life: Life) -> None:
    states = {state.name: partial(state.open, LAYOUT) for state in life.place.states()}
    keep_rows = life.case.other
    start = "latest" if keep_rows else None
    reset_topology(_spec(life), states, life.place.ledger(), keep_rows=keep_rows, start=start, options=OPTIONS)


def _records(partition: int, count: int) -> list[tuple[str, int]]:
    rng = random.Random(partition)
    return [(f"a{rng.randrange(_ACCOUNTS)}", rng.randrange(1, 1000)) for _ in range(count)]
