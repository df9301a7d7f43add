"""Drawn lives of two topologies that want the same tables: run, forgotten, adopted, reset, and dying anywhere.

Beside them an account of its own: which records are in the rows, and who may have them.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.coordinators.dying import goes_well
from tests.coordinators.fakes import Topic
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene
from tests.coordinators.test_forgetting import FORGETTING
from tests.coordinators.test_run import OPTIONS
from tests.effort import base_seed, effort
from trident.base.crash_points import CrashPoint
from trident.coordinators.decided import ForgottenTables
from trident.coordinators.decisions.commands import forget_topology, reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun

NAMES = ("payments", "others")
STEPS = 14
POINTS = [
    *FORGETTING,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_BIRTH,
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_DECIDING_RESET,
]


@dataclass
class World:
    """Both topologies, each reading from the beginning; whoever ran well last has the tables."""

    scene: Scene
    chance: random.Random
    told: list[str] = field(default_factory=list)
    epochs: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def plan(self, name: str) -> RunnableTopology:
        return self.scene.job().plan(name)

    def act(self, what: str, action: Callable[[], object], *, dies: bool = True) -> bool:
        """Do something that may die or be refused; returns whether it succeeded."""
        point = self.chance.choice(POINTS) if dies and self.chance.random() < 0.6 else None
        left = self.chance.choice([1, 1, 2])

        try:
            return goes_well(what, action, self.told, point, left)
        finally:
            self.scene.sql("UPDATE trident_heartbeat SET released = 1")
            self.numbers_only_rise()

    def numbers_only_rise(self) -> None:
        """Whatever was forgotten: no epoch and no txid of a name comes again."""
        for seen, statement in (
            (self.epochs, "SELECT topology, number FROM trident_fence"),
            (self.used, "SELECT topology, last_txid FROM trident_progress"),
        ):
            for name, number in self.scene.sql(statement):
                assert int(str(number)) >= seen.get(str(name), 0), f"{name} began below {seen}"
                seen[str(name)] = int(str(number))

    def run(self, name: str, *, dies: bool = True) -> bool:
        """Run to the end; the rows are all records then, each once, or what was adopted and all that came since."""
        ledger = self.scene.ledger()
        is_well = self.act(f"run {name}", lambda: TopologyRun(self.plan(name), ledger, OPTIONS).run(), dies=dies)
        if is_well:
            expected = self.scene.topic.expected()
            assert self.scene.rows("balances") == expected, f"balances after a run of {name}"
            assert self.scene.rows("totals") == expected, f"totals after a run of {name}"
        return is_well

    def forget(self, name: str, tables: ForgottenTables, *, dies: bool = True) -> bool:
        plan, ledger = self.plan(name), self.scene.ledger()
        return self.act(
            f"forget {name} ({tables})",
            lambda: forget_topology(plan.spec, plan.targets, ledger, tables, OPTIONS),
            dies=dies,
        )

    def clear(self, name: str, *, dies: bool = True) -> bool:
        """Give a topology its states, emptied, which also takes tables that were kept and are nobody's."""
        plan, ledger = self.plan(name), self.scene.ledger()
        return self.act(
            f"reset {name}",
            lambda: reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start="earliest", options=OPTIONS),
            dies=dies,
        )

    def step(self) -> None:
        name = self.chance.choice(NAMES)
        match self.chance.choice(["come", "run", "run", "forget", "forget", "clear"]):
            case "come":
                self.scene.topic.partitions[0] += [(f"a{self.chance.randint(0, 4)}", self.chance.randint(1, 9))] * 4
            case "run":
                self.run(name)
            case "forget":
                self.forget(name, self.chance.choice(list(ForgottenTables)))
            case "clear":
                self.clear(name)

    def comes_to_an_end(self) -> None:
        """Whatever happened: what was begun is finished, one of them has the tables, and all is counted."""
        for name in NAMES:
            if not any(self.forget(name, tables, dies=False) for tables in ForgottenTables):
                self.clear(name, dies=False)
                for tables in ForgottenTables:
                    self.forget(name, tables, dies=False)
        assert self.scene.ledger().view().topologies() == ()
        with closing(sqlite3.connect(self.scene.file("totals"))) as connection:
            assert connection.execute("SELECT * FROM trident_applied").fetchall() == []
        name = self.chance.choice(NAMES)
        self.clear(name, dies=False)
        assert self.run(name, dies=False), "nobody starts any more"


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("number", range(effort().server_lives))
def test_whoever_has_the_tables_has_every_record_once(number: int, tmp_path: Path) -> None:
    chance = random.Random(base_seed() + number)
    scene = Scene(tmp_path, chance.choice([SHORTCUT, MIXED, APART]), topic=Topic([[("a", 1)] * 4, []]))
    scene.mend()
    scene.topic.partitions[0][4:] = []
    world = World(scene, chance)
    try:
        for _ in range(STEPS):
            world.step()
        world.comes_to_an_end()
    except AssertionError as error:
        raise AssertionError("\n".join([*world.told, str(error)])) from error
