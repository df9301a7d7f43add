"""Drawn lives of topologies at the two weaker levels: deaths anywhere, writes that fail or whose answer is lost.

Every topology that its person starts often enough comes to its end; then nothing is missing at least once, nothing is
there twice at most once, and where nothing went wrong each record is there once.
"""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import pyarrow as pa
import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.effort import base_seed, effort
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError, OutcomeUnknownError, RetryableError
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.state import MemoryState
from trident.state.memory.plain import PlainMemory
from trident.state.plainly import Holds
from trident.testing.coordinators import PlayedClock
from trident.testing.lives import CoordinatorDiedError, Death, Life, MortalDatabase, MortalLedger

_WRITE = PlainMemory.write
LEASE = timedelta(seconds=2)
STARTS = 4
DEATHS = tuple(
    point
    for point in CrashPoint
    if point not in (CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL) and not point.startswith(("sink", "outbox"))
)


@dataclass
class World:
    """One topology, the faults that it meets, and how much of it each account should have."""

    rng: random.Random
    level: Level
    quiet: bool

    def __post_init__(self) -> None:
        rng = self.rng
        self.topic = Topic([[(f"a{rng.randrange(5)}", 1) for _ in range(rng.randrange(30))] for _ in range(3)])
        self.kept = MemoryLedger()
        self.clock = PlayedClock()
        self.options = replace(OPTIONS, lease=LEASE, max_pending=rng.randrange(1, 4), max_tries=50)

    @property
    def job(self) -> ListJob:
        return make_job(
            self.topic, MemoryState("one"), MemoryState("two"), level=self.level, meddle=self.fail_sometimes
        )

    def fail_sometimes(self, _: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if not self.quiet and self.rng.random() < 0.1:
            raise RetryableError("an executor went away")
        return result

    def live(self) -> RunSummary | None:
        """Let a coordinator live to its end, or to a drawn death; None for that."""
        may_die = not self.quiet and self.rng.random() < 0.7
        death = Death(self.rng.choice(DEATHS), self.rng.randrange(1, 5)) if may_die else None
        life = Life(death)
        ledger = MortalLedger(self.clock, database=MortalDatabase(self.kept.database, life))
        self.clock.outlive(2 * LEASE)
        with armed(life.reach):
            try:
                return TopologyRun(self.job.plan(), ledger, self.options, self.clock).run()
            except CoordinatorDiedError:
                return None

    def rows(self, state: str) -> dict[str, int]:
        return {str(row["account"]): int(str(row["n"])) for row in MemoryState(state).rows(self.kept.database)}

    def check(self, *, is_over: bool = False) -> None:
        """Hold what is there against the topic: at its end, nothing may be missing at least once."""
        wanted = {account: n for account, (n, _) in self.topic.expected().items()}
        for state in ("one", "two"):
            found = self.rows(state)
            assert found.keys() <= wanted.keys()
            for account, n in wanted.items():
                there = found.get(account, 0)
                if self.quiet and is_over:
                    assert there == n, (state, account)
                elif self.level is Level.AT_MOST_ONCE:
                    assert there <= n, (state, account)
                else:
                    assert there >= n or not is_over, (state, account)


def write_badly(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write = _WRITE

    def badly(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        drawn = 1.0 if world.quiet else world.rng.random()
        if drawn < 0.1:
            raise RetryableError("the database was away")
        write(self, batch, rows, *holds)
        if drawn < 0.2:
            raise OutcomeUnknownError("the answer was lost")

    monkeypatch.setattr(PlainMemory, "write", badly)


@pytest.mark.parametrize("quiet", [False, True], ids=["with faults", "without"])
@pytest.mark.parametrize("level", [Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE])
def test_no_life_breaks_the_word_of_its_level(level: Level, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in itertools.islice(itertools.count(base_seed()), effort().level_lives):
        with monkeypatch.context() as patching:
            world = World(random.Random(seed), level, quiet)
            write_badly(world, patching)
            for _ in range(STARTS):
                with suppress(FatalError):  # so many batches were lost that somebody has to look
                    world.live()
            world.check()
            last = World(random.Random(seed), level, quiet=True)
            last.topic, last.kept, last.clock = world.topic, world.kept, world.clock
            write_badly(last, patching)
            assert last.live() is not None, f"seed {seed}"
            world.check(is_over=True)
