"""Faults that wait for a call: they lose it, hold it up, let it fail, or lose what it brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.faults import Call, Fault, FaultKind
from tests.simulation.jobs import Build, CleanUp, Commit, Drop, Job, Release, Start, Stop, Store, Work
from tests.simulation.scripts import Answer
from tests.simulation.stores import Ending, OpenTransaction, SimulatedDatabase
from trident.base.errors import RefusedError, RetryableError
from trident.coordinators.protocol.messages import Apply, CommitTogether
from trident.state.staged import StagingLostError

if TYPE_CHECKING:
    from tests.simulation.world import Request, World

_CALLS = {
    Start: Call.TAKE_OVER,
    Release: Call.TAKE_OVER,
    Build: Call.PLAN,
    Store: Call.PLAN,
    Drop: Call.PLAN,
    Work: Call.PROCESS,
    Commit: Call.COMMIT,
    CleanUp: Call.COMMIT,
    Stop: Call.COMMIT,
}
_ENDINGS = {
    FaultKind.ANSWER_LOST_DONE: Ending.KEPT_UNHEARD,
    FaultKind.ANSWER_LOST_UNDONE: Ending.UNDONE_UNHEARD,
    FaultKind.AT_WORK_DONE: Ending.AT_WORK,
    FaultKind.AT_WORK_UNDONE: Ending.AT_WORK,
}
_OF_WORK = (FaultKind.PROCESSING_FAILED, FaultKind.PROCESSING_SLOW, FaultKind.SHORT_READ)
_OF_SOURCE = (FaultKind.PARTITION_MISSING, FaultKind.SOURCE_ERROR)


class CallFaults:
    """The faults that are armed, in the order in which they were."""

    def __init__(self, world: World) -> None:
        self._world = world
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
        ending = _ENDINGS.get(fault.kind)
        if ending is not None:
            self._lose_answer(fault, ending, request)
            return
        world.count(fault.kind, request.actor.name)
        late = 250 + fault.number % 300
        match fault.kind:
            case FaultKind.REQUEST_STALLED:
                world.at(late, world.execute, request)
            case FaultKind.ANSWER_DELAYED:
                world.execute(request, late=late)
            case FaultKind.PROCESSING_SLOW:
                world.at(20, request.actor.time_out, request.job.batch)
                world.at(25 + fault.number % 400, world.execute, request)
            case FaultKind.STORE_ERROR if type(request.job) is Start:
                world.execute(request, failing=RetryableError(fault.kind.value))
            case FaultKind.STORE_ERROR | FaultKind.SOURCE_ERROR | FaultKind.PROCESSING_FAILED:
                world.answer(request, Answer(None, RetryableError(fault.kind.value)))
            case FaultKind.PARTITION_MISSING:
                world.hidden = fault.number % len(world.topic.stops)
                world.execute(request)
            case FaultKind.SHORT_READ:
                world.around.processor.short = True
                world.execute(request)
                world.around.processor.short = False
            case FaultKind.REFUSED | FaultKind.STAGING_LOST:
                self._refuse(fault, request)

    def _lose_answer(self, fault: Fault, ending: Ending, request: Request) -> None:
        world = self._world
        before = {name: len(database.open_transactions) for name, database in world.databases.items()}
        if not world.execute(request, ending=ending):
            self.armed.append(fault)
            return
        world.count(fault.kind, request.actor.name)
        for name, database in world.databases.items():
            for transaction in database.open_transactions[before[name] :]:
                world.at(30 + fault.number % 350, self._end, database, transaction, fault.kind)

    def _end(self, database: SimulatedDatabase, transaction: OpenTransaction, kind: FaultKind) -> None:
        if transaction in database.open_transactions:
            takes_effect = kind is FaultKind.AT_WORK_DONE
            self._world.note("a backend that was still at work", "commits" if takes_effect else "rolls back")
            database.end(transaction, takes_effect)

    def _refuse(self, fault: Fault, request: Request) -> None:
        world, command = self._world, request.job.command
        stores = world.around.stores
        store = stores[command.state] if type(command) is Apply else stores[sorted(stores)[fault.number % len(stores)]]
        refused = fault.kind is FaultKind.REFUSED
        store.refuses = RefusedError("a constraint") if refused else StagingLostError("staging is empty")
        world.execute(request)
        store.refuses = None


def _fits(fault: Fault, job: Job) -> bool:
    kind, call = fault.kind, _CALLS[type(job)]
    if kind in _OF_WORK:
        return call is Call.PROCESS
    if kind in _OF_SOURCE:
        return type(job) is Build
    if kind is FaultKind.REFUSED:
        return type(job) is Commit and type(job.command) in (CommitTogether, Apply)
    if kind is FaultKind.STAGING_LOST:
        return type(job) is Commit and type(job.command) is CommitTogether
    return fault.call is Call.ANY or fault.call is call
