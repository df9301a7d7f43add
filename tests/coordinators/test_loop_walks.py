"""Random walks over the bare loop: words in any order, moments far past several deadlines, few tries."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import timedelta

from tests.coordinators.test_loop import EPOCH, OWNER, SPAN, outcome_of, plan_of
from tests.effort import base_seed, effort
from trident.base.errors import FatalError, FencedError, RetryableError
from trident.base.identity import BatchId
from trident.base.ranges import Edge
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.requests import (
    LANES,
    BuildPlan,
    CommitStep,
    Lane,
    Processed,
    RecordStop,
    Request,
    RunBatch,
    WorkTurn,
)
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.planned import PartFull
from trident.coordinators.protocol.messages import Cancel, CommitTogether, DecidePin
from trident.coordinators.protocol.state import ProtocolState
from trident.state.staged import StagingLostError


class Walk:
    """One loop and what it has asked for; every request is answered once, at a drawn moment."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.now = 0.0
        self.lanes: dict[Lane, list[Request]] = {lane: [] for lane in Lane}
        self.started: set[BatchId] = set()
        self.ended: set[BatchId] = set()
        edges = iter(range(1, 100_000))
        self.loop = Loop((self._state(), ()), self._pace(), lambda plan: {"s": (Edge(next(edges), SPAN),)})

    def _state(self) -> ProtocolState:
        draw = self.rng
        return ProtocolState(
            OWNER,
            EPOCH,
            frozenset("ab"),
            beside=draw.choice([frozenset("ab"), frozenset("a"), frozenset()]),
            max_pending=draw.choice([1, 2, 3]),
            max_tries=draw.choice([1, 2, 3]),
            done=98,
            last_attempt=200,
            turn_work=draw.random() < 0.3,
            keeps_rows=draw.random() < 0.3,
        )

    def _pace(self) -> Pace:
        draw = self.rng
        return Pace.of(
            RunOptions(
                batch_timeout=timedelta(seconds=draw.choice([1, 10])),
                idle_interval=timedelta(seconds=draw.choice([0, 1])),
                emit_interval=timedelta(seconds=draw.choice([0, 2])),
                retry_pause=timedelta(0),
                until=draw.choice(list(Until)),
                max_wait=draw.choice([None, timedelta(0), timedelta(seconds=3)]),
            )
        )

    def take(self, requests: Iterable[Request]) -> None:
        for request in requests:
            if isinstance(request, Cancel):
                self.ended.add(request.batch)
            elif isinstance(request, RunBatch):
                self.started.add(request.batch)
            self.lanes[LANES[type(request)]].append(request)

    def go(self) -> None:
        self.take(self.loop.begin(self.now))
        for _ in range(200):
            if not self.loop.is_running:
                break
            self.take(self._one_more())
        if not self.loop.is_running:
            self.check_end()

    def _one_more(self) -> list[Request]:
        draw = self.rng.random()
        if draw < 0.02:
            return self.loop.stop(self.now)
        if draw < 0.025:
            return self.loop.break_off(FencedError("another one"), self.now)
        waiting = [
            (lane, n) for lane in (Lane.PLAN, Lane.COMMIT, Lane.HISTORY) for n in range(len(self.lanes[lane][:1]))
        ]
        waiting += [(Lane.PROCESS, n) for n in range(len(self.lanes[Lane.PROCESS]))]
        if draw < 0.25 or not waiting:
            self.now += self.rng.choice([0.1, 1, 5, 11])
            return self.loop.wake(self.now)
        lane, number = self.rng.choice(waiting)
        return self._end(self.lanes[lane].pop(number), self.rng.random())

    def _end(self, request: Request, draw: float) -> list[Request]:
        loop, now = self.loop, self.now
        if isinstance(request, BuildPlan):
            if request.command.only_full and draw < 0.6:
                return loop.answered(request, PartFull(), now)
            return loop.answered(request, None if draw < 0.2 else plan_of(request.command), now)
        if isinstance(request, RunBatch):
            self.ended.add(request.batch)
            if draw < 0.3:
                return loop.failed(request, RetryableError("again"), now)
            read = () if draw < 0.4 else tuple(edge.id for edge in request.edges["s"])
            return loop.answered(request, Processed(read, outcome_of(request)), now)
        if isinstance(request, WorkTurn):
            failed = RetryableError("again")
            return loop.failed(request, failed, now) if draw < 0.2 else loop.answered(request, request.outcome, now)
        if isinstance(request, CommitStep) and isinstance(request.command, CommitTogether | DecidePin) and draw < 0.1:
            return loop.failed(request, StagingLostError("gone"), now)
        return loop.failed(request, FatalError("no"), now) if draw < 0.01 else loop.answered(request, None, now)

    def check_end(self) -> None:
        """Whatever ended it: a stop is recorded once, and every attempt has ended, was cancelled, or is live."""
        live = {item.batch for item in self.loop.state.live}
        last = [request for request in self.lanes[Lane.LAST] if isinstance(request, RecordStop)]
        assert len(last) == isinstance(self.loop.error, StoppedError)
        assert self.started - self.ended <= live
        assert self.loop.error is not None or not live


def test_no_walk_loses_a_request_or_leaves_an_attempt_behind() -> None:
    gave_up = 0
    for seed in range(base_seed(), base_seed() + effort().loop_walks):
        walk = Walk(random.Random(seed))
        walk.go()
        gave_up += isinstance(walk.loop.error, StoppedError)
    assert gave_up, "some walks end because a batch has failed too often"
