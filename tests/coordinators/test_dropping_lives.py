"""Drawn lives of a topology whose versions add a state, drop it, take it back and die, beside an account of its own."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.coordinators.dying import goes_well
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene
from tests.coordinators.test_run import OPTIONS, run
from tests.effort import base_seed, effort
from trident.base.crash_points import CrashPoint
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.state import SqliteState, StateKind
from trident.state.target import State

POINTS = [
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_BIRTH,
    CrashPoint.AFTER_STAGING,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_DONE,
    CrashPoint.BEFORE_DROPPING,
    CrashPoint.AFTER_DROPPING,
    CrashPoint.AFTER_DECIDING_RESET,
]
STEPS = 14


@dataclass
class World:
    """One topology; `versions` are what its states beside `balances` are, the first one is where it begins."""

    scene: Scene
    chance: random.Random
    since: dict[str, int] = field(default_factory=lambda: {"balances": 0, "totals": 0})
    """From which record on a state holds all of them, once it was seen."""
    told: list[str] = field(default_factory=list)

    def version(self, name: str) -> ListJob:
        """Return one: as it began, with the dropped name as something else, without it, with another one."""
        beside = self.scene.states()[0]
        path = self.scene.file("totals") if "totals" in self.scene.apart else None
        others: dict[str, list[State]] = {
            "first": [self.scene.states()[1]],
            "changed": [SqliteState("totals", path=path, kind=StateKind.TRANSACTIONAL)],
            "without": [],
            "another": [SqliteState("others", path=self.scene.folder / "others.sqlite")],
        }
        return make_job(self.scene.topic, beside, *others[name])

    def act(self, what: str, action: Callable[[], object], *, dies: bool = True) -> bool:
        """Do something that may die or be refused; returns whether it succeeded."""
        point = self.chance.choice(POINTS) if dies and self.chance.random() < 0.6 else None
        left = self.chance.choice([1, 1, 1, 2])

        try:
            return goes_well(what, action, self.told, point, left)
        finally:
            self.scene.sql("UPDATE trident_heartbeat SET released = 1")

    def start(self, name: str, *, dies: bool = True) -> bool:
        """Run a version to the end; what it has must then be whole."""
        is_well = self.act(f"run {name}", lambda: run(self.version(name), self.scene.ledger()), dies=dies)
        if is_well:
            assert name != "changed", "a name is taken for something else"
            for state in ("balances", *{"first": ["totals"], "another": ["others"]}.get(name, [])):
                self.check(state)
        return is_well

    def check(self, state: str) -> None:
        """Hold a state against all records since one that never changes."""
        if state == "others":
            self.scene.apart |= {"others"}
        found, (records, _) = self.scene.rows(state), self.scene.topic.partitions
        begins = [first for first in range(len(records) + 1) if Topic([records[first:]]).expected() == found]
        known = self.since.get(state)
        assert begins, f"{state} holds no whole end of the records"
        assert known is None or known in begins, (
            f"{state} was whole from record {known} on, and is from {begins} on now"
        )
        if known is None and len(begins) == 1:
            self.since[state] = begins[0]

    def step(self) -> None:
        """Do one thing that people or supervisors do."""
        what = self.chance.choice(["come", "run", "run", "drop", "drop", "reset"])
        name = self.chance.choice(["first", "first", "changed", "without", "another"])
        match what:
            case "come":
                self.come()
            case "run":
                self.start(name)
            case "drop":
                self.drop(*self.chance.choice([("first", "totals"), ("first", "totals"), ("another", "others")]))
            case "reset":
                plan, ledger = self.version(name).plan(), self.scene.ledger()
                self.act(
                    f"reset by {name}",
                    lambda: reset_topology(
                        plan.spec, plan.targets, ledger, keep_rows=True, start="resume", options=OPTIONS
                    ),
                )

    def come(self) -> None:
        """Let some more records be there."""
        self.scene.topic.partitions[0] += [(f"a{self.chance.randint(0, 4)}", self.chance.randint(1, 9))] * 4

    def drop(self, name: str, state: str) -> None:
        """Take a state out, and let something happen before anybody has thought of it."""
        plan, ledger = self.version(name).plan(), self.scene.ledger()
        if not self.act(
            f"drop {state} by {name}", lambda: drop_from_topology(plan.spec, plan.targets, ledger, state, OPTIONS)
        ):
            return
        for _ in range(2):
            if self.chance.random() < 0.6:
                self.come()
            self.start(self.chance.choice(["first", "changed", "without"]))


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("number", range(effort().server_lives))
def test_whoever_starts_has_all_that_its_states_should_have(number: int, tmp_path: Path) -> None:
    chance = random.Random(base_seed() + number)
    scene = Scene(tmp_path, chance.choice([SHORTCUT, MIXED, APART]))
    scene.mend()
    world = World(scene, chance)
    assert world.start("first", dies=False)
    try:
        for _ in range(STEPS):
            world.step()
        scene.topic.partitions[0].append(("last", 1))
        starts = [name for name in ("first", "without", "another") if world.start(name, dies=False)]
        assert starts, "nobody starts any more"
    except AssertionError as error:
        raise AssertionError("\n".join([*world.told, str(error)])) from error
