"""A topology at a weaker level to which a seed does what people, supervisors and databases may do."""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.level_account import LevelAccount, Rows, key_of
from tests.coordinators.level_place import LEASE, LevelPlace
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError, OutcomeUnknownError, RefusedError, RetryableError, TridentError
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.coordinators.holding.keeping import Heartbeat
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger.view import TopologyStatus
from trident.state.memory.plain import PlainMemory
from trident.state.plainly import Holds
from trident.state.sqlite.database import SqliteDatabase
from trident.state.tables.plain import PlainTable
from trident.testing.lives import CoordinatorDiedError, Death, Life

NAME = "payments"
DEATHS = {
    "run": (
        CrashPoint.AFTER_LOOKING,
        CrashPoint.AFTER_REGISTRATION,
        CrashPoint.AFTER_RECORDING_BIRTHS,
        CrashPoint.AFTER_STARTS,
        CrashPoint.AFTER_PLAN,
        CrashPoint.AFTER_STAGING,
        CrashPoint.AFTER_STAGING,
        CrashPoint.IN_TURN,
        CrashPoint.BEFORE_PIN,
        CrashPoint.IN_PIN_TRANSACTION,
        CrashPoint.AFTER_PIN,
        CrashPoint.AFTER_DONE,
        CrashPoint.AFTER_DONE,
    ),
    "drop": (CrashPoint.BEFORE_DROPPING, CrashPoint.AFTER_DROPPING),
    "reset": (
        CrashPoint.AFTER_LOOKING,
        CrashPoint.AFTER_DECIDING_RESET,
        CrashPoint.AFTER_RESETTING_STATE,
        CrashPoint.AFTER_RESETTING_STATE,
        CrashPoint.AFTER_RESET,
    ),
}
VERSIONS = {"both": ("one", "two"), "first": ("one",), "second": ("two",)}
_LOST = re.compile(r"(\d+) batches that are recorded as done were lost")


class LevelWorld:
    """One topology with up to two targets, of which the second may be apart from the ledger; over memory or SQLite."""

    def __init__(self, rng: random.Random, level: Level, folder: Path) -> None:
        self.rng = rng
        self.level = level
        self.account = LevelAccount(level)
        self.told: list[str] = []
        self.met: Counter[str] = Counter()
        self._place = LevelPlace(rng, NAME, folder)
        self._topic = Topic([[]])
        self._options = replace(OPTIONS, lease=LEASE, max_pending=rng.randrange(1, 4), max_tries=6)
        self._fails, self._refuses, self._refusals = 0.0, "", 0
        self._sleep: Callable[[], None] | None = None
        self._sleeps_in_write = False
        self._falling = threading.Lock()
        self._is_awake = threading.Event()
        self._is_awake.set()
        self._keeps = False
        self._stopped = self._begins = 0
        self._failed = 0

    @contextmanager
    def going(self) -> Iterator[None]:
        """Let writes fail as it is drawn, transactions of SQLite's end with a life, and no heart beat."""
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(Heartbeat, "_beat", lambda _: None)
            for kind in (PlainMemory, PlainTable):
                patching.setattr(kind, "write", self._writes(kind.write))
            patching.setattr(SqliteDatabase, "transaction", self._place.mortal(SqliteDatabase.transaction))
            yield

    def step(self) -> None:
        """Do one thing that happens to topologies."""
        kind = self.rng.choice(["run", "run", "run", "sleep", "drop", "reset", "rival"])
        version = self.rng.choice(["both", "both", "first", "second"])
        births = self._births()
        if births and self.rng.random() < 0.7:  # else it is mostly another version than the one that has run
            version = next(name for name, targets in VERSIONS.items() if births == set(targets))
        if self.rng.random() < 0.7:
            self.come()
        if kind == "run":
            self.run(version, dies=self.rng.random() < 0.6)
        elif kind == "sleep":
            self.come()
            self.run_asleep(version)
        elif kind == "drop":
            self.drop(version, self.rng.choice(["one", "two", "two"]))
        elif kind == "reset":
            self.reset(version, dies=self.rng.random() < 0.4)
        else:
            self.rival()

    def come(self) -> None:
        """Let some more records be there."""
        records = self._topic.partitions[0]
        for _ in range(self.rng.randrange(1, 40)):
            records.append((key_of(len(records)), 1))

    def run(self, version: str, *, dies: bool = False, is_quiet: bool = False) -> bool:
        """Run a version until it is caught up, has died, was refused or has ended; tells whether it is caught up."""
        if not is_quiet:
            self._fails = self.rng.choice([0.0, 0.0, 0.1])
            self._refuses, self._refusals = self.rng.choice(["", "", "one", "two"]), self.rng.randrange(1, 10)
        is_well = self._act(f"run {version}", lambda: self._run(version), dies=dies)
        self._fails, self._refuses = 0.0, ""
        return is_well

    def run_asleep(self, version: str) -> None:
        """Let an owner stand still, be replaced and wake up."""
        resets = self.rng.random() < 0.4

        def meanwhile() -> None:
            if resets:
                self.reset(version, dies=False)
            at_least = self.level is Level.AT_LEAST_ONCE
            with self.account.excusing(1 if at_least else self._options.max_pending, for_good=at_least):
                self.run(version, is_quiet=True)
            self._tell("it wakes up", "an owner wakes up")

        self._sleeps_in_write = self.rng.random() < 0.5
        self._sleep = meanwhile

        def run() -> None:
            try:
                self._run(version)
            finally:
                with self._falling:
                    self._sleep = None
                assert self._is_awake.wait(60)  # it may end in one thread while another one stands still

        self._act(f"run {version} asleep", run, dies=False)

    def drop(self, version: str, target: str) -> None:
        """Take a target out of the topology."""
        if target not in VERSIONS[version]:
            return
        plan = self._job(version).plan(NAME)

        def drop() -> None:
            drop_from_topology(plan.spec, plan.targets, self._place.ledger(), target, self._options)

        self._act(f"drop {target} by {version}", drop, dies=self.rng.random() < 0.4)

    def reset(self, version: str, *, dies: bool) -> None:
        """Reset the topology, its states emptied or kept."""
        keeps = self.rng.random() < 0.4
        start = self.rng.choice(["earliest", "resume", None])
        plan, ledger = self._job(version).plan(NAME), self._place.ledger()
        before, at, stopped, kept = self._found(version)

        def found(_: object) -> None:
            # threads of an owner that stands still may have gone on until the reset had taken the topology from it
            nonlocal before, at, stopped, kept
            before, at, stopped, kept = self._found(version)

        def reset() -> None:
            begin = partial(reset_topology, plan.spec, plan.targets, ledger, keep_rows=keeps, start=start, agree=found)
            begin(options=self._options)

        def settle() -> None:
            now, was_open = self._place.status(), before is not None and before.open_reset
            if now is None or (before is not None and now.incarnation == before.incarnation and not now.open_reset):
                return
            if was_open and (keeps or not self._keeps):
                return  # that one was finished; but one that keeps rows gives way to one that empties them
            self._keeps, self.account.excused = keeps, 0
            begins = 0 if start == "earliest" or (start is None and not keeps) else at
            if start == "resume":  # behind what is done, whatever a reset that nothing has followed has said
                begins = stopped
            self._begins = begins
            for target in VERSIONS[version]:
                self.account.born(target, begins, kept[target] if keeps else {})

        self._act(f"reset by {version}, keeps={keeps}, start={start}", reset, dies=dies, settle=settle)

    def _found(self, version: str) -> tuple[TopologyStatus | None, int, int, dict[str, Rows]]:
        """Return the status, up to where all is done, up to where it was when one ran last, and a version's rows."""
        status, at = self._place.status(), self._place.position()
        if status is not None and status.done > status.birth_txid:
            self._stopped = at  # else nothing has followed the reset before
        return status, at, self._stopped, {target: self._place.rows(target) for target in VERSIONS[version]}

    def rival(self) -> None:
        """Let another topology, of whatever level, want a target that this one has."""
        status = self._place.status()
        if status is None or not status.births:
            return
        target = self.rng.choice(status.births).state
        if not self._place.is_owned(target):
            return
        before = self._place.rows(target)
        job = make_job(Topic([[("theirs", 1)]]), self._place.state(target), level=self.rng.choice(list(Level)))
        plan, ledger = job.plan("rival"), self._place.ledger()
        reset = partial(reset_topology, plan.spec, plan.targets, ledger, keep_rows=False, start=None, ledger_lost=True)
        act: Callable[[], object] = partial(reset, options=self._options)
        if self.rng.random() < 0.5:
            act = TopologyRun(plan, ledger, self._options, self._place.clock).run
        with pytest.raises(MismatchError):
            act()
        assert self._place.rows(target) == before, "what is another's was changed"
        self.met["a rival is refused"] += 1

    def finish(self) -> None:
        """Start what can be started; where nothing can, a reset that empties all states must help."""
        self.come()
        for version in ("both", "first", "second"):
            if self.run(version, is_quiet=True):
                return
        self.met["only a reset goes on"] += 1
        plan = self._job("both").plan(NAME)

        def settle() -> None:
            for target in VERSIONS["both"]:
                self.account.born(target, 0, {})

        at_all = self._act(
            "the last reset",
            lambda: reset_topology(
                plan.spec, plan.targets, self._place.ledger(), keep_rows=False, start="earliest", options=self._options
            ),
            dies=False,
            settle=settle,
        )
        assert at_all, "nothing goes on"
        assert self.run("both", is_quiet=True), "nothing goes on behind a reset"

    def check(self, *, is_over: bool) -> None:
        """Hold every target that the topology has against the account."""
        status = self._place.status()
        if status is None or status.open_reset:
            return
        done = self._place.position()
        for birth in status.births:
            if birth.state in self.account.since:
                self.account.check(birth.state, self._place.rows(birth.state), done)
        if is_over:
            assert done == len(self._topic.partitions[0])

    def _act(
        self, what: str, action: Callable[[], object], *, dies: bool, settle: Callable[[], None] = lambda: None
    ) -> bool:
        """Do something in a life of its own that may end anywhere; tells whether it went well."""
        self._failed = 0
        before, known, at = self._done(), self._births(), self._place.position()
        status = self._place.status()
        if status is not None and status.open_reset:  # what comes with it begins where it says
            at = self._begins
        kind = what.split()[0]
        death = Death(self.rng.choice(DEATHS[kind]), self.rng.choice([1, 1, 2, 3])) if dies else None
        self._place.outlive()
        outer, life = self._place.life, Life(death)
        self._place.life = life
        ended: BaseException | None = None
        try:
            # a reset is about no txid
            with armed(lambda point, txid: life.reach(point, txid or int(kind == "reset"))):
                action()
        except (CoordinatorDiedError, TridentError) as error:
            ended = error
        finally:
            self._place.life = outer
        self._place.outlive()
        settle()
        for target in self._births() - known:
            if target not in self.account.since:
                self.account.born(target, at, {})
        self._hear_end(what, kind, ended, before)
        self.check(is_over=kind == "run" and ended is None)
        return ended is None

    def _hear_end(self, what: str, kind: str, ended: BaseException | None, before: int) -> None:
        """Tell how something ended, and excuse what that lets pass; `before` is the txid that was done."""
        if ended is None:
            self._tell(f"{what}: went well", kind)
        elif isinstance(ended, CoordinatorDiedError):
            self._tell(f"{what}: {ended}", f"a coordinator dies in a {kind}")
            is_lost = min(self._options.max_pending, max(0, self._done() - before))
            if kind == "run":
                self.account.excuse(1 if self.level is Level.AT_LEAST_ONCE else is_lost + self._failed)
        else:
            notes: list[str] = getattr(ended, "__notes__", [])
            self._tell(f"{what}: {type(ended).__name__} {ended} {notes}", type(ended).__name__)
            for found in map(_LOST.search, notes):
                self.account.excuse(int(found[1]) if found is not None else 0)

    def _run(self, version: str) -> None:
        summary = TopologyRun(
            self._job(version).plan(NAME), self._place.ledger(), self._options, self._place.clock
        ).run()
        self.account.excuse(summary.lost)

    def _tell(self, what: str, kind: str) -> None:
        self.told.append(what)
        self.met[kind] += 1

    def _job(self, version: str) -> ListJob:
        states = [self._place.state(target) for target in VERSIONS[version]]
        return make_job(self._topic, *states, level=self.level, meddle=self._meddle)

    def _meddle(self, _: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if not self._sleeps_in_write:
            self._fall_asleep()
        if self._fails and self.rng.random() < self._fails:
            self._failed += 1
            raise RetryableError("an executor went away")
        return result

    def _fail(self) -> None:
        """Hear that a write fails: at most once its run tells of it, unless it dies."""
        self._failed += 1
        self.account.excuse(int(self.level is Level.AT_LEAST_ONCE))

    def _fall_asleep(self) -> None:
        with self._falling:
            if self._sleep is None or self.rng.random() < 0.5:
                return
            meanwhile, self._sleep = self._sleep, None
            self._is_awake.clear()
        try:
            meanwhile()
        finally:
            self._is_awake.set()

    def _writes(self, write: Callable[..., None]) -> Callable[..., None]:
        def badly(target: PlainMemory | PlainTable, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
            if self._sleeps_in_write:
                self._fall_asleep()
            if target.name == self._refuses and self._refusals:
                self._refusals -= 1
                self._fail()  # at least once what was written before it is written again
                raise RefusedError("a constraint")
            drawn = self.rng.random() if self._fails else 1.0
            if drawn < self._fails / 2:
                raise RetryableError("the database was away")
            write(target, batch, rows, *holds)
            if drawn < self._fails:
                self._fail()
                raise OutcomeUnknownError("the answer was lost")

        return badly

    def _done(self) -> int:
        status = self._place.status()
        return 0 if status is None else status.done

    def _births(self) -> set[str]:
        status = self._place.status()
        return set() if status is None else {birth.state for birth in status.births}
