"""What a simulated coordinator asks of the far side, and which of it goes one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.simulation.scripts import Answer
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.acking.edges import BatchEdges
from trident.coordinators.batches.committer import Outcome
from trident.coordinators.batches.stopping import StoppedError
from trident.coordinators.planned import Plan
from trident.coordinators.protocol.messages import Apply, CommitTogether, DecidePin, DropFrom, MakePlan, RecordDone

Lane = str
"""What runs one by one; batches are processed side by side and have no lane."""

START, PLAN, COMMIT = "start", "plan", "commit"


class Start(NamedTuple):
    """The take-over, with the answers so far."""

    answers: tuple[Answer, ...] = ()


class Build(NamedTuple):
    command: MakePlan


class Store(NamedTuple):
    command: MakePlan
    plan: Plan | None


class Drop(NamedTuple):
    command: DropFrom


class Work(NamedTuple):
    """Goes on to its end when the attempt is dropped meanwhile: what it stages then is garbage."""

    batch: BatchId
    plan: Plan
    edges: BatchEdges


class Commit(NamedTuple):
    command: CommitTogether | DecidePin | Apply | RecordDone
    outcome: Outcome


class CleanUp(NamedTuple):
    batch: BatchId
    store: str | None


class Stop(NamedTuple):
    """The last write of a coordinator that can't go on: why. It has no lane, nothing else is sent beside it."""

    owner: Owner
    error: StoppedError


class Release(NamedTuple):
    epoch: Epoch


Job = Start | Build | Store | Drop | Work | Commit | CleanUp | Stop | Release
LANES: Mapping[type, Lane] = {
    Start: START,
    Release: START,
    Build: PLAN,
    Store: PLAN,
    Drop: PLAN,
    Commit: COMMIT,
    CleanUp: COMMIT,
}


class Processed(NamedTuple):
    acknowledged: tuple[int, ...]
    outcome: Outcome
