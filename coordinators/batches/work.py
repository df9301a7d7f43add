"""What the loop asks for, done on the real parts: each request becomes a call of a spout, the engine, ledger or state.

Production's threads and the simulation perform requests with this code; what differs is when, and
who repeats a call whose answer was lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import BatchId
from trident.coordinators.batches import telling
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.log import log_batch, log_dead_letters
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.processor import SharesWork
from trident.coordinators.batches.requests import (
    Answer,
    BuildPlan,
    CleanUp,
    CommitStep,
    Drop,
    LetGo,
    Processed,
    RecordStop,
    Relay,
    Request,
    RunBatch,
    StorePlan,
    TakeCommands,
    Taken,
    Tell,
    WorkTurn,
)
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.stopping import record_stop
from trident.coordinators.batches.telling import Tells, tell_nobody
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.lifecycle import Activity, Reply
from trident.coordinators.pinned import Commit
from trident.coordinators.planned import Plan
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import (
    AnswerCommand,
    Apply,
    Cancel,
    CommitTogether,
    DecidePin,
    RecordDone,
    ShareWork,
)
from trident.coordinators.registered import Keep
from trident.coordinators.retrying import Repeater
from trident.spouts.base import NamesMessages, ReceivesRows, ReportsPositions, Source
from trident.state.capabilities import expired_keys, relaying_of
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")


class TurnWorker(Protocol):
    """Does a batch's work in the commit turn: what reads the values that the txid before it has left."""

    def work(self, batch: BatchId, outcome: Outcome) -> Outcome:
        """Return the outcome with what the turn adds, staged as the pin needs it and seen by no reader.

        Called when every txid before the batch's is done; again, with a new attempt, after a failure.
        Raises `RetryableError` when another attempt may succeed, `FatalError` when none can.
        """


def _as_it_is(reply: Reply) -> Reply:
    return reply


@dataclass(frozen=True)
class Parts:
    """All that requests are performed on, opened and taken over."""

    ledger: Ledger
    sources: Mapping[str, Source]
    stores: Mapping[str, Target]
    runner: BatchRunner
    plans: PlanMaker
    book: PlanBook
    committer: Committer
    repeater: Repeater
    last_repeater: Repeater
    """For the last write, which the end of the run does not cut short."""
    keep: Keep
    turn: TurnWorker | None = None
    in_full: Callable[[Reply], Reply] = _as_it_is
    """Adds to the answer to a command what the loop can't know."""
    tells: Tells = tell_nobody


class Work:
    """Performs requests; each lane's from one thread at a time, `Lane.PROCESS` from several."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def perform(self, request: Request) -> Answer:
        """Return what the request brings, or raise what ended it; idempotent calls are repeated until they are heard.

        The pause of a plan is its caller's affair.
        """
        parts = self._parts
        match request:
            case CommitStep():
                self._commit(request)
            case BuildPlan(command):
                what = f"asking what there is for {command.batch}"
                return parts.repeater.call(what, partial(parts.plans.build, command))
            case StorePlan(command, plan):
                parts.repeater.call(f"planning {command.batch}", partial(parts.plans.store, command, plan))
                if plan is not None:
                    parts.tells(telling.planned(command.batch, plan))
            case Drop(command):
                parts.repeater.call("dropping unfinished batches", partial(parts.plans.drop, command))
            case RunBatch(batch, plan, edges, plan_ms):
                acknowledged, outcome = parts.runner.run(batch, plan, edges, plan_ms)
                parts.tells(telling.processed(batch, outcome))
                return Processed(acknowledged, outcome)
            case WorkTurn(batch, outcome):
                assert parts.turn is not None, "a topology with work in the turn has a worker"
                return parts.turn.work(batch, outcome)
            case CleanUp(batch, state):
                self._clean_up(batch, state)
            case LetGo(batch):
                reached(CrashPoint.BEFORE_CLEAN_UP, batch.txid)
                clean = partial(parts.ledger.clean_up, batch.owner, batch.epoch, parts.keep)
                parts.repeater.call("cleaning the ledger up", clean)
            case Relay(owner, epoch, sink, done):
                send = partial(relaying_of(parts.stores[sink]).relay, owner, epoch, done)
                return parts.repeater.call(f"sending what waits in sink {sink!r}", send)
            case Tell(batch, plan):
                self._tell(batch, plan)
            case TakeCommands(owner, epoch):
                take = partial(parts.ledger.take_commands, owner, epoch)
                return Taken(parts.repeater.call("reading the commands that wait", take))
            case AnswerCommand(owner, epoch, number, reply):
                reply = parts.in_full(reply)
                _log.info("topology=%s command=%d %s: %s", owner.topology, number, reply.verdict, reply.text)
                write = partial(parts.ledger.answer, owner, epoch, number, reply)
                parts.repeater.call(f"answering command {number}", write)
                if reply.activity is not None:
                    self._set_active(reply.activity is Activity.ACTIVE)
            case ShareWork(parallelism):
                assert isinstance(parts.runner.processor, SharesWork), "only such a one is asked to"
                parts.runner.processor.share_work(parallelism)
            case Cancel(batch):
                parts.runner.cancel(batch)
            case RecordStop(owner, epoch, error):
                received = [name for name, source in parts.sources.items() if isinstance(source, ReceivesRows)]
                told = parts.committer.told(error)
                parts.tells(telling.refused(owner, epoch, told.refusal))
                plan = parts.book.plans.get(told.refusal.txid)
                return record_stop(parts.ledger, owner, epoch, told, parts.last_repeater, received, plan)
        return None

    def end(self) -> None:
        """Let calls of the engine that come back from now on do nothing more: what they would use is closed."""
        self._parts.runner.is_over.set()

    def _commit(self, request: CommitStep) -> None:
        committer, outcome = self._parts.committer, request.outcome
        match request.command:
            case CommitTogether(batch):
                self._finished(batch, outcome, committer.together(batch, outcome))
            case DecidePin(batch):
                committer.pin(batch, outcome)
            case Apply(batch, state):
                committer.apply(batch, state, outcome.pin())
            case RecordDone(batch):
                self._finished(batch, outcome, committer.done(batch, outcome))

    def _finished(self, batch: BatchId, outcome: Outcome, commit: Commit) -> None:
        expired = expired_keys(self._parts.stores, batch.txid)
        log_dead_letters(batch.owner.topology, batch.txid, outcome.dead_letters)
        behind = self._parts.book.behind(outcome.plan)
        log_batch(batch, outcome.plan, commit, sum(behind.values()), outcome.turn_ms, expired)
        for loss in telling.losses(batch, outcome.plan):
            self._parts.tells(loss)
        self._parts.tells(telling.committed(batch, outcome, commit, behind))
        if outcome.manifests:  # there are none yet where a batch is read behind its record
            measure(self._parts.book, outcome)

    def _clean_up(self, batch: BatchId, state: str) -> None:
        reached(CrashPoint.BETWEEN_CLEAN_UPS, batch.txid)
        tidy = partial(self._parts.stores[state].clean_up, batch.owner, batch.epoch, batch.txid)
        self._parts.repeater.call(f"cleaning state {state!r} up", tidy)

    def _set_active(self, active: bool) -> None:
        for source in self._parts.sources.values():
            if isinstance(source, NamesMessages):
                source.set_active(active)

    def _tell(self, batch: BatchId, plan: Plan) -> None:
        for name, source in self._parts.sources.items():
            ranges = [item.range for item in plan.ranges if item.spout == name]
            source.committed(batch.txid, ranges)
            if isinstance(source, ReportsPositions):
                source.report(batch.owner.topology, ranges)
        self._parts.book.finished = batch.txid


def measure(book: PlanBook, outcome: Outcome) -> None:
    """Learn how large the records of a batch's streams are."""
    for spout in {item.spout for item in outcome.plan.ranges}:
        read = [manifest for name, manifest in outcome.manifests if name == spout]
        width = sum(item.range.width for item in outcome.plan.ranges if item.spout == spout)
        size_bytes, count = sum(item.size_bytes for item in read), sum(item.count for item in read)
        book.record_size(spout, size_bytes, count, width)
