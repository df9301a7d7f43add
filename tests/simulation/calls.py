"""Faults that wait for a call: they lose it, hold it up, let it fail, or lose what it brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.brokers import SimulatedOutbox, SimulatedSink
from tests.simulation.data import SINK
from tests.simulation.faults import BATCH_TIMEOUT_MS, IN_TURN, LONGEST_MS, SINK_CALLS, Call, Fault, FaultKind
from tests.simulation.jobs import Job, Release, Start
from tests.simulation.scripts import Answer
from tests.simulation.sinking import SinkFaults, reaches_the_sink, sends
from tests.simulation.stores import Ending, OpenTransaction, SimulatedDatabase, SimulatedStore
from trident.base.errors import RefusedError, RetryableError
from trident.coordinators.batches.requests import (
    BuildPlan,
    CleanUp,
    CommitStep,
    Drop,
    LetGo,
    RecordStop,
    Relay,
    RunBatch,
    StorePlan,
    TakeCommands,
    WorkTurn,
)
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.protocol.messages import AnswerCommand, Apply, CommitTogether
from trident.state.staged import StagingLostError

if TYPE_CHECKING:
    from tests.simulation.world import Request, World

_CALLS = {
    Start: Call.TAKE_OVER,
    Release: Call.TAKE_OVER,
    BuildPlan: Call.PLAN,
    StorePlan: Call.PLAN,
    Drop: Call.PLAN,
    RunBatch: Call.PROCESS,
    WorkTurn: Call.TURN,
    CommitStep: Call.COMMIT,
    CleanUp: Call.COMMIT,
    LetGo: Call.COMMIT,
    Relay: Call.COMMIT,
    RecordStop: Call.COMMIT,
    TakeCommands: Call.COMMIT,
    AnswerCommand: Call.COMMIT,
}
_ENDINGS = {
    FaultKind.ANSWER_LOST_DONE: Ending.KEPT_UNHEARD,
    FaultKind.ANSWER_LOST_UNDONE: Ending.UNDONE_UNHEARD,
    FaultKind.AT_WORK_DONE: Ending.AT_WORK,
    FaultKind.AT_WORK_UNDONE: Ending.AT_WORK,
}
_OF_WORK = (
    FaultKind.PROCESSING_FAILED,
    FaultKind.PROCESSING_SLOW,
    FaultKind.PROCESSING_UNHEARD,
)
_REFUSALS = {
    FaultKind.REFUSED: lambda: RefusedError("a constraint"),
    FaultKind.STAGING_LOST: lambda: StagingLostError("staging is empty"),
}
_OF_SOURCE = (FaultKind.PARTITION_MISSING, FaultKind.SOURCE_ERROR)


class CallFaults:
    """The faults that are armed, in the order in which they were."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._of_sink = SinkFaults(world)
        self.armed: list[Fault] = []

    def pick(self, job: Job) -> Fault | None:
        """Return the first armed fault that this call is for, disarmed."""
        for fault in self.armed:
            if _fits(fault, job):
                self.armed.remove(fault)
                return fault
        return None

    def hit(self, fault: Fault, request: Request) -> None:
        """Let the fault happen to the call; one that has nothing to hit there is armed again."""
        world = self._world
        if fault.kind in SINK_CALLS:
            if not self._of_sink.hits(fault, request):
                self.armed.append(fault)
            return
        ending = _ENDINGS.get(fault.kind)
        if ending is not None:
            self._lose_answer(fault, ending, request)
            return
        if fault.kind in _REFUSALS:
            self._refuse(fault, request)
            return
        if fault.kind is FaultKind.REFUSED_WHILE_STAGING:
            self._refuse_staging(fault, request)
            return
        world.count(fault.kind, request.actor.name)
        if type(request.job) is WorkTurn and fault.kind in IN_TURN:
            world.counts[IN_TURN[fault.kind]] += 1
        late = 250 + fault.number % 300
        match fault.kind:
            case FaultKind.REQUEST_STALLED:
                world.at(late, world.execute, request)
            case FaultKind.ANSWER_DELAYED:
                world.execute(request, late=late)
            case FaultKind.PROCESSING_SLOW:
                world.at(BATCH_TIMEOUT_MS + fault.number % 400, world.execute, request)
            case FaultKind.PROCESSING_UNHEARD:
                world.execute(request, late=LONGEST_MS)
            case FaultKind.STORE_ERROR if type(request.job) is Start:
                world.execute(request, failing=RetryableError(fault.kind.value))
            case FaultKind.STORE_ERROR | FaultKind.SOURCE_ERROR | FaultKind.PROCESSING_FAILED:
                world.answer(request, Answer(None, RetryableError(fault.kind.value)))
            case FaultKind.PARTITION_MISSING:
                world.hidden = fault.number % len(world.topic.stops)
                world.execute(request)
            case FaultKind.SHORT_READ:
                processor = request.actor.around.processor
                processor.short = True
                world.execute(request)
                processor.short = False

    def _lose_answer(self, fault: Fault, ending: Ending, request: Request) -> None:
        world = self._world
        before = {name: len(database.open_transactions) for name, database in world.databases.items()}
        if world.execute(request, ending=ending):
            world.count(fault.kind, request.actor.name)
        else:
            self.armed.append(fault)
        # also where the call then died, or met the lock of its own lost transaction: every backend ends some time
        for name, database in world.databases.items():
            for transaction in database.open_transactions[before[name] :]:
                world.at(30 + fault.number % 350, self._end, database, transaction, fault.kind)

    def _end(self, database: SimulatedDatabase, transaction: OpenTransaction, kind: FaultKind) -> None:
        if transaction in database.open_transactions:
            takes_effect = kind is FaultKind.AT_WORK_DONE
            self._world.note("a backend that was still at work", "commits" if takes_effect else "rolls back")
            database.end(transaction, takes_effect)

    def _refuse(self, fault: Fault, request: Request) -> None:
        world, job = self._world, request.job
        assert isinstance(job, CommitStep)
        command = job.command
        stores = request.actor.around.stores
        others = sorted(name for name in stores if name != SINK)
        store = stores[command.state] if type(command) is Apply else stores[others[fault.number % len(others)]]
        assert isinstance(store, SimulatedStore | SimulatedSink | SimulatedOutbox)
        store.refuses = _REFUSALS[fault.kind]()
        world.execute(request)
        if store.refuses is None:
            world.count(fault.kind, request.actor.name)
        else:  # it waits for a lock, or has the batch: there is nothing to refuse
            store.refuses = None
            self.armed.append(fault)

    def _refuse_staging(self, fault: Fault, request: Request) -> None:
        """Refuse rows of an attempt, be it next in turn or not; those that are left out are not staged."""
        world, job = self._world, request.job
        assert isinstance(job, RunBatch | WorkTurn)
        plan = job.plan if isinstance(job, RunBatch) else job.outcome.plan
        staged = [name for name in sorted(request.actor.around.stores) if name not in plan.diverts]
        if not staged:
            self.armed.append(fault)
            return
        world.count(fault.kind, request.actor.name)
        state = staged[fault.number % len(staged)]
        error = StoppedError("too large", Refusal(plan.txid, plan.attempt, StopKind.REFUSED, state, "too large"))
        error.__cause__ = RefusedError("too large")
        world.answer(request, Answer(None, error))


def _fits(fault: Fault, job: Job) -> bool:
    kind, call = fault.kind, _CALLS[type(job)]
    if kind in SINK_CALLS:
        fits = sends(job) if kind is FaultKind.SINK_REFUSED else reaches_the_sink(job)
        return fits and (fault.call is Call.ANY or fault.call is call or kind is FaultKind.SINK_REFUSED)
    if kind in _OF_WORK:
        return call is Call.PROCESS or call is Call.TURN
    if kind is FaultKind.REFUSED_WHILE_STAGING:
        return type(job) is WorkTurn or (call is Call.PROCESS and fault.call is not Call.TURN)
    if kind is FaultKind.SHORT_READ:
        return call is Call.PROCESS
    if kind in _OF_SOURCE:
        return type(job) is BuildPlan
    if kind is FaultKind.REFUSED:
        return type(job) is CommitStep and type(job.command) in (CommitTogether, Apply)
    if kind is FaultKind.STAGING_LOST:
        return type(job) is CommitStep and type(job.command) is CommitTogether
    return fault.call is Call.ANY or fault.call is call
