"""Requests and answers in words, for the traces that people read."""

from __future__ import annotations

from tests.simulation.jobs import Job, Release, Start
from tests.simulation.scripts import Answer, Progressed
from trident.base.identity import BatchId, Epoch
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
    WorkTurn,
)
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Acquired
from trident.state.positions import Position


def told(job: Job) -> str:
    """Return a request as the exploration's trace names it."""
    match job:
        case Start(answers):
            return f"call {len(answers) + 1} of its take-over"
        case BuildPlan(command):
            return f"asks what there is for txid {command.batch.txid}"
        case StorePlan(command, plan):
            drop = "" if command.drop_from is None else f", dropping from txid {command.drop_from} on"
            return f"writes the plan of txid {command.batch.txid} attempt {command.batch.attempt}{drop}" + (
                "" if plan is not None else " (there is none)"
            )
        case Drop(command):
            return f"drops from txid {command.txid} on"
        case RunBatch(batch):
            return f"processes and stages txid {batch.txid} attempt {batch.attempt}"
        case WorkTurn(batch):
            return f"works in the commit turn of txid {batch.txid} attempt {batch.attempt}"
        case CommitStep(command, _):
            state = f" to {command.state}" if hasattr(command, "state") else ""
            return f"{type(command).__name__} txid {command.batch.txid} attempt {command.batch.attempt}{state}"
        case CleanUp(batch, state):
            return f"cleans up after txid {batch.txid} in {state}"
        case LetGo(batch):
            return f"lets go of history before txid {batch.txid}"
        case Relay(_, _, sink, done):
            return f"sends what waits in {sink} up to txid {done}"
    return type(job).__name__


def logged(job: Job) -> str:
    """Return a request as a seed's trace names it."""
    match job:
        case Start(answers):
            return f"take-over or decision, from call {len(answers) + 1} on"
        case BuildPlan(command) | StorePlan(command):
            text = f"{type(job).__name__} {_named(command.batch)}"
            return text if command.drop_from is None else f"{text} dropping from {command.drop_from}"
        case Drop(command):
            return f"Drop from {command.txid}"
        case RunBatch(batch) | WorkTurn(batch):
            return f"{type(job).__name__} {_named(batch)}"
        case CommitStep(command, _):
            return f"{type(command).__name__} {_named(command.batch)} {getattr(command, 'state', '')}".rstrip()
        case CleanUp(batch, store):
            return f"CleanUp {batch.txid} {store}"
        case LetGo(batch):
            return f"LetGo {batch.txid}"
        case Relay(_, _, sink, done):
            return f"Relay {sink} {done}"
        case RecordStop(_, _, error):
            return f"records that it stops at txid {error.refusal.txid}"
        case Release(epoch):
            return f"Release {epoch.number}"
    return type(job).__name__


def _named(batch: BatchId) -> str:
    return f"{batch.txid}/{batch.attempt}"


def outcome(answer: Answer | Progressed) -> str:
    """Return what came back, in a word."""
    if isinstance(answer, Progressed):
        return ", ".join(map(outcome, answer.answers))
    if answer.error is not None:
        return f"{type(answer.error).__name__}: {answer.error}"
    value = answer.value
    if isinstance(value, Plan):
        ranges = ", ".join(f"{item.range.id.partition}[{item.range.start},{item.range.stop})" for item in value.ranges)
        return f"{ranges} losses {len(value.losses)}"
    if isinstance(value, Position | Acquired | Epoch):
        return str(value)
    return "ok"
