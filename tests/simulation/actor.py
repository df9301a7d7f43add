"""A simulated coordinator: the batch coordinator without its threads.

It drives the product's protocol, plan maker, batch runner, acker and committer. Each call that
leaves the process is a request: its host decides when it is executed, what becomes of it, and when
the answer is heard. What a thread pool is in the product is a lane here: plans and commits one by
one, processing side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from tests.simulation import scripts
from tests.simulation.data import SPOUT
from tests.simulation.hosting import Host, Surroundings
from tests.simulation.jobs import (
    COMMIT,
    LANES,
    PLAN,
    START,
    Build,
    CleanUp,
    Commit,
    Drop,
    Job,
    Lane,
    Processed,
    Release,
    Start,
    Stop,
    Store,
    Work,
)
from tests.simulation.scripts import Answer, Progressed, failed
from trident.base.errors import FatalError, LeaseHeldError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import BatchId, Epoch
from trident.coordinators.acking.acker import Acker
from trident.coordinators.acking.edges import draw_edges, edge_ids
from trident.coordinators.batches.committer import Committer, Outcome, outcome_of_pin
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.stopping import StoppedError, gave_up, record_stop
from trident.coordinators.planned import Plan
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import (
    Apply,
    Broken,
    Cancel,
    Command,
    CommitTogether,
    DecidePin,
    DropFrom,
    Due,
    Event,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    StopRequested,
    TellSpouts,
)
from trident.coordinators.protocol.state import Phase
from trident.coordinators.protocol.step import step, wants_plan
from trident.coordinators.protocol.transitions import Status, Word
from trident.coordinators.registered import Keep, Lease
from trident.state.target import StagingLostError


class Coordinator:
    """One process that wants to run the topology, from its start until it ends or dies."""

    def __init__(self, host: Host, name: str, around: Surroundings) -> None:
        self.host = host
        self.name = name
        self.around = around
        self.alive = True
        self.epoch: Epoch | None = None
        self.state = None
        self.book: PlanBook | None = None
        self.lanes: dict[Lane, deque[Job]] = {START: deque(), PLAN: deque(), COMMIT: deque()}
        self.busy: set[Lane] = set()
        """Lanes whose first job is on its way."""
        self.planned: dict[int, Plan] = {}
        """By attempt, which no two batches of a coordinator share; the same holds for the next two."""
        self.outcomes: dict[int, Outcome] = {}
        self.processing: set[int] = set()
        self.acker = Acker()
        self.resting = False
        self.asked_only_full = False
        self._equip()

    def _equip(self) -> None:
        around = self.around
        self.lease = Lease(self.name, around.options.lease)
        self.committer = Committer(around.ledger, around.stores, _Once())
        self.runner = self.plans = None
        if self.book is not None:
            spouts, sources = {SPOUT: around.spout}, {SPOUT: around.source}
            decisions = self.book.snapshot.decisions
            self.runner = BatchRunner(spouts, sources, around.stores, around.processor, decisions)
            self.plans = PlanMaker(around.ledger, spouts, sources, self.book, self.epoch, around.clock)

    def copy(self, host: Host, around: Surroundings, *, is_to_act: bool = True) -> Coordinator:
        """Return an equal coordinator in equal surroundings, for a host that tries several futures.

        One that is not to act shares what changes with the one it is a copy of; it may only be copied again.
        """
        other = object.__new__(Coordinator)
        other.__dict__.update(self.__dict__)
        other.host, other.around = host, around
        if not is_to_act:
            other.committer = other.runner = other.plans = None  # they hold on to the surroundings of the first one
            return other
        other.lanes = {lane: deque(jobs) for lane, jobs in self.lanes.items()}
        other.busy = set(self.busy)
        other.planned, other.outcomes = dict(self.planned), dict(self.outcomes)
        other.processing = set(self.processing)
        other.acker = Acker()
        other.acker._value = dict(self.acker._value)
        other.acker._open = {batch: set(edges) for batch, edges in self.acker._open.items()}
        if self.book is not None:
            other.book = object.__new__(PlanBook)
            other.book.__dict__.update(self.book.__dict__)
            other.book.plans = dict(self.book.plans)
            other.book._record_bytes = dict(self.book._record_bytes)
        other._equip()
        return other

    # what the outside does to it

    def begin(self) -> None:
        self._queue(Start())

    def crash(self) -> None:
        """Lose all memory; what was sent may still arrive."""
        self.alive = False

    def stop(self) -> None:
        """Ask for a graceful end."""
        if self.state is None:
            self._end(None)
        else:
            self._advance(StopRequested())

    def break_off(self, error: BaseException) -> None:
        """Hear from the heartbeat that another one holds the topology."""
        if self.state is None:
            self._end(error)
        else:
            self._advance(Broken(error))

    def due(self) -> None:
        self.resting = False
        self._plan_if_wanted()

    def time_out(self, batch: BatchId) -> None:
        if batch.attempt in self.processing:
            self._hear(Happened(batch, Word.FAILED, reason="not processed in time"))

    def withdraw(self) -> bool:
        """Let the engine take back a processed attempt that waits for its turn, if there is one."""
        ready = [item.batch for item in self.state.live if item.status is Status.READY] if self.state else []
        if ready:
            self._hear(Happened(ready[0], Word.FAILED, reason="the engine lost what it had staged"))
        return bool(ready)

    # what is executed at the far side

    def execute(self, job: Job) -> Answer | Progressed:
        """Make the call; its effect is there when this returns, whoever hears the answer."""
        if type(job) is Start:
            around = self.around
            script = partial(
                scripts.take_over,
                ledger=around.ledger,
                stores=around.stores,
                source=around.source,
                spec=around.spec,
                lease=self.lease,
            )
            return scripts.run_on(job.answers, script, self.host.calls_at_once())
        try:
            return Answer(self._execute(job))
        except TridentError as error:
            return failed(error)

    def _execute(self, job: Job) -> object:
        match job:
            case Build(command):
                return self.plans.build(command)
            case Store(command, plan):
                return self.plans.store(command, plan)
            case Drop(command):
                return self.plans.drop(command)
            case Work(batch, plan, edges):
                return Processed(*self.runner.run(batch, plan, edges, 0))
            case Commit(CommitTogether(batch), outcome):
                return self.committer.together(batch, outcome)
            case Commit(DecidePin(batch), outcome):
                return self.committer.pin(batch, outcome)
            case Commit(Apply(batch, state), outcome):
                return self.committer.apply(batch, state, outcome.pin())
            case Commit(RecordDone(batch), outcome):
                return self.committer.done(batch, outcome)
            case CleanUp(batch, None):
                return self.around.ledger.clean_up(batch.owner, batch.epoch, Keep(5, self.around.options.lease * 0))
            case CleanUp(batch, state):
                return self.around.stores[state].clean_up(batch.owner, batch.epoch, batch.txid)
            case Stop(owner, error):
                return record_stop(self.around.ledger, owner, self.epoch, error, _Once())
            case Release(epoch):
                return self.around.ledger.release(self.around.spec.name, epoch)
        raise AssertionError(job)

    # what it hears

    def answered(self, job: Job, answer: Answer | Progressed, failures: int) -> None:
        """Hear the answer to a request."""
        kind = type(job)
        if kind is Start:
            self._start_answered(job, answer)
            return
        if kind is Stop:
            self._end(answer.value)
            return
        if self.state.phase is Phase.POISONED:
            return  # the reason is on its way to the ledger; nothing else counts any more
        if kind is Work:
            self._worked(job.batch, answer)
            return
        error = answer.error
        repeats = isinstance(error, RetryableError | OutcomeUnknownError)
        if repeats and kind is not Release and failures + 1 < scripts.GIVE_UP_AFTER:
            self.host.send(self, job, failures + 1)
            return
        if repeats:
            error = FatalError(f"gave up: {error}")
        lane = LANES[kind]
        self.lanes[lane].popleft()
        if error is None or kind is Release:
            self._succeeded(job, answer.value)
        elif kind is Commit and type(job.command) is CommitTogether and isinstance(error, StagingLostError):
            self._hear(Happened(job.command.batch, Word.FAILED, reason=str(error)))
        else:
            self._advance(Broken(error))
        if self.alive:
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

    def _begin_running(self, taken) -> None:
        self.epoch = taken.epoch
        self.book = PlanBook(taken.snapshot)
        self._equip()
        self.state, commands = taken.first_step(self.around.stores, self.around.options)
        for item in self.state.live:
            self.outcomes[item.batch.attempt] = outcome_of_pin(taken.snapshot.pin)
        self.host.took_over(self)
        self._perform_all(commands)
        self._plan_if_wanted()

    def _worked(self, batch: BatchId, answer: Answer) -> None:
        if batch.attempt not in self.processing:
            self._advance(Happened(batch, Word.PROCESSED))  # dropped meanwhile: the protocol must not mind
            return
        if isinstance(answer.error, RetryableError | OutcomeUnknownError):
            self._hear(Happened(batch, Word.FAILED, reason=str(answer.error)))
        elif answer.error is not None:
            self._advance(Broken(answer.error))
        else:
            self._judge(batch, answer.value)

    def _judge(self, batch: BatchId, processed: Processed) -> None:
        for edge in processed.acknowledged:
            self.acker.ack(batch, edge)
        if not self.acker.is_processed(batch):
            self._hear(Happened(batch, Word.FAILED, reason="not all that was read was acknowledged"))
            return
        self.outcomes[batch.attempt] = processed.outcome
        self._hear(Happened(batch, Word.PROCESSED))

    def _succeeded(self, job: Job, value: object) -> None:
        match job:
            case Build(command) if value is None and command.drop_from is None:
                self._hear(Happened(command.batch, Word.NOTHING_TO_PLAN))  # there is nothing to write either
            case Build(command):
                self.lanes[PLAN].appendleft(Store(command, value))
            case Store(command, plan):
                if plan is not None:
                    self.planned[command.batch.attempt] = plan
                self._hear(Happened(command.batch, Word.NOTHING_TO_PLAN if plan is None else Word.PLANNED))
            case Commit(CommitTogether(batch), _):
                self._clean_up(batch)
                self._hear(Happened(batch, Word.COMMITTED))
            case Commit(DecidePin(batch), _):
                self._hear(Happened(batch, Word.PINNED))
            case Commit(Apply(batch, state), _):
                self._hear(Happened(batch, Word.APPLIED, state=state))
            case Commit(RecordDone(batch), _):
                self._clean_up(batch)
                self._hear(Happened(batch, Word.FINISHED))
            case Release():
                self.alive = False

    def _clean_up(self, batch: BatchId) -> None:
        if batch.txid % self.around.clean_up_every == 0:
            lane = self.lanes[COMMIT]
            lane.append(CleanUp(batch, None))
            lane.extend(CleanUp(batch, state) for state in self.around.stores)

    def _hear(self, word: Happened) -> None:
        if word.word in (Word.PROCESSED, Word.FAILED):
            self.processing.discard(word.batch.attempt)
            self.acker.forget(word.batch)
        self._advance(word)
        if word.word is Word.NOTHING_TO_PLAN and self.alive:
            self.resting = True
            self.host.idle(self)
        elif word.word in (Word.PLANNED, Word.PROCESSED, Word.FAILED):
            self.resting = False
        self._plan_if_wanted()

    def _plan_if_wanted(self) -> None:
        if self.alive and not self.resting and self.state is not None and wants_plan(self.state):
            self._advance(Due())

    def _advance(self, event: Event) -> None:
        if not self.alive or self.state is None or self.state.phase not in (Phase.RUNNING, Phase.DRAINING):
            return
        self.state, commands = step(self.state, event)
        self._perform_all(commands)
        if self.state.phase is Phase.POISONED:
            self._break(self.state.error)
        elif self.state.phase is Phase.STOPPED and not any(self.lanes.values()):
            self._end(None)

    def _break(self, error: BaseException) -> None:
        if isinstance(error, StoppedError):
            self.host.send(self, Stop(self.state.owner, error), 0)
        else:
            self._end(error)

    def _perform_all(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            if self.alive:
                self._perform(command)

    def _perform(self, command: Command) -> None:
        match command:
            case MakePlan():
                self.asked_only_full = command.only_full
                self._queue(Build(command))
            case DropFrom():
                self._queue(Drop(command))
            case Process(batch, _):
                plan = self.planned[batch.attempt]
                edges = draw_edges(plan, self.around.rng)
                self.acker.register(batch, edge_ids(edges))
                self.processing.add(batch.attempt)
                self.host.send(self, Work(batch, plan, edges), 0)
            case Cancel(batch):
                self._forget(batch)
                self.acker.forget(batch)
            case CommitTogether(batch) | DecidePin(batch) | Apply(batch) | RecordDone(batch):
                self._queue(Commit(command, self.outcomes[batch.attempt]))
            case TellSpouts(batch):
                self.around.source.committed(batch.txid, ())
                self.book.finished = batch.txid
                self._forget(batch)
            case GiveUp(batch, tries, reason):
                self._advance(Broken(gave_up(batch, tries, reason)))

    def _forget(self, batch: BatchId) -> None:
        for kept in (self.planned, self.outcomes):
            kept.pop(batch.attempt, None)
        self.processing.discard(batch.attempt)

    def _queue(self, job: Job) -> None:
        lane = LANES[type(job)]
        self.lanes[lane].append(job)
        if lane not in self.busy:
            self._send_next(lane)

    def _send_next(self, lane: Lane) -> None:
        jobs = self.lanes[lane]
        if jobs:
            self.busy.add(lane)
            self.host.send(self, jobs[0], 0)
            return
        self.busy.discard(lane)
        if self.state is not None and self.state.phase is Phase.STOPPED and not any(self.lanes.values()):
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if not self.alive:
            return
        self.alive = False
        self.host.ended(self, error)


class _Once:
    """A `Repeater` that lets every error through: the request as a whole is sent again, by its host's time."""

    def call(self, what: str, action: Callable[[], object]) -> object:
        return action()
