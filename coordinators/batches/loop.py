"""The loop of a coordinator: all that decides, without a thread, a clock or a queue of its own.

It owns the protocol's state and one flight per live batch. It is told what came back, and what time
it is; it returns what is to be done next. Threads drive it in production (`threads.py`), a seed or an
exhaustive search in the tests: the same code decides in all three.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, RetryableError
from trident.base.identity import BatchId
from trident.coordinators.acking.edges import BatchEdges
from trident.coordinators.batches.backlogs import NO_BACKLOGS, Backlogs
from trident.coordinators.batches.failing import OverdueError, UnacknowledgedError, batch_of, failure_of
from trident.coordinators.batches.flight import NEVER, Flight
from trident.coordinators.batches.hearing import Hears, hear_nothing
from trident.coordinators.batches.invariants import check
from trident.coordinators.batches.next_plan import NextPlan
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.requests import (
    BRINGS,
    ENDS_FIRST,
    Answer,
    BuildPlan,
    CommitStep,
    Drop,
    Processed,
    RecordStop,
    Relay,
    Request,
    RunBatch,
    StorePlan,
    TakeCommands,
    Tell,
    WorkTurn,
    clean_ups,
    events_of,
)
from trident.coordinators.batches.saying import FailuresSaid
from trident.coordinators.batches.stopped import StoppedError, gave_up
from trident.coordinators.planned import PartFull, Plan
from trident.coordinators.protocol.messages import (
    AnswerCommand,
    Apply,
    Broken,
    Cancel,
    Command,
    CommitTogether,
    DecidePin,
    DropFrom,
    Due,
    EndRun,
    EndWithin,
    Event,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    ShareWork,
    StopRequested,
    TellSpouts,
    WaitOver,
    WorkInTurn,
)
from trident.coordinators.protocol.state import Phase
from trident.coordinators.protocol.step import Step, step, wants_plan
from trident.coordinators.protocol.transitions import Status, Word

_log = logging.getLogger("trident.coordinator")


class Loop:
    """Decides what one coordinator does from its first step to its end; used by one thread.

    `draw` returns the edges under which a plan is read. `adopted` is the outcome of the batch that
    another coordinator pinned, if the first step rolls one forward. `backlogs` are of the sinks that send later.
    `hears` of each error that fails an attempt, or the run.
    """

    def __init__(
        self,
        first: Step,
        pace: Pace,
        draw: Callable[[Plan], BatchEdges],
        adopted: Outcome | None = None,
        backlogs: Backlogs = NO_BACKLOGS,
        hears: Hears = hear_nothing,
    ) -> None:
        self.state, self._first = first
        self.flights: dict[int, Flight] = {}
        """By attempt, which no two batches of a coordinator share."""
        self.error: BaseException | None = None
        self._pace = pace
        self._draw = draw
        self.hears = hears
        self.backlogs = backlogs
        self._waits_to_pin: CommitTogether | DecidePin | None = None
        """What is held back until sinks have sent enough of what waits in them."""
        self.next_plan = NextPlan()
        self._said = FailuresSaid()
        self._ends_at = NEVER  # when the wait of a kill is over
        self._is_asking = False  # for the commands that wait
        self._under_way = 0  # requests that have to end before a stopped coordinator may
        self._requests: list[Request] = []
        for item in [each for each in self.state.live if each.status is not Status.BLOCKED]:
            assert adopted is not None, "what is live at first was pinned by another coordinator"
            self.flights[item.batch.attempt] = Flight(item.batch, 0.0, adopted.plan, outcome=adopted)

    def copy(self, draw: Callable[[Plan], BatchEdges]) -> Loop:
        """Return a loop that decides the same from here on and shares nothing that changes."""
        other = object.__new__(Loop)
        other.__dict__.update(self.__dict__)
        other.flights = dict(self.flights)
        other._requests = []
        other._draw = draw
        return other

    @property
    def is_running(self) -> bool:
        """Whether anything more is to be heard or awaited."""
        return self.state.phase.goes_on or (self.state.phase is Phase.STOPPED and self._under_way > 0)

    @property
    def next_moment(self) -> float:
        """When `wake` is next to be called, unless a word comes before that; `NEVER` if only words are awaited."""
        plan = self.next_plan.at if wants_plan(self.state) else NEVER
        end = self._ends_at if self.state.live else NEVER
        return min([plan, end, *(flight.deadline for flight in self.flights.values())])

    # what it hears; each returns what is to be done next

    def begin(self, now: float) -> list[Request]:
        """Ask for what the take-over left to do, and for a first plan."""
        self._perform_all(self._first, now)
        self._relay()
        return self._settled(now)

    def wake(self, now: float) -> list[Request]:
        """Do what is due by now: time-outs and the next plan."""
        return self._settled(now)

    def answered(self, request: Request, answer: Answer, now: float) -> list[Request]:
        """Hear what a request brought."""
        self._count_off(request)
        if type(request) is RecordStop:
            assert isinstance(answer, BaseException)
            self.error = answer
        elif type(request) is Relay:
            assert isinstance(answer, int)
            self._relayed(request, answer)
        elif isinstance(request, TakeCommands | AnswerCommand):
            self._is_asking = self._is_asking and type(request) is AnswerCommand
            for event in events_of(request, answer):
                self._advance(event, now)
        elif self.is_running:
            self._hear(request, answer, now)
        return self._settled(now)

    def failed(self, request: Request, error: BaseException, now: float) -> list[Request]:
        """Hear that a request ended with an error that is not repeated any more."""
        self._count_off(request)
        failure = failure_of(request, error)
        if failure is not None:
            self._advance(failure, now)
        elif isinstance(request, BuildPlan | RunBatch | WorkTurn) and not isinstance(error, FencedError):
            self._hold_back(batch_of(request), error, now)
        else:
            self._advance(Broken(error), now)
        return self._settled(now)

    def withdraw(self, batch: BatchId, reason: str, now: float) -> list[Request]:
        """Hear that the engine has lost what an attempt had staged and waits for its turn with."""
        self._advance(Happened(batch, Word.FAILED, reason=reason), now)
        return self._settled(now)

    def stop(self, now: float) -> list[Request]:
        """End gracefully: what is live is finished, nothing more is planned. Any number of times."""
        self._advance(StopRequested(), now)
        return self._settled(now)

    def commands_wait(self, now: float) -> list[Request]:
        """Read the life-cycle commands that wait in the ledger, unless the run ends. Any number of times."""
        if not self._is_asking and self.state.phase in (Phase.RUNNING, Phase.INACTIVE):
            self._is_asking = True
            self._ask(TakeCommands(self.state.owner, self.state.epoch))
        return self._settled(now)

    def break_off(self, error: BaseException, now: float) -> list[Request]:
        """End at once with this error."""
        self._advance(Broken(error), now)
        return self._settled(now)

    def _hold_back(self, batch: BatchId, error: BaseException, now: float) -> None:
        """Keep bad news of a batch until everything before it is done; of one that was dropped it is void."""
        flight = self.flights.get(batch.attempt)
        if flight is None or flight.blocked_by is not None:
            return
        self.flights[batch.attempt] = Flight(batch, flight.asked_at, blocked_by=error)
        if batch.txid > self.state.done + 1:
            _log.warning("%s can't go on; what is before it is finished first, then the run ends", batch)
        self._advance(Happened(batch, Word.STOPPED), now)

    def _settled(self, now: float) -> list[Request]:
        if self.state.phase.goes_on:
            self._time_out(now)
            if now >= self.next_plan.at and wants_plan(self.state):
                self._advance(Due(self._pace.waits(self.state.is_processing, self.next_plan.part_full_since, now)), now)
            if self._pace.ends_caught_up and self.state.phase is Phase.INACTIVE and not self.state.live:
                _log.warning("the topology is deactivated: the run ends, and what its sources have waits for activate")
                self._advance(StopRequested(), now)  # nothing will be planned that it could wait for
        if self.state.phase.goes_on:  # a time-out may have been the last try
            check(self.state, self.flights)
        requests, self._requests = self._requests, []
        return requests

    def _count_off(self, request: Request) -> None:
        if type(request) in ENDS_FIRST:
            self._under_way -= 1
            assert self._under_way >= 0, "no request is answered twice"

    def _hear(self, request: Request, answer: Answer, now: float) -> None:
        match request:
            case BuildPlan(command):
                assert answer is None or isinstance(answer, Plan | PartFull)
                self._built(command, answer, now)
            case StorePlan(command, plan):
                self._stored(command, plan, now)
            case RunBatch(batch):
                assert isinstance(answer, Processed)
                self._processed(batch, answer, now)
            case WorkTurn(batch):
                assert isinstance(answer, Outcome)
                self._turn_worked(batch, answer, now)
            case CommitStep(command):
                self._committed(command, now)

    def _built(self, command: MakePlan, plan: Plan | PartFull | None, now: float) -> None:
        if command.batch.attempt not in self.flights:
            return  # dropped meanwhile, by a command that drops from a lower txid on than this one would have
        self.next_plan = self.next_plan.built(plan, is_retry=command.drop_from is not None, now=now)
        if isinstance(plan, Plan) or command.drop_from is not None:
            self._ask(StorePlan(command, plan if isinstance(plan, Plan) else None))
        else:
            self._advance(Happened(command.batch, Word.NOTHING_TO_PLAN), now)  # there is nothing to write either

    def _stored(self, command: MakePlan, plan: Plan | None, now: float) -> None:
        batch = command.batch
        if plan is None:
            self._advance(Happened(batch, Word.NOTHING_TO_PLAN), now)
            return
        flight = self.flights.get(batch.attempt)
        if flight is not None:
            self.flights[batch.attempt] = flight.stored(plan, now)
        self._advance(Happened(batch, Word.PLANNED), now)

    def _processed(self, batch: BatchId, processed: Processed, now: float) -> None:
        """Count the acks; the attempt is processed only when its value is zero."""
        flight = self._flight_of(batch)
        if flight is not None:
            assert flight.acks is not None
            if not flight.acks.after(processed.acknowledged).is_processed:
                self._lose(batch, UnacknowledgedError(), now)
                return
            reached(CrashPoint.AFTER_ACK, batch.txid)
            self.flights[batch.attempt] = flight._replace(acks=None, deadline=NEVER, outcome=processed.outcome)
        self._advance(Happened(batch, Word.PROCESSED), now)  # of a dropped attempt as well: the protocol compares

    def _turn_worked(self, batch: BatchId, outcome: Outcome, now: float) -> None:
        flight = self._flight_of(batch)
        if flight is not None:
            self.flights[batch.attempt] = flight._replace(deadline=NEVER, outcome=outcome)
        self._advance(Happened(batch, Word.TURN_WORKED), now)

    def _committed(self, command: CommitTogether | DecidePin | Apply | RecordDone, now: float) -> None:
        batch, word = command.batch, BRINGS[type(command)]
        if word in (Word.COMMITTED, Word.FINISHED) and batch.txid % self._pace.clean_up_every == 0:
            for request in clean_ups(batch, self.state.states):
                self._ask(request)
        self._advance(Happened(batch, word, state=command.state if isinstance(command, Apply) else ""), now)
        self._relay()

    def _relay(self) -> None:
        """Have every sink that sends later send what is done by now."""
        state = self.state
        if state.phase is Phase.POISONED:
            return
        self.backlogs, behind = self.backlogs.asked(state.done)
        for sink in behind:
            self._ask(Relay(state.owner, state.epoch, sink, state.done))

    def _relayed(self, request: Relay, sent: int) -> None:
        self.backlogs = self.backlogs.answered(request.sink, sent)
        self._relay()
        held = self._waits_to_pin
        if held is not None and self.state.phase.goes_on and not self.backlogs.hold_back(self.state.done):
            self._waits_to_pin = None
            self._ask(CommitStep(held, self._outcome(held.batch)))

    def _time_out(self, now: float) -> None:
        if now >= self._ends_at:
            self._ends_at = NEVER
            self._advance(WaitOver(), now)
        for flight in tuple(self.flights.values()):
            if now < flight.deadline:
                continue
            self._lose(flight.batch, OverdueError(flight.overdue(self._pace.batch_timeout)), now)

    def _lose(self, batch: BatchId, error: RetryableError, now: float) -> None:
        """Give an attempt up that no request has failed."""
        self.hears(error, batch)
        self._advance(Happened(batch, Word.FAILED, reason=str(error)), now)

    def _advance(self, event: Event, now: float) -> None:
        if self.state.phase is Phase.POISONED:
            return  # the first error counts
        if type(event) is Happened:
            self.next_plan = self.next_plan.heard(event, self._pace, len(self.state.live), now)
            if event.word is Word.FAILED and event.batch.attempt in self.flights:
                self._said = self._said.heard(event, now)
        self.state, commands = step(self.state, event)
        self._perform_all(commands, now)
        if self.state.phase is Phase.POISONED:
            self._end_with(self.state.error)
        elif type(event) is Happened and event.word is Word.NOTHING_TO_PLAN:
            self.flights.pop(event.batch.attempt, None)
            if self._pace.ends_caught_up and not self.state.live and self.next_plan.part_full_since is None:
                self._advance(StopRequested(), now)

    def _end_with(self, error: BaseException | None) -> None:
        if self.error is None:
            self.error = error
            if isinstance(error, StoppedError):
                self._ask(RecordStop(self.state.owner, self.state.epoch, error))

    def _perform_all(self, commands: tuple[Command, ...], now: float) -> None:
        for command in commands:
            self._perform(command, now)

    def _perform(self, command: Command, now: float) -> None:
        match command:
            case MakePlan(batch):
                self.flights[batch.attempt] = Flight(batch, now)
                self._ask(BuildPlan(command, self._pace.pause(command)))
            case DropFrom():
                self._ask(Drop(command))
            case Process(batch):
                self._start_processing(batch, now)
            case Cancel(batch):
                self.flights.pop(batch.attempt, None)
                self._ask(command)
            case WorkInTurn(batch):
                flight = self.flights[batch.attempt]
                self.flights[batch.attempt] = flight._replace(deadline=now + self._pace.batch_timeout)
                self._ask(WorkTurn(batch, self._outcome(batch)))
            case CommitTogether() | DecidePin() if self.backlogs.hold_back(self.state.done):
                self._waits_to_pin = command
            case CommitTogether(batch) | DecidePin(batch) | Apply(batch) | RecordDone(batch):
                self._ask(CommitStep(command, self._outcome(batch)))
            case TellSpouts(batch):
                self._ask(Tell(batch, self._outcome(batch).plan))
                del self.flights[batch.attempt]
            case GiveUp(batch, tries, reason):
                self.flights[batch.attempt] = Flight(batch, now, blocked_by=gave_up(batch, tries, reason))
            case AnswerCommand() | ShareWork():
                self._ask(command)
            case EndWithin(wait):
                self._ends_at = now + wait.total_seconds()
            case EndRun(batch):
                error = self.flights[batch.attempt].blocked_by
                assert error is not None, "what ends the run has a reason"
                self._advance(Broken(error), now)

    def _start_processing(self, batch: BatchId, now: float) -> None:
        flight = self.flights[batch.attempt]
        assert flight.plan is not None
        edges = self._draw(flight.plan)
        self.flights[batch.attempt] = flight.reading(edges, now + self._pace.batch_timeout)
        self._ask(RunBatch(batch, flight.plan, edges, flight.plan_ms))

    def _flight_of(self, batch: BatchId) -> Flight | None:
        """Return the flight of a batch of which something is awaited."""
        flight = self.flights.get(batch.attempt)
        return flight if flight is not None and flight.blocked_by is None else None

    def _outcome(self, batch: BatchId) -> Outcome:
        outcome = self.flights[batch.attempt].outcome
        assert outcome is not None, "what is committed was processed"
        return outcome

    def _ask(self, request: Request) -> None:
        if type(request) in ENDS_FIRST:
            self._under_way += 1
        self._requests.append(request)
