"""A topology whose second state is renamed again and again, in whatever store, beside an account of its own."""

from __future__ import annotations

import random
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tests.coordinators.dying import goes_well
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from tests.ledger.making import run_out
from trident.base.crash_points import CrashPoint
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, rename_states, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import MemoryLedger, SqliteLedger
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.memory.rows import Rows
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.state import MemoryState, SqliteState
from trident.state.memory.database import MemoryDatabase
from trident.state.target import State

NAMES = ("sums", "totals", "Totals")
TABLE = "kept"
Sums = dict[str, tuple[int, int]]
POINTS = [
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_STAGING,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_DONE,
    CrashPoint.AFTER_DECIDING_UNDO,
    CrashPoint.AFTER_UNDOING_STATE,
    CrashPoint.AFTER_DECIDING_RESET,
    CrashPoint.AFTER_RESETTING_STATE,
]
OF_RENAMES = [CrashPoint.BEFORE_RENAMING, CrashPoint.AFTER_RENAMING, CrashPoint.AFTER_FOLLOWING]


@dataclass
class Place(ABC):
    """Where a ledger and the renamed state lie; another state is always beside the ledger."""

    folder: Path
    apart: bool

    @abstractmethod
    def ledger(self) -> Ledger:
        """Open the ledger."""

    @abstractmethod
    def states(self, name: str) -> list[State]:
        """Return the states, the second one under that name."""

    @abstractmethod
    def sums(self, name: str) -> Sums:
        """Return what the renamed state holds."""


@dataclass
class InMemory(Place):
    kept: MemoryLedger = field(default_factory=MemoryLedger)
    own: MemoryDatabase = field(default_factory=MemoryDatabase)

    def ledger(self) -> Ledger:
        return self.kept

    def states(self, name: str) -> list[State]:
        return [MemoryState("balances"), MemoryState(name, database=self.own if self.apart else None)]

    def sums(self, name: str) -> Sums:
        rows = MemoryState(name, database=self.own if self.apart else None).rows(self.kept.database)
        return {str(row["account"]): (int(str(row["n"])), int(str(row["total"]))) for row in rows}


@dataclass
class InSqlite(Place):
    @property
    def file(self) -> Path:
        return self.folder / ("sums.sqlite" if self.apart else "ledger.sqlite")

    def ledger(self) -> Ledger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def states(self, name: str) -> list[State]:
        return [SqliteState("balances"), SqliteState(name, path=self.file if self.apart else None, table=TABLE)]

    def sums(self, name: str) -> Sums:
        with sqlite3.connect(self.file) as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {TABLE}")}


PLACES: dict[str, Callable[[Path], Place]] = {
    "memory, beside the ledger": partial(InMemory, apart=False),
    "memory, apart": partial(InMemory, apart=True),
    "sqlite, beside the ledger": partial(InSqlite, apart=False),
    "sqlite, apart": partial(InSqlite, apart=True),
}


@dataclass
class World:
    """One topology; what it is called is known but for a rename that died."""

    place: Place
    chance: random.Random
    topic: Topic = field(default_factory=lambda: Topic([[(f"a{n % 5}", n + 1) for n in range(9)]]))
    names: set[str] = field(default_factory=lambda: {NAMES[0]})
    """What the state may be called now."""
    told: list[str] = field(default_factory=list)
    renamed: int = 0

    def job(self, name: str) -> ListJob:
        return make_job(self.topic, *self.place.states(name))

    def act(self, what: str, action: Callable[[], object], points: list[CrashPoint]) -> bool:
        """Do something that may die or be refused; returns whether it succeeded."""
        point = self.chance.choice(points) if points and self.chance.random() < 0.6 else None
        left = self.chance.choice([1, 1, 2])

        try:
            return goes_well(what, action, self.told, point, left)
        finally:
            self.let_go()

    def let_go(self) -> None:
        ledger = self.place.ledger()
        ledger.open(OPTIONS.timeouts)
        if isinstance(ledger, SqlLedger):
            run_out(ledger)
        elif isinstance(ledger, MemoryLedger):
            with ledger.database.transaction() as transaction:
                rows = Rows(transaction)
                held = rows.holding("payments")
                assert held is not None
                rows.put_holding("payments", replace(held, released=True))
        ledger.close()

    def start(self, name: str, points: list[CrashPoint]) -> bool:
        """Run a version to its end: everything is whole then, and the name is known."""
        is_well = self.act(f"run {name}", lambda: run(self.job(name), self.place.ledger()), points)
        if is_well:
            assert name in self.names, f"{name} goes on, and may only be {self.names}"
            self.names = {name}
            assert self.place.sums(name) == self.topic.expected()
        return is_well

    def rename(self, former: str, name: str) -> None:
        plan = self.job(name).plan()
        is_well = self.act(
            f"rename {former} to {name}",
            lambda: rename_states(plan.spec, plan.targets, self.place.ledger(), {former: name}, OPTIONS),
            [*OF_RENAMES, *OF_RENAMES, *POINTS],
        )
        if is_well:
            self.renamed += 1
            assert {former, name} & self.names, f"{former} is renamed to {name}, and may only be {self.names}"
            self.names = {name}
        elif "died" in self.told[-1] and former in self.names:
            self.names = self.names | {name}

    def step(self) -> None:
        """Do one thing that people or supervisors do."""
        name, other = self.chance.sample(NAMES, 2)
        known = self.chance.choice(sorted(self.names))
        plan, ledger = self.job(known).plan(), self.place.ledger()
        match self.chance.choice(["come", "run", "run", "rename", "rename", "rename", "reset", "undo"]):
            case "come":
                self.come()
            case "run":
                self.start(self.chance.choice([name, known, known]), POINTS)
            case "rename":
                self.rename(self.chance.choice([known, known, name]), other)
            case "reset":
                self.act(
                    f"reset by {known}",
                    lambda: reset_topology(
                        plan.spec, plan.targets, ledger, keep_rows=True, start="resume", options=OPTIONS
                    ),
                    POINTS,
                )
            case "undo":
                wanted = WantedDecision(DecisionKind.UNDO, self.newest())
                self.act(
                    f"undo {wanted.txid} by {known}",
                    lambda: decide_topology(plan.spec, plan.targets, ledger, wanted, OPTIONS, plan.spouts),
                    POINTS,
                )

    def newest(self) -> int:
        ledger = self.place.ledger()
        ledger.open(OPTIONS.timeouts)
        standing = ledger.view().status("payments")
        ledger.close()
        return standing.pinned or standing.done or 1

    def come(self) -> None:
        """Let some more records be there."""
        (records,) = self.topic.partitions
        records += [(f"a{self.chance.randint(0, 4)}", self.chance.randint(1, 9)) for _ in range(4)]

    def live(self, steps: int) -> None:
        """Live so many steps; then whoever has the name goes on, with everything."""
        assert self.start(NAMES[0], [])
        try:
            for _ in range(steps):
                self.step()
            self.come()
            well = [name for name in sorted(self.names) if self.start(name, [])]
            assert well, "nobody starts any more"
            self.come()
            (name,) = self.names
            assert self.start(name, [])
        except AssertionError as error:
            raise AssertionError("\n".join([*self.told, str(error)])) from error
