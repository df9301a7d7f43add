"""One state of the small world that is explored: it can be copied, compared, and asked what may happen next.

Two coordinators, a ledger with one state beside it, a second state apart, one partition, batches of
one record, two at once. A request is executed and heard in one step: whoever dies between the two
loses what it would have heard, which is the same as dying right after. What a dead coordinator
still had on its way either arrived before its death or never; the one that goes on although
another has taken over stands for everything that arrives late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple, cast

from tests.simulation.accounts import TOPOLOGY, ViolationError
from tests.simulation.actor import Coordinator
from tests.simulation.brokers import SimulatedKafka, make_sink
from tests.simulation.data import SINK, SPOUT, Topic, TopicProcessor, TopicSource, TopicSpout
from tests.simulation.hosting import SimulatedTarget, Surroundings
from tests.simulation.invariants import Monitor
from tests.simulation.jobs import Job, Start
from tests.simulation.scene_key import hashed, key_of_job
from tests.simulation.scripts import Answer
from tests.simulation.sinking import SinkMode, reaches_the_sink
from tests.simulation.stores import Circumstances, Ending, SimulatedDatabase, make_store
from tests.simulation.turning import with_turn_work
from tests.simulation.words import told
from tests.state.memory_kafka import End
from trident.base.errors import FatalError, FencedError, RetryableError
from trident.base.identity import Epoch
from trident.coordinators.batches.flight import NEVER, Flight
from trident.coordinators.batches.requests import BuildPlan, CommitStep, Drop, RunBatch, StorePlan, WorkTurn
from trident.coordinators.ledger.memory.ledger import MemoryLedger
from trident.coordinators.options import RunOptions
from trident.coordinators.protocol.step import wants_plan
from trident.coordinators.registered import Acquired, TopologySpec
from trident.spouts.base import Limits, LostOffsets, SpoutKind
from trident.state.layout import StateKind

_NOW = datetime(2024, 1, 1, tzinfo=UTC)
_LEASE = timedelta(seconds=1)
_OPTIONS = RunOptions(max_pending=2, max_tries=9, lease=_LEASE)


class Scope(NamedTuple):
    """How much may happen in one future."""

    records: int = 3
    crashes: int = 2
    take_overs: int = 2
    losses: int = 1
    failures: int = 0
    unheard: int = 0
    late: int = 0
    turn: bool = False
    sink: bool = False
    """Whether a sink that sends before done is in the place of the state apart."""
    ends: int = 0
    """How many commits of the sink are lost, unheard or late."""
    clean_up_every: int = 1_000
    kind: SpoutKind = SpoutKind.OPAQUE
    state: StateKind = StateKind.OPAQUE


class Action(NamedTuple):
    """Something that may happen next; `what` is for people, the rest finds it again in an equal scene."""

    what: str
    actor: int
    job: int
    kind: str

    @property
    def is_fault(self) -> bool:
        return self.kind in ("crash", "loss", "take over")


class Scene:
    """See the module's text."""

    def __init__(self, scope: Scope, *, empty: bool = False) -> None:
        self.left = scope
        """What of the scope is left."""
        self.seconds = 0.0
        self.drawn = 0
        self.edges = 0
        self.writing = ""
        self._actor_keys: list[int | None] = []
        self.call = Circumstances()
        self.databases = {
            "ledger": SimulatedDatabase("ledger", self.call, self._committed),
            "apart": SimulatedDatabase("apart", self.call, self._committed),
        }
        self.homes = {"first": self.databases["ledger"]}
        if not scope.sink:
            self.homes["second"] = self.databases["apart"]
        if empty:
            return
        self.topic = Topic([scope.records])
        self.monitor = Monitor(
            self.databases["ledger"], self.homes, sink=SinkMode.DIRECT if scope.sink else SinkMode.NONE
        )
        self.kafka = SimulatedKafka(self.call, self.monitor.sent)
        self.kafka.waits = True
        self._surround()
        self.requests: list[list[Job]] = [[], []]
        self.actors: list[Coordinator] = []
        for number in (0, 1):
            self.actors.append(self._new_actor(number))
            self._actor_keys.append(None)
            self.actors[number].begin()

    def _surround(self) -> None:
        scope = self.left
        stores: dict[str, SimulatedTarget] = {
            name: make_store(name, scope.state, home, name == "first", self._draw_write)
            for name, home in self.homes.items()
        }
        if scope.sink:
            stores[SINK] = make_sink(self.kafka, self.databases["ledger"], self._draw_write)
        policy = LostOffsets.RESUME_AT_EARLIEST if scope.kind is SpoutKind.OPAQUE else LostOffsets.STOP
        self.around = Surroundings(
            _WITH_SINK if scope.sink else _SPEC,
            MemoryLedger(self, database=self.databases["ledger"], draw_id=self._draw_id),
            stores,
            {SPOUT: TopicSource(self.topic, when_told=self.monitor.check_told)},
            {SPOUT: TopicSpout(scope.kind, Limits(max_records=1), policy)},
            _SENDING if scope.sink else _PROCESSOR,
            _OPTIONS,
            self,
            cast("Random", self),  # it has the one method that edges are drawn with
            clean_up_every=scope.clean_up_every,
        )
        if scope.turn:
            self.around = with_turn_work(self.around, self.monitor)

    def copy(self, acting: int | None = None) -> Scene:
        """Return an equal scene that shares nothing that changes.

        If only one coordinator is going to act there, the other one need not be copied deeply.
        """
        other = Scene(self.left, empty=True)
        other.seconds, other.drawn, other.edges = self.seconds, self.drawn, self.edges
        for name, database in self.databases.items():
            other.databases[name]._tables = database.backup()
        other.topic = self.topic.copy()
        other.monitor = self.monitor.copy(other.databases["ledger"], other.homes)
        other.kafka = self.kafka.copy(other.call, other.monitor.sent)
        other._surround()
        other.requests = [list(jobs) for jobs in self.requests]
        other.actors = []
        for actor in self.actors:
            is_to_act = acting is None or actor.number == acting
            other.actors.append(actor.copy(other, other.around, is_to_act=is_to_act))
            other._actor_keys.append(None if is_to_act else self._actor_keys[actor.number])
        return other

    def forget(self) -> None:
        """Let go of all that refers to each other: nobody collects it, and there are millions of scenes."""
        for each in (*self.around.stores.values(), *self.databases.values(), self.monitor, self.kafka, *self.actors):
            vars(each).clear()
        vars(self).clear()

    # the clock and the dice of the product's code

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return _NOW

    def randrange(self, start: int, stop: int) -> int:
        self.edges += 1
        return self.edges

    def _draw_id(self, _: int) -> str:
        self.drawn += 1
        return f"id{self.drawn}"

    def _draw_write(self) -> str:
        self.writing += "'"
        return self.writing

    # what coordinators ask of their host

    def send(self, actor: Coordinator, job: Job, failures: int) -> None:
        self.requests[actor.number].append(job)

    def calls_at_once(self) -> int:
        return 1

    def moment(self) -> float:
        """Time stands still for loops, so that their timers are equal in equal scenes; `perform` wakes them later."""
        return 0.0

    def wake_at(self, actor: Coordinator, moment: float) -> None:
        """Being idle needs no timer here: a coordinator that rests may be woken at any time."""

    def wait_for_lease(self, actor: Coordinator) -> None:
        actor.begin()

    def took_over(self, actor: Coordinator) -> None:
        assert actor.epoch is not None
        self.monitor.check_taken_over(actor.epoch, self.around.stores)

    def ended(self, actor: Coordinator, error: BaseException | None) -> None:
        if isinstance(error, FencedError):
            holding = self.monitor.tables["trident_fence"][TOPOLOGY]
            if holding.epoch == actor.epoch and not holding.released:
                raise ViolationError(f"c{actor.number} was told that it is fenced, but nobody took over") from error
        elif type(error) is not FatalError or "are gone from the broker" not in str(error):
            raise ViolationError(f"c{actor.number} ended with {error!r}") from error
        self._replace(actor.number)

    def _replace(self, number: int) -> None:
        self.requests[number].clear()
        self.actors[number] = self._new_actor(number)
        self.actors[number].begin()

    def _new_actor(self, number: int) -> Coordinator:
        actor = Coordinator(self, _HOLDER, self.around)
        actor.number = number
        return actor

    def _committed(self, database: SimulatedDatabase, epoch: Epoch | None, touched: Collection[str]) -> None:
        self.monitor.committed(database, epoch, touched)

    # what may happen

    def actions(self) -> Iterator[Action]:
        """Return everything that may happen next."""
        left = self.left
        is_held = bool(self.databases["ledger"].tables.get("trident_fence"))
        for number, actor in enumerate(self.actors):
            name = f"c{number}"
            for index, job in enumerate(self.requests[number]):
                takes_over = type(job) is Start and not job.answers and is_held
                if not takes_over or left.take_overs:
                    yield Action(f"{name}: {told(job)}", number, index, "take over" if takes_over else "run")
                if left.failures and type(job) in (RunBatch, WorkTurn):
                    yield Action(f"{name}: {told(job)} fails", number, index, "fail")
                if left.unheard and type(job) in (StorePlan, Drop, CommitStep):
                    yield Action(f"{name}: {told(job)}, its answer is lost", number, index, "unheard")
                if left.ends and reaches_the_sink(job):
                    for end in _ENDS:
                        yield Action(f"{name}: {told(job)}, its commit: {end.value}", number, index, end.name)
            if left.late and actor.loop is not None and any(map(_has_clock, actor.loop.flights.values())):
                yield Action(f"{name}: what it waits for takes too long", number, 0, "late")
            if is_resting(actor):
                yield Action(f"{name}: asks again what there is", number, 0, "wake")
            if left.crashes and (actor.epoch is not None or _has_called(self.requests[number][0])):
                yield Action(f"{name}: dies", number, 0, "crash")
        if left.losses:
            yield Action("retention removes the first two records", 0, 0, "loss")

    def perform(self, action: Action) -> None:
        """Let it happen; raises ViolationError if a rule is broken by it."""
        left = self.left
        self._actor_keys[action.actor] = None
        match action.kind:
            case "crash":
                self.left = left._replace(crashes=left.crashes - 1)
                self.actors[action.actor].crash()
                self._replace(action.actor)
            case "loss":
                self.left = left._replace(losses=left.losses - 1)
                self.topic.earliest[0] = min(2, self.topic.stops[0])
            case "wake":
                self.actors[action.actor].wake(_LATER)
                jobs = self.requests[action.actor]
                if jobs and type(jobs[-1]) is BuildPlan:
                    self._run(action.actor, len(jobs) - 1)
            case "take over":
                self.left = left._replace(take_overs=left.take_overs - 1)
                self.seconds += 2 * _LEASE.total_seconds()
                self._run(action.actor, action.job)
            case "late":
                self.left = left._replace(late=left.late - 1)
                self.actors[action.actor].wake(_TOO_LATE)
            case "fail":
                self.left = left._replace(failures=left.failures - 1)
                job = self.requests[action.actor].pop(action.job)
                self.actors[action.actor].answered(job, Answer(None, RetryableError("the engine failed")), 0)
            case "unheard":
                self.left = left._replace(unheard=left.unheard - 1)
                self._run(action.actor, action.job, Ending.KEPT_UNHEARD)
            case kind if kind in End.__members__:
                self._lose_end(action, End[kind])
            case _:
                self._run(action.actor, action.job)

    def _lose_end(self, action: Action, end: End) -> None:
        """Let the commit of this call end so, if it makes one; what is late arrives in the middle of the next one."""
        kafka = self.kafka
        kafka.ends = [end]
        self._run(action.actor, action.job)
        if not kafka.ends:
            self.left = self.left._replace(ends=self.left.ends - 1)
            kafka.is_late_in_the_middle = bool(kafka.late)
        kafka.ends = []

    def _run(self, number: int, index: int, ending: Ending = Ending.KEPT) -> None:
        job = self.requests[number].pop(index)
        actor = self.actors[number]
        epoch = actor.epoch
        if type(job) is Start:
            epoch = next((each.value.epoch for each in job.answers if isinstance(each.value, Acquired)), None)
        elif isinstance(job, RunBatch | WorkTurn):
            assert epoch is not None
            self.writing = f"{epoch.number}.{job.batch.attempt}"
        self.call.epoch, self.call.ending = epoch, ending
        answer = actor.execute(job)
        self.call.ending = Ending.KEPT
        actor.answered(job, answer, 0)

    # comparing

    def key(self) -> tuple[object, ...]:
        """Return all that decides what may happen from here on, and nothing else."""
        tables = self.monitor.tables
        entry = tables.get("trident_topology", _EMPTY).get(TOPOLOGY)
        holding = tables.get("trident_fence", _EMPTY).get(TOPOLOGY)
        finished = tables.get("trident_finished", _EMPTY)
        return (
            self.left,
            tuple(self.topic.earliest),
            (holding.epoch, holding.released) if holding else None,
            entry and (entry.progress, *map(hashed, entry.live), entry.pin and entry.pin.attempt, entry.starts),
            entry and entry.done_plan and hashed(entry.done_plan),
            frozenset((key, row.stored.status) for key, row in finished.items()),
            frozenset(tables.get("trident_loss", _EMPTY).items()),
            *(
                frozenset(database.tables.get(table, _EMPTY).items())
                for name, database in self.homes.items()
                for table in (f"state {name} rows", "state positions")
            ),
            *(frozenset(database.tables.get(f"state {name} staging", _EMPTY)) for name, database in self.homes.items()),
            *((self.kafka.key(), frozenset(tables.get(f"state {SINK} blobs", _EMPTY))) if self.left.sink else ()),
            *sorted(map(self._key_of, self.actors)),  # which of the two is which decides nothing
        )

    def _key_of(self, actor: Coordinator) -> int:
        found = self._actor_keys[actor.number]
        if found is None:
            found = self._actor_keys[actor.number] = hash(self._all_of(actor))
        return found

    def _all_of(self, actor: Coordinator) -> tuple[object, ...]:
        book = actor.book
        return (
            actor.epoch,
            actor.loop and actor.loop.state,
            is_resting(actor),
            tuple(key_of_job(job) for job in self.requests[actor.number]),
            tuple(key_of_job(job) for lane in actor.lanes.values() for job in lane),
            book and (book.finished, book.last_txid, hashed(book.snapshot)),
            book and frozenset((txid, hashed(plan)) for txid, plan in book.plans.items()),
        )

    def is_settled(self) -> bool:
        """Tell whether everything is accounted for, or nobody is left who could go on."""
        topic = self.topic
        if self.monitor.is_covered(topic) or topic.earliest[0] == topic.stops[0]:
            return True
        return not any(actor.epoch is not None for actor in self.actors)


def is_resting(actor: Coordinator) -> bool:
    """Tell whether the coordinator waits before it asks again what there is."""
    loop = actor.loop
    return loop is not None and loop.next_plan.at > 0 and wants_plan(loop.state)


def _has_called(job: Job) -> bool:
    """Tell whether the take-over, which comes before anything else, has made a call."""
    assert isinstance(job, Start)
    return bool(job.answers)


def _has_clock(flight: Flight) -> bool:
    return flight.deadline < NEVER


_LATER = _OPTIONS.idle_interval.total_seconds()
_TOO_LATE = _OPTIONS.batch_timeout.total_seconds()
_EMPTY: dict[Any, Any] = {}
_HOLDER = "c"
"""The name of both in the lease, so that scenes are equal in which they have changed places."""
_PROCESSOR = TopicProcessor(["first", "second"])
_SENDING = TopicProcessor(["first", SINK])
_ENDS = (End.ANSWER_LOST, End.REQUEST_LOST, End.LATE, End.SENT_TWICE)
_WITH_SINK = TopologySpec(TOPOLOGY, {SPOUT: {"spout": "simulated"}}, {"first": {}, SINK: {}})
_SPEC = TopologySpec(TOPOLOGY, {SPOUT: {"spout": "simulated"}}, {"first": {}, "second": {}})
