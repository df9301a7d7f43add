"""A simulated coordinator: the product's loop and the product's work, with lanes in the place of threads.

Each request that the loop makes is performed and answered when its host says so. What a thread pool
is in the product is a lane here: plans and commits one by one, processing side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from tests.simulation import scripts
from tests.simulation.data import TopicSource
from tests.simulation.hosting import Host, Surroundings
from tests.simulation.jobs import LANES, ONE_BY_ONE, START, Job, Release, Start
from tests.simulation.messages import MessagesHere, ReadsMessages
from tests.simulation.received import ReceivedHere
from tests.simulation.scripts import Answer, Progressed, failed
from trident.base.errors import FatalError, LeaseHeldError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import Epoch
from trident.coordinators.acking.edges import BatchEdges, draw_edges
from trident.coordinators.batches.backlogs import Backlogs
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.flight import NEVER
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.outcome import outcome_of_pin
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.processor import Processor
from trident.coordinators.batches.requests import Lane, RecordStop, Request, RunBatch, WorkTurn
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.work import Parts, Work
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.planned import Plan
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.transitions import Status
from trident.coordinators.registered import Keep, Lease
from trident.coordinators.retrying import Repeater, Result
from trident.state.capabilities import names_relaying

_NEVER_REPEATED = (RunBatch, WorkTurn, RecordStop, Release)


class Coordinator:
    """One process that wants to run the topology, from its start until it ends or dies."""

    number: int
    """Its place at its host, which sets it."""

    def __init__(self, host: Host, name: str, around: Surroundings) -> None:
        self.host = host
        self.name = name
        self.around = around
        self.sources = _opened(around, name)
        self.alive = True
        self.is_dead = False
        """Whether its process is gone; one that has merely ended may still be in the middle of a call."""
        self.alarm = NEVER
        """The moment at which its host is going to wake it."""
        self.epoch: Epoch | None = None
        self.loop: Loop | None = None
        self.book: PlanBook | None = None
        self.work: Work | None = None
        self.lease = Lease(name, around.options.lease)
        self.lanes: dict[str, deque[Job]] = {lane: deque() for lane in ONE_BY_ONE}
        self.busy: set[str] = set()
        """Lanes whose first job is on its way."""
        self.is_recording = False
        """Whether why it stops is on its way to the ledger; nothing else counts any more."""

    def _equip(self) -> None:
        around, once = self.around, _Once()
        spouts, sources = around.spouts, self.sources
        assert self.book is not None
        assert self.epoch is not None
        self.work = Work(
            Parts(
                around.ledger,
                sources,
                around.stores,
                BatchRunner(spouts, sources, around.stores, self._processor(), around.clock),
                PlanMaker(around.ledger, spouts, sources, self.book, self.epoch, around.clock, around.due),
                self.book,
                Committer(around.ledger, around.stores, once, around.clock),
                once,
                once,
                Keep(5, around.options.lease * 0),
                around.turn,
            )
        )

    def _processor(self) -> Processor:
        """Return the processor of all, which reads messages, if there are any, where this process has them."""
        processor = self.around.processor
        named = [source for source in self.held if isinstance(source, MessagesHere)]
        return ReadsMessages(processor, named[0]) if named else processor

    def copy(self, host: Host, around: Surroundings, *, is_to_act: bool = True) -> Coordinator:
        """Return an equal coordinator in equal surroundings, for a host that tries several futures.

        One that is not to act shares what changes with the one it is a copy of; it may only be copied again.
        """
        other = object.__new__(Coordinator)
        other.__dict__.update(self.__dict__)
        other.host, other.around = host, around
        other.sources = _opened(around, self.name)
        if not is_to_act:
            other.work = None  # it holds on to the surroundings of the first one
            return other
        other.lanes = {lane: deque(jobs) for lane, jobs in self.lanes.items()}
        other.busy = set(self.busy)
        if self.loop is not None:
            assert self.book is not None
            other.loop = self.loop.copy(other._draw)
            other.book = self.book.copy()
            other._equip()
        return other

    # what the outside does to it

    def begin(self) -> None:
        self._queue(Start())

    def crash(self) -> None:
        """Lose all memory; what was sent may still arrive."""
        self.alive, self.is_dead = False, True
        for source in self.held:
            source.lose()

    @property
    def held(self) -> list[ReceivedHere | MessagesHere]:
        """Those of its sources whose rows are in its memory."""
        return [source for source in self.sources.values() if isinstance(source, ReceivedHere | MessagesHere)]

    def stop(self) -> None:
        """Ask for a graceful end."""
        if self.loop is None:
            self._end(None)
        else:
            self._start(self.loop.stop(self.host.moment()))

    def break_off(self, error: BaseException) -> None:
        """Hear from the heartbeat that another one holds the topology."""
        if self.loop is None:
            self._end(error)
        else:
            self._start(self.loop.break_off(error, self.host.moment()))

    def commands_wait(self) -> None:
        """Hear from the heartbeat that life-cycle commands wait."""
        if self.loop is not None and not self.is_recording:
            self._start(self.loop.commands_wait(self.host.moment()))

    def wake(self, moment: float) -> None:
        """Let it do what is due by then."""
        assert self.loop is not None
        self.alarm = NEVER
        self._start(self.loop.wake(moment))

    def withdraw(self) -> bool:
        """Let the engine take back a processed attempt that waits for its turn, if there is one."""
        if self.loop is None:
            return False
        ready = [item.batch for item in self.loop.state.live if item.status is Status.READY]
        if ready:
            self._start(self.loop.withdraw(ready[0], "the engine lost what it had staged", self.host.moment()))
        return bool(ready)

    # what is executed at the far side

    def execute(self, job: Job) -> Answer | Progressed:
        """Make the call; its effect is there when this returns, whoever hears the answer."""
        around = self.around
        if isinstance(job, Start):
            script = partial(
                scripts.take_over,
                ledger=around.ledger,
                stores=around.stores,
                sources=self.sources,
                spec=around.spec,
                lease=self.lease,
            )
            return scripts.run_on(job.answers, script, self.host.calls_at_once())
        try:
            if isinstance(job, Release):
                around.ledger.release(around.spec.name, job.epoch)
                return Answer(None)
            assert self.work is not None
            return Answer(self.work.perform(job))
        except TridentError as error:
            return failed(error)

    # what it hears

    def answered(self, job: Job, answer: Answer | Progressed, failures: int) -> None:
        """Hear the answer to a request; one that can be repeated is sent again, by its host's time."""
        kind = type(job)
        if isinstance(job, Start):
            assert isinstance(answer, Progressed)
            self._start_answered(job, answer)
            return
        if self.is_recording and kind is not RecordStop:
            return
        assert isinstance(answer, Answer)
        error = answer.error
        if isinstance(error, RetryableError | OutcomeUnknownError) and kind not in _NEVER_REPEATED:
            if failures + 1 < scripts.GIVE_UP_AFTER:
                self.host.send(self, job, failures + 1)
                return
            error = FatalError(f"gave up: {error}")
        assert self.loop is not None
        assert not isinstance(job, Release), "whoever asked for it has ended"
        self.is_recording = False
        lane = LANES[kind]
        if lane in ONE_BY_ONE:
            self.lanes[lane].popleft()
        moment = self.host.moment()
        if error is None:
            self._start(self.loop.answered(job, answer.value, moment))
        else:
            self._start(self.loop.failed(job, error, moment))
        if self.alive and lane in ONE_BY_ONE:
            self._send_next(lane)

    def _start_answered(self, job: Start, progressed: Progressed) -> None:
        self.lanes[START].popleft()
        self.busy.discard(START)
        finished = progressed.finished
        if finished is None:
            self._queue(Start((*job.answers, *progressed.answers)))
        elif isinstance(finished.error, LeaseHeldError):
            self.host.wait_for_lease(self)
        elif finished.error is not None:
            self._end(finished.error)
        else:
            self._begin_running(finished.value)

    def _begin_running(self, taken: TakenOver) -> None:
        around, pin = self.around, taken.snapshot.pin
        self.epoch = taken.epoch
        self.book = PlanBook(taken.snapshot)
        self._equip()
        keeps_rows = any(isinstance(source, ReceivedHere) for source in self.held)
        state, commands = taken.first_step(around.stores, around.options, keeps_rows=keeps_rows)
        self.loop = Loop(
            (state._replace(turn_work=around.turn is not None), commands),
            Pace.of(around.options)._replace(clean_up_every=around.clean_up_every),
            self._draw,
            outcome_of_pin(pin) if pin is not None else None,
            Backlogs.of(names_relaying(around.stores)),
        )
        self.host.took_over(self)
        self._start(self.loop.begin(self.host.moment()))

    def _draw(self, plan: Plan) -> BatchEdges:
        return draw_edges(plan, self.around.rng)

    # what the loop asks for

    def _start(self, requests: list[Request]) -> None:
        for request in requests:
            if not self.alive:
                return
            lane = LANES[type(request)]
            if lane in ONE_BY_ONE:
                self._queue(request)
            elif lane == Lane.AT_ONCE:
                assert self.work is not None
                self.work.perform(request)
            else:
                self.is_recording = self.is_recording or lane == Lane.LAST
                self.host.send(self, request, 0)
        if not self.alive:
            return
        loop = self.loop
        assert loop is not None
        if loop.is_running:
            self.host.wake_at(self, loop.next_moment)
        elif not self.is_recording:
            self._end(loop.error)

    def _queue(self, job: Job) -> None:
        lane = LANES[type(job)]
        self.lanes[lane].append(job)
        if lane not in self.busy:
            self._send_next(lane)

    def _send_next(self, lane: str) -> None:
        jobs = self.lanes[lane]
        if jobs:
            self.busy.add(lane)
            self.host.send(self, jobs[0], 0)
        else:
            self.busy.discard(lane)

    def _end(self, error: BaseException | None) -> None:
        if not self.alive:
            return
        self.alive = False
        for source in self.held:
            source.close()
        self.host.ended(self, error)


def _opened(around: Surroundings, process: str) -> dict[str, TopicSource | ReceivedHere | MessagesHere]:
    return {name: source.opened(process) for name, source in around.sources.items()}


class _Once(Repeater):
    """A `Repeater` that lets every error through: the request as a whole is sent again, by its host's time."""

    def __init__(self) -> None:
        pass

    def call(self, what: str, action: Callable[[], Result], at_work: Callable[[], str] = str) -> Result:
        return action()
