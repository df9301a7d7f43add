"""What one process of a case does: it runs or resets the topology, and may die on its way."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal, cast

import pyarrow as pa

from integration_tests.crash_matrix.cases import Case
from integration_tests.crash_matrix.ends import End, Taken
from integration_tests.crash_matrix.places import Addresses, Place
from integration_tests.crash_matrix.sites import IN_TURN, OF_RELAYS, OF_SESSIONS, TARGET
from tests.coordinators.fakes import ListProcessor, ListSpout, Topic
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed, reached
from trident.base.errors import RetryableError
from trident.base.writes import WriteManifest
from trident.coordinators.batches import pace
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult, TurnRequest
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import Limits, Source, Spout
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.target import OpensTarget, Target

_ACCOUNTS = 9
_PARTITIONS = 2
_LATE = 1
"""Which end is made in the turn, where one is."""
_RENEWALS = (CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL)
_SENT = (CrashPoint.SENDING, CrashPoint.BEFORE_MARKER, CrashPoint.BEFORE_END_OF_TRANSACTION)
_ARRIVES = 0.2
"""In so many seconds what a producer has taken has come to the broker, unless the machine is busy."""


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
    """The first one; one with an end more; one with an end renamed; one whose new state's table is another's."""
    is_refused: bool = False
    """Whether one end can't take what the target brings."""
    takes_over: bool = False
    """Whether it dies in a session that is of no txid."""

    def live(self) -> None:
        """See `Lives`."""
        live(self)

    @property
    def place(self) -> Place:
        """Where ledger and states live."""
        return Place(self.case, self.addresses, self.key)

    @property
    def ends(self) -> tuple[End, ...]:
        """The states and sinks of this version."""
        place = self.place
        match self.version:
            case "first":
                return place.ends()
            case "renamed":
                return (*place.ends()[1:], place.added())
            case _:
                return (*place.ends(), place.added())

    @property
    def options(self) -> RunOptions:
        """How it runs, or decides."""
        return RunOptions(
            until=Until.CAUGHT_UP,
            max_pending=2,
            lease=self.place.lease,
            retry_pause=timedelta(0),
            idle_interval=timedelta(milliseconds=2),
            give_up_after=timedelta(seconds=10),
        )

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
                TopologyRun(_plan(life, death), life.place.ledger(), life.options).run()
            case "reset":
                _reset(life)
            case "retry":
                retry_topology(life.place.topology, life.place.ledger(), TARGET, life.options)
            case "undo":
                _decide(life, WantedDecision(DecisionKind.UNDO, TARGET))
            case "divert":
                _decide(life, WantedDecision(DecisionKind.DIVERT, TARGET, life.place.refuser()))


@dataclass
class _Death:
    """Kills the process at its place, with the target in flight where there is a txid."""

    life: Life
    target_is_processed: threading.Event = field(default_factory=threading.Event)
    visits: int = 0

    def __call__(self, point: CrashPoint, txid: int) -> None:
        if point is not self.life.dies_at or not self._is_meant(point, txid):
            return
        self.visits += 1
        if self.life.takes_over and self.visits < self.life.case.visit:
            return
        if point in _SENT:
            time.sleep(_ARRIVES)  # else the broker may know of no transaction
        os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()  # the signal is on its way

    def _is_meant(self, point: CrashPoint, txid: int) -> bool:
        if point in _RENEWALS:
            return self.target_is_processed.is_set()
        if point in OF_SESSIONS or point in OF_RELAYS:
            # several txids are sent together, under the newest one's number
            return txid == 0 if self.life.takes_over else txid >= TARGET
        return txid in (0, TARGET)


@dataclass
class _Processor(ListProcessor):
    """Stages as the case needs it: by the driver, or by a writer as a Spark task does it."""

    ends: Sequence[End] = ()
    refuser: str = ""
    """Which end gets something of the target that it can't take."""
    stores: Mapping[str, Target] = field(default_factory=dict)
    writes: bool = False

    def process(self, request: ProcessRequest) -> ProcessResult:
        reached(CrashPoint.READING, request.batch.txid)
        result = super().process(request)
        updates = {**result.updates, **self._rows(request)}
        if self.refuser and request.batch.txid == TARGET and self.refuser in result.updates:
            updates[self.refuser] = _too_large(result.updates[self.refuser])
        if self.writes:
            updates = {name: self._written(request, name, given) for name, given in updates.items()}
        return replace(result, updates=updates)

    def _rows(self, request: ProcessRequest) -> dict[str, StagedUpdates]:
        ((_, edges),) = request.edges.items()
        taken = sorted(
            Taken(edge.range.id.partition, offset, *self.topic.partitions[edge.range.id.partition][offset])
            for edge in edges
            for offset in range(edge.range.start, edge.range.stop)
        )
        found: dict[str, StagedUpdates] = {}
        for end in self.ends:
            is_refused = end.name == self.refuser and request.batch.txid == TARGET
            rows = end.staged(taken, is_refused=is_refused)
            if rows is not None:
                found[end.name] = HeldUpdates(rows)
        return found

    def _written(self, request: ProcessRequest, end: str, updates: StagedUpdates) -> StagedUpdates:
        writing = self.stores[end].capabilities.writing
        if writing is None:
            return updates
        assert isinstance(updates, HeldUpdates)
        words = [decode(word) for word in writing.writer(request.batch)(iter(updates.rows.to_batches()))]
        return WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))


@dataclass
class _TurnProcessor(_Processor):
    """Makes what the last end gets in the commit turn: of what the first one has staged, as new values are."""

    @property
    def shown(self) -> frozenset[str]:
        return frozenset({self.ends[0].name})

    def process(self, request: ProcessRequest) -> ProcessResult:
        result = super().process(request)
        late = self.ends[_LATE].name
        updates = {name: given for name, given in result.updates.items() if name != late}
        held = result.updates[late]
        assert isinstance(held, HeldUpdates)
        return replace(result, updates=updates, carried={late: held.rows})

    def process_turn(self, request: TurnRequest) -> dict[str, HeldUpdates]:
        (shown,) = request.staged.values()
        late = self.ends[_LATE].name
        carried = request.carried[late]
        is_refused = self.refuser == late and request.batch.txid == TARGET
        assert is_refused or carried.sort_by("account") == shown.sort_by("account")
        return {late: HeldUpdates(carried if is_refused else shown)}


def _plan(life: Life, death: _Death) -> RunnableTopology:
    topic, ends = life.topic, life.ends
    spout = ListSpout(topic, kind=life.case.spout, limits=Limits(max_records=life.limit))
    failures = life.case.tries - 1 if life.dies_at and life.case.tries > 1 else 0

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid != TARGET:
            return result
        if request.tries <= failures:
            raise RetryableError("an ordinary failure")
        if life.dies_at in _RENEWALS:
            death.target_is_processed.set()
            threading.Event().wait(5)
        return result

    def make_processor(_: Mapping[str, Source], stores: Mapping[str, Target]) -> _Processor:
        names = [end.name for end in ends if not end.is_sink]
        by_tasks = life.case.point is CrashPoint.AFTER_COPY
        refuser = life.place.refuser() if life.is_refused else ""
        kind = _TurnProcessor if in_turn else _Processor
        return kind(topic, names, meddle, ends=ends, refuser=refuser, stores=stores, writes=by_tasks)

    in_turn = life.case.site in IN_TURN
    return RunnableTopology(
        _spec(life),
        {"s": cast(Spout, spout)},
        {end.name: end.open for end in ends},
        make_processor,
        works_in_turn=in_turn,
    )


def _spec(life: Life) -> TopologySpec:
    return TopologySpec(
        life.place.topology, {"s": {"spout": "list"}}, {end.name: end.description() for end in life.ends}
    )


def _too_large(updates: StagedUpdates) -> HeldUpdates:
    """Return the updates with sums that overflow whatever is stored."""
    assert isinstance(updates, HeldUpdates)
    index = updates.rows.schema.get_field_index("total")
    sums = pa.array([2**63 - 1] * updates.rows.num_rows, pa.int64())
    return HeldUpdates(updates.rows.set_column(index, updates.rows.schema.field(index), sums))


def _decide(life: Life, wanted: WantedDecision) -> None:
    decide_topology(_spec(life), _targets(life), life.place.ledger(), wanted, life.options)


def _reset(life: Life) -> None:
    keep_rows = life.case.other
    start = "latest" if keep_rows else None
    ledger = life.place.ledger()
    reset_topology(_spec(life), _targets(life), ledger, keep_rows=keep_rows, start=start, options=life.options)


def _targets(life: Life) -> dict[str, OpensTarget]:
    return {end.name: end.open for end in life.place.ends()}


def _records(partition: int, count: int) -> list[tuple[str, int]]:
    rng = random.Random(partition)
    return [(f"a{rng.randrange(_ACCOUNTS)}", rng.randrange(1, 1000)) for _ in range(count)]
