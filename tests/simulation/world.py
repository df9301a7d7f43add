"""One seed: coordinators, a ledger, states, a topic and a person in virtual time, with a schedule of faults.

Time is a number of milliseconds in a queue; nothing waits and nothing reads a clock. Everything
that is random comes from the seed: the deployment, every delay, the schedule.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from tests.simulation.accounts import TOPOLOGY, StateAccount, ViolationError
from tests.simulation.actor import Coordinator
from tests.simulation.brokers import SimulatedKafka, make_outbox, make_sink
from tests.simulation.calls import CallFaults
from tests.simulation.commanding import Commands
from tests.simulation.data import SINK, SPOUT, Topic, TopicProcessor, TopicSource, TopicSpout, draw_second_spout
from tests.simulation.faults import (
    BATCH_TIMEOUT_MS,
    EVOLUTION_KINDS,
    HAPPENS_BY_ITSELF,
    LONGEST_MS,
    WORLD_KINDS,
    Fault,
    FaultKind,
    draw_faults,
)
from tests.simulation.hosting import SimulatedTarget, Surroundings
from tests.simulation.invariants import Monitor
from tests.simulation.jobs import Job, Release, Start
from tests.simulation.messages import Drawn, MessageStream, draw_messages, message_spout
from tests.simulation.messages_account import MessagesAccount
from tests.simulation.mishaps import Mishaps
from tests.simulation.person import Person
from tests.simulation.received import Queue, ReceivedRowsAccount, ReceivedStream, draw_received, received_spout
from tests.simulation.scripts import Answer, Progressed
from tests.simulation.sinking import DiedError, SinkMode, draw_mode, draw_sink_faults
from tests.simulation.stores import Circumstances, Ending, LockedError, SimulatedDatabase, make_store
from tests.simulation.turning import with_turn_work
from tests.simulation.versions import ADDED, Versions, draw_home
from tests.simulation.words import logged, outcome
from trident.base.errors import FencedError, RetryableError
from trident.base.identity import Epoch
from trident.coordinators.batches.requests import BuildPlan, RunBatch, WorkTurn
from trident.coordinators.ledger.memory.ledger import MemoryLedger
from trident.coordinators.options import RunOptions
from trident.coordinators.registered import Acquired, TopologySpec
from trident.spouts.base import Limits, LostOffsets, SpoutKind
from trident.state.layout import StateKind

LEASE_MS = 240
BEAT_MS = 80
POLL_MS = 250
LOCK_TIMEOUT_MS = 60
TRANSACTION_TIMEOUT_MS = 400
COMMITS = 21
MOST_EVENTS = 60_000
_MOST_CALLS_AT_ONCE = 4
_MAX_WAITS = (None, None, timedelta(0), timedelta(milliseconds=50))
_START = datetime(2024, 1, 1, tzinfo=UTC)


class Request(NamedTuple):
    """A call on its way, with how often it failed before; `era` says which servers it was sent to."""

    actor: Coordinator
    job: Job
    failures: int
    era: int


class VirtualClock:
    """The world's time as the product's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now / 1000

    def now(self) -> datetime:
        return _START + timedelta(milliseconds=self._world.now)


class World:
    """See the module's text; `run` returns when everything that was produced is accounted for."""

    def __init__(self, seed: int, faults: tuple[Fault, ...] | None = None, *, commits: int = COMMITS) -> None:
        self._seed = seed
        self.rng = rng = random.Random(seed)
        self.now = 0
        self.counts: Counter[str] = Counter()
        self.trace: list[str] | None = None
        self.commits_wanted = commits
        self.mode = draw_mode(seed)
        drawn = draw_faults(random.Random(~seed), commits)
        if self.mode is not SinkMode.NONE:
            drawn = tuple(sorted([*drawn, *draw_sink_faults(seed, commits)]))
        self.faults = drawn if faults is None else faults
        self._queue: list[tuple[int, int, Callable[..., object], tuple[object, ...]]] = []
        self._sequence = 0
        self._events = 0
        self._ids = 0
        self._next_fault = 0
        self.era = 0
        """Goes up when a server is restored: what was on its way to the old one never arrives."""
        self.sealed = False
        self._waits_for_pin = False
        self.hidden: int | None = None
        self._build(rng)
        self.calls = CallFaults(self)
        self.mishaps = Mishaps(self)
        self.person = Person(self)
        self.commands = Commands(self, seed)

    # what there is

    def _build(self, rng: random.Random) -> None:
        drawn = rng.random()
        apart = () if drawn < 0.4 else ("second",) if drawn < 0.8 else ("first", "second")
        self.call = Circumstances()
        self.databases = {"ledger": SimulatedDatabase("ledger", self.call, self._committed)}
        if apart:
            self.databases["apart"] = SimulatedDatabase("apart", self.call, self._committed)
        self.homes = {name: self.databases["apart" if name in apart else "ledger"] for name in ("first", "second")}
        kinds = {name: rng.choice(list(StateKind)) for name in self.homes}
        self.topic = Topic([0] * rng.randint(1, 3))
        kind = rng.choice(list(SpoutKind))
        policy = rng.choice(list(LostOffsets)) if kind is SpoutKind.OPAQUE else LostOffsets.STOP
        self.most_records = rng.randint(2, 5)
        self.spouts = {SPOUT: TopicSpout(kind, Limits(max_records=self.most_records), policy)}
        if len(self.topic.stops) > 1 and (second := draw_second_spout(self._seed)):
            self.spouts |= second
            self.counts["two spouts"] += 1
        received = draw_received(self._seed, self.spouts, lambda: len(self.topic.stops), lambda: self.sealed)
        if received is not None:
            self.spouts[received[0]] = received_spout(self.spouts[received[0]])
            self.counts["a stream that can't be read again"] += 1
        named = draw_messages(self._seed, self.spouts, lambda: len(self.topic.stops), lambda: self.sealed)
        if named is not None and received is None:
            self.spouts[named.name] = message_spout(self.spouts[named.name])
            self.counts["a stream of messages with ids"] += 1
        self.clock = VirtualClock(self)
        self.ledger = MemoryLedger(self.clock, database=self.databases["ledger"], draw_id=lambda _: self._draw_id())
        stores = {
            name: make_store(name, kinds[name], home, home is self.databases["ledger"], self._draw_id)
            for name, home in self.homes.items()
        }
        has_sink = self.mode is not SinkMode.NONE
        self.monitor = Monitor(self.databases["ledger"], self.homes, sink=self.mode)
        self.kafka = SimulatedKafka(self.call, self.monitor.sent) if has_sink else None
        described = {name: {"kind": str(kinds[name])} for name in stores}
        targets: dict[str, SimulatedTarget] = dict(stores)
        if self.kafka is not None:
            self.kafka.when_begun = partial(self.at, TRANSACTION_TIMEOUT_MS)
            ledger = self.databases["ledger"]
            waits = self.mode is SinkMode.OUTBOX
            targets[SINK] = make_outbox(self.kafka, ledger) if waits else make_sink(self.kafka, ledger, self._draw_id)
            described[SINK] = {"kind": "sink"}
        spec = TopologySpec(TOPOLOGY, {name: spout.description() for name, spout in self.spouts.items()}, described)
        told, shares = self.monitor.check_told, len(self.spouts)
        sources: dict[str, TopicSource | ReceivedStream | MessageStream] = {
            name: TopicSource(self.topic, self._before_bounds, told, share, shares)
            for share, name in enumerate(self.spouts)
        }
        if received is not None:
            sources[received[0]] = self._received(*received)
        elif named is not None:
            sources[named.name] = self._named(named)
        self.around = Surroundings(
            spec,
            self.ledger,
            targets,
            sources,
            self.spouts,
            TopicProcessor(list(targets)),
            _options(rng),
            self.clock,
            rng,
        )
        if rng.random() < 0.3:
            self.around = with_turn_work(self.around, self.monitor)
        if rng.random() < 0.3:
            self.around = replace(self.around, due=self._due)
        self.actors: list[Coordinator | None] = [None] * rng.randint(2, 3)
        self.versions = self._with_versions()
        self._paused: dict[int, int] = {}
        self._muted: dict[int, int] = {}

    def _with_versions(self) -> Versions:
        """Return what may be deployed; only a world that evolves has a place for a new state."""
        if not any(fault.kind in EVOLUTION_KINDS for fault in self.faults):
            return Versions(self, None, StateKind.OPAQUE)
        home, kind = draw_home(self._seed, self.databases)
        self.homes[ADDED] = home
        self.monitor.states[ADDED] = StateAccount()
        return Versions(self, home, kind)

    def _received(self, name: str, queue: Queue) -> ReceivedStream:
        """Return the stream that can't be read again; the monitor is told which row is where."""
        account = self.monitor.outside = ReceivedRowsAccount(name, queue)
        return ReceivedStream(name, queue, self._most_of(name), self.monitor.check_told, account.check_told)

    def _named(self, drawn: Drawn) -> MessageStream:
        """Return the stream of messages; the account is told which of them an attempt has processed."""
        account = self.monitor.outside = MessagesAccount(drawn, lambda: self.monitor.account)
        drawn.broker.note = self.note
        return MessageStream(drawn, self._most_of(drawn.name), self.clock, self.monitor.check_told, account)

    def _most_of(self, name: str) -> int:
        most = self.spouts[name].limits.max_records
        assert most is not None
        return most

    @property
    def outside_partitions(self) -> frozenset[int]:
        """The partitions whose records are in the memory of processes."""
        outside = self.monitor.outside
        return frozenset() if outside is None else outside.partitions

    def _draw_id(self) -> str:
        self._ids += 1
        return f"{self._ids:08x}"

    def _due(self, txid: int, batch_time: datetime) -> tuple[str, ...]:
        """Something is due now and then, whether there are records or not."""
        return ("tick",) if txid % 3 == 0 else ()

    def _before_bounds(self) -> int | None:
        """Let a few records arrive before the source answers; a fault may leave a partition out."""
        topic, random_ = self.topic, self.rng.random
        if not self.sealed:
            covered, outside = self.monitor.account.covered, self.outside_partitions
            for partition, stop in enumerate(topic.stops):
                if (
                    partition not in outside
                    and stop - max(covered.get(partition, 0), topic.earliest[partition]) < 4 * self.most_records
                ):
                    topic.stops[partition] += int(random_() * 2 * self.most_records)
        hidden, self.hidden = self.hidden, None
        return hidden

    # time

    def at(self, delay: int, action: Callable[..., object], *arguments: object) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (self.now + delay, self._sequence, action, arguments))

    def run(self) -> None:
        """Run to the end; raises ViolationError at the first broken rule."""
        for number in range(len(self.actors)):
            self.at(int(self.rng.random() * 10), self._start, number)
        self._go_on()
        self.commands.begin()
        while self._queue:
            self._next()
            if self.sealed and self._is_finished():
                break
        self._check_end()

    def _next(self) -> None:
        """Let the next thing happen."""
        self.now, _, action, arguments = heapq.heappop(self._queue)
        action(*arguments)
        self._events += 1
        if self._events > MOST_EVENTS or self.now > LONGEST_MS:
            raise ViolationError(f"no progress: {self.monitor.commits} commits after {self._events} events")

    def stand_still(self, actor: Coordinator, duration: int, *, is_whole: bool) -> None:
        """Let time pass in the middle of a call, while all others go on, and where it is not whole the actor's too."""
        kept, until = replace(self.call), self.now + duration
        if is_whole:
            self.pause(actor, duration)
        while self._queue and self._queue[0][0] <= until:
            self._next()
        self.now = max(self.now, until)
        for name in Circumstances.__slots__:
            setattr(self.call, name, getattr(kept, name))

    def _is_finished(self) -> bool:
        if (
            self.person.is_healing
            or self.monitor.torn
            or any(home.open_transactions for home in self.databases.values())
        ):
            return False
        if self.monitor.outside is not None and not self.monitor.outside.is_settled:
            return False
        self._follow_outside()
        is_sent = not self.monitor.sink.due
        return is_sent and self.monitor.account.decided is None and self.monitor.is_covered(self.topic)

    def _follow_outside(self) -> None:
        """Let the topic end where what was received was planned; all of it is to be done, or a recorded loss."""
        if self.monitor.outside is not None:
            stops = self.monitor.outside.stops(self.monitor.account)
            for partition in self.outside_partitions:
                self.topic.stops[partition] = stops.get(partition, 0)

    def _check_end(self) -> None:
        self._follow_outside()
        self.monitor.check_covered(self.topic)
        if self.monitor.outside is not None:
            is_whole = not self.era and not self.counts["reset carried out"]
            self.monitor.outside.check_end(is_whole=is_whole)
            self.counts += self.monitor.outside.counts()
        self.counts[HAPPENS_BY_ITSELF[0]] += sum(database.timeouts for database in self.databases.values())
        if self.kafka is not None:
            self.monitor.sink.check_read(self.kafka)
        recorded = {(loss.id.partition, loss.start, loss.stop) for loss in self.ledger.losses(TOPOLOGY)}
        if not recorded >= self.monitor.account.losses:
            raise ViolationError(f"losses {self.monitor.account.losses - recorded} are not recorded")

    def note(self, *words: object) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.now:6d} " + " ".join(str(word) for word in words))

    # coordinators

    def _start(self, number: int) -> None:
        if self.actors[number] is not None or self.person.is_healing:
            return
        self._draw_id()
        actor = Coordinator(self, f"c{number}.{self._ids}", self.versions.of(number).around)
        actor.number = number
        self.actors[number] = actor
        self.note(actor.name, "starts")
        actor.begin()

    def send(self, actor: Coordinator, job: Job, failures: int) -> None:
        random_ = self.rng.random
        delay = 1 + int(random_() * 3)
        kind = type(job)
        if kind is RunBatch or kind is WorkTurn:
            delay += int(random_() * 12)
        if failures:
            delay += min(10 << failures, 200)
        elif type(job) is BuildPlan:
            delay += int(job.pause * 1000)
        self.at(delay, self._arrive, Request(actor, job, failures, self.era))

    def calls_at_once(self) -> int:
        return 1 + int(self.rng.random() * _MOST_CALLS_AT_ONCE)

    def _arrive(self, request: Request) -> None:
        """A request reaches the far side: it is executed, unless a fault is in its way."""
        if request.era != self.era:
            return
        fault = self.calls.pick(request.job) if self.calls.armed else None
        if fault is None:
            self.execute(request)
        else:
            self.calls.hit(fault, request)

    def execute(
        self,
        request: Request,
        *,
        ending: Ending = Ending.KEPT,
        failing: RetryableError | None = None,
        waited: int = 0,
        late: int = 0,
    ) -> bool:
        """Make the call and send its answer back; tells whether a transaction took the given ending."""
        actor, job, _, era = request
        if era != self.era:
            return False
        epoch = _epoch_of(actor, job)
        call = self.call
        call.epoch, call.ending, call.failing = epoch, ending, failing
        call.waits, call.times_out = type(job) is not RunBatch, waited >= LOCK_TIMEOUT_MS
        is_refused = type(job) is Start and actor.number >= 0 and self.versions.is_refused(actor.around)
        before = self._durable() if is_refused else None
        try:
            answer = actor.execute(job)
        except LockedError:
            self.at(30, self._execute_later, request, waited + 30, late)
            return False
        except DiedError:
            call.ending, call.failing = Ending.KEPT, None
            return False
        if self.trace is not None:
            self.note(actor.name, logged(job), "->", outcome(answer))
        if before is not None and self._durable() != before:
            raise ViolationError(f"{actor.name} has a version that is refused, and has left a trace")
        self.answer(request, answer, late)
        was_hit = call.ending is not ending
        call.ending, call.failing = Ending.KEPT, None  # a call without a transaction leaves them unused
        return was_hit

    def _durable(self) -> dict[str, dict[str, object]]:
        """Return all that is stored but who has the lease."""
        found = {name: database.backup() for name, database in self.databases.items()}
        durable: dict[str, dict[str, object]] = {
            name: {table: rows for table, rows in tables.items() if rows and table != "trident_fence"}
            for name, tables in found.items()
        }
        return durable if self.kafka is None else {**durable, "cluster": dict(self.kafka.backup())}

    def _execute_later(self, request: Request, waited: int, late: int) -> None:
        self.execute(request, waited=waited, late=late)

    def answer(self, request: Request, answer: Answer | Progressed, late: int = 0) -> None:
        """Let the answer travel back."""
        self.at(1 + late + int(self.rng.random() * 3), self._heard, request, answer)

    def _heard(self, request: Request, answer: Answer | Progressed) -> None:
        actor = request.actor
        if not actor.alive:
            return
        if self._paused and self._still_paused(actor):
            self.at(self._paused[actor.number] - self.now, self._heard, request, answer)
            return
        actor.answered(request.job, answer, request.failures)

    def _still_paused(self, actor: Coordinator) -> bool:
        return self._paused.get(actor.number, 0) > self.now

    def pause(self, actor: Coordinator, duration: int) -> None:
        self._paused[actor.number] = self.now + duration

    def mute(self, actor: Coordinator, duration: int) -> None:
        self._muted[actor.number] = self.now + duration

    def moment(self) -> float:
        return self.now / 1000

    def wake_at(self, actor: Coordinator, moment: float) -> None:
        if moment < actor.alarm:
            actor.alarm = moment
            self.at(1 + int(moment * 1000 - self.now), self._wake, actor, moment)

    def _wake(self, actor: Coordinator, moment: float) -> None:
        if not actor.alive or actor.alarm != moment:
            return
        if self._paused and self._still_paused(actor):
            self.at(self._paused[actor.number] - self.now, self._wake, actor, moment)
        else:
            actor.wake(self.moment())

    def wait_for_lease(self, actor: Coordinator) -> None:
        self.at(POLL_MS, self._begin, actor)

    def _begin(self, actor: Coordinator) -> None:
        if actor.alive:
            actor.begin()

    def took_over(self, actor: Coordinator) -> None:
        assert actor.epoch is not None
        assert actor.loop is not None
        self.note(actor.name, "holds the topology, epoch", actor.epoch.number, "done", actor.loop.state.done)
        self.counts["take-over"] += 1
        if self.monitor.outside is not None:
            self.monitor.outside.took_over(actor.epoch, actor.held[0])
        self.monitor.check_taken_over(actor.epoch, actor.around.stores)
        self.at(BEAT_MS, self._beat, actor)

    def _beat(self, actor: Coordinator) -> None:
        if not actor.alive:
            return
        self.at(BEAT_MS, self._beat, actor)
        if self._still_paused(actor) or self._muted.get(actor.number, 0) > self.now:
            return
        assert actor.epoch is not None
        call = self.call
        call.waits, call.epoch, call.ending, call.failing = False, actor.epoch, Ending.KEPT, None
        try:
            if self.ledger.renew(TOPOLOGY, actor.epoch):
                actor.commands_wait()
        except FencedError as error:
            actor.break_off(error)

    def ended(self, actor: Coordinator, error: BaseException | None) -> None:
        """A coordinator ended: is it one of the errors that may be, and what does a person do about it?"""
        self.note(actor.name, "ends", repr(error))
        if actor.epoch is not None:
            self.at(1, self._arrive, Request(actor, Release(actor.epoch), 0, self.era))
        self.restart(actor.number)
        if self.monitor.outside is not None and error is None and not self.monitor.torn:
            account = self.monitor.account
            self.monitor.outside.check_stopped(actor.held[0], account.entry, account.rows)
        self.person.judge(actor, error)

    def restart(self, number: int) -> None:
        self.actors[number] = None
        self.at(20 + int(self.rng.random() * 150), self._start, number)

    def kill(self, actor: Coordinator) -> None:
        """End a coordinator; what it sent is still on its way."""
        self.note(actor.name, "dies")
        actor.crash()
        self.restart(actor.number)

    def kill_all(self) -> None:
        """End every coordinator; what they sent is still on its way."""
        for actor in self.actors:
            if actor is not None:
                actor.crash()
                self.restart(actor.number)

    # what is written

    def _committed(self, database: SimulatedDatabase, epoch: Epoch | None, touched: Collection[str]) -> None:
        before = self.monitor.commits
        if ADDED in self.homes:
            self._watch_birth(database, epoch, touched)
        else:
            self.monitor.committed(database, epoch, touched)
        if self.monitor.commits != before:
            entry = self.monitor.account.entry
            assert entry is not None
            assert entry.done_plan is not None
            plan = entry.done_plan.plan
            if plan.timers and not any(item.range.width for item in plan.ranges):
                self.counts["a batch without records"] += 1
            self._go_on()

    def _watch_birth(self, database: SimulatedDatabase, epoch: Epoch | None, touched: Collection[str]) -> None:
        """Count births that are late, and whether a txid was pinned without the state when it was announced."""
        monitor = self.monitor
        before, life = monitor.account.entry, monitor.states[ADDED].life
        monitor.committed(database, epoch, touched)
        entry, now = monitor.account.entry, monitor.states[ADDED].life
        if before is not None and entry is not None and ADDED not in before.spec.states and ADDED in entry.spec.states:
            self._waits_for_pin = entry.pin is not None
        if life is None and now is not None and entry is not None and now.birth > entry.birth_txid:
            self.counts["a state was born late"] += 1
            self.counts["a state was born after a txid that was pinned without it"] += self._waits_for_pin
            self._waits_for_pin = False

    def _go_on(self) -> None:
        """Start the faults that waited for this commit; after the last one let everything come to rest."""
        commits = self.monitor.commits
        while self._next_fault < len(self.faults) and self.faults[self._next_fault].after <= commits:
            fault = self.faults[self._next_fault]
            self._next_fault += 1
            self.at(fault.delay, self._fire, fault)
        if commits >= self.commits_wanted and self._next_fault == len(self.faults) and not self.sealed:
            self.at(20, self._seal)
        self.mishaps.keep_backup()

    def _fire(self, fault: Fault) -> None:
        if self.sealed:
            return
        if fault.kind in WORLD_KINDS:
            self.mishaps.happen(fault)
        else:
            self.calls.armed.append(fault)

    def count(self, kind: FaultKind, *words: object) -> None:
        """Say that a fault has really happened."""
        self.counts[kind] += 1
        self.note("***", kind, *words)

    def _seal(self) -> None:
        self.sealed = True
        self.calls.armed.clear()
        if self.monitor.held_when_torn is not None:
            self.kill_all()  # whoever has nothing more to write notices nothing
        self.commands.seal()
        self.note("--- no more records and faults")


def _options(rng: random.Random) -> RunOptions:
    return RunOptions(
        max_pending=rng.randint(1, 3),
        max_tries=6,
        lease=timedelta(milliseconds=LEASE_MS),
        batch_timeout=timedelta(milliseconds=BATCH_TIMEOUT_MS),
        idle_interval=timedelta(milliseconds=20),
        retry_pause=timedelta(milliseconds=10),
        max_wait=rng.choice(_MAX_WAITS),
    )


def _epoch_of(actor: Coordinator, job: Job) -> Epoch | None:
    """Return the epoch that the call is made under, None for the one that raises it."""
    if type(job) is not Start:
        return actor.epoch
    return next((answer.value.epoch for answer in job.answers if isinstance(answer.value, Acquired)), None)
