"""Drawn lives of a topology whose versions turn, add and take back values, die and are undone, beside an account."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.coordinators.dying import goes_well
from tests.coordinators.fakes import LAYOUT, Topic
from tests.coordinators.other_columns import MANIFOLD, PLACES, THRICE, TWICE, Place, run, version
from tests.coordinators.test_run import OPTIONS
from tests.effort import base_seed, effort
from tests.ledger.making import run_out
from trident.base.crash_points import CrashPoint
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.state.layout import StateKind, StateLayout

POINTS = [
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_PREPARATION,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_STAGING,
    CrashPoint.BEFORE_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.BETWEEN_CHUNKS,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_DONE,
    CrashPoint.AFTER_DECIDING_UNDO,
    CrashPoint.AFTER_UNDOING_STATE,
    CrashPoint.AFTER_DECIDING_RESET,
]
STEPS = 14


@dataclass
class World:
    """One topology in one place; nothing here knows when a value was born but by what is in it."""

    place: Place
    topic: Topic
    chance: random.Random
    since: dict[str, int] = field(default_factory=dict)
    """From which record on a value holds all of them, once that was seen."""
    told: list[str] = field(default_factory=list)

    def drawn(self) -> StateLayout:
        """Return a version: some of the values, in some order."""
        values = [*LAYOUT.values, *self.chance.choice([[], [TWICE], [TWICE], [THRICE], [TWICE, THRICE]])]
        self.chance.shuffle(values)
        return StateLayout(LAYOUT.keys, tuple(values))

    def act(self, what: str, action: Callable[[], object], *, dies: bool = True) -> bool:
        """Do something that may die or be refused; returns whether it succeeded."""
        point = self.chance.choice(POINTS) if dies and self.chance.random() < 0.7 else None
        left = self.chance.choice([1, 1, 1, 2])

        try:
            return goes_well(what, action, self.told, point, left)
        finally:
            self.let_go()

    def let_go(self) -> None:
        ledger = self.place.ledger()
        if isinstance(ledger, SqlLedger):
            ledger.open(OPTIONS.timeouts)
            run_out(ledger)
            ledger.close()

    def start(self, layout: StateLayout, *, dies: bool = True) -> bool:
        """Run a version to the end; what it has must then be whole."""
        names = [value.name for value in layout.values]
        is_well = self.act(f"run {names}", lambda: run(self.place, self.topic, layout), dies=dies)
        if is_well:
            assert self.place.sums() == self.topic.expected()
            for name in MANIFOLD.keys() & set(names):
                self.check(name)
            for name in MANIFOLD.keys() - set(names):
                assert name not in self.since, f"it goes on without {name}, which has been used"
        return is_well

    def check(self, name: str) -> None:
        """Hold a value against all records since one that never changes."""
        found = {str(row["account"]): row[name] for row in self.place.rows()}
        (records,) = self.topic.partitions
        begins = [first for first in range(len(records) + 1) if self.expected(name, first) == found]
        assert begins, f"{name} holds no whole end of the records: {found}"
        known = self.since.get(name)
        assert known is None or known in begins, f"{name} was whole from record {known} on, and is from {begins} on now"
        if known is None and len(begins) == 1 and begins[0] < len(records):
            self.since[name] = begins[0]

    def expected(self, name: str, first: int) -> dict[str, object]:
        (records,) = self.topic.partitions
        came = Topic([records[first:]]).expected()
        return {
            account: MANIFOLD[name] * came[account][1] if account in came else None for account in self.topic.expected()
        }

    def step(self) -> None:
        """Do one thing that people or supervisors do."""
        layout = self.drawn()
        plan, ledger = version(self.topic, self.place.state(), layout), self.place.ledger()
        match self.chance.choice(["come", "run", "run", "run", "undo", "reset"]):
            case "come":
                self.come()
            case "run":
                self.start(layout)
            case "undo":
                txid = self.pinned()
                wanted = WantedDecision(DecisionKind.UNDO, txid)
                self.act(f"undo {txid}", lambda: decide_topology(plan.spec, plan.targets, ledger, wanted, OPTIONS))
            case "reset":
                self.act(
                    "reset",
                    lambda: reset_topology(
                        plan.spec, plan.targets, ledger, keep_rows=True, start="resume", options=OPTIONS
                    ),
                )

    def pinned(self) -> int:
        ledger = self.place.ledger()
        ledger.open(OPTIONS.timeouts)
        standing = ledger.view().status("payments")
        ledger.close()
        return standing.pinned or standing.done

    def come(self) -> None:
        """Let some more records be there."""
        (records,) = self.topic.partitions
        records += [(f"a{self.chance.randint(0, 4)}", self.chance.randint(1, 9)) for _ in range(4)]


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("number", range(effort().server_lives))
@pytest.mark.drawn(one_in=5)
def test_whatever_versions_come_every_value_is_whole_since_its_birth(number: int, where: str, tmp_path: Path) -> None:
    chance = random.Random(base_seed() + number)
    kind = chance.choice([StateKind.OPAQUE, StateKind.OPAQUE, StateKind.TRANSACTIONAL])
    topic = Topic([[(f"a{n % 5}", n + 1) for n in range(9)]])
    world = World(PLACES[where](tmp_path, kind), topic, chance)
    assert world.start(LAYOUT, dies=False)
    try:
        for _ in range(STEPS):
            world.step()
        world.come()
        everything = StateLayout(LAYOUT.keys, (THRICE, *LAYOUT.values, TWICE))
        assert world.start(everything, dies=False), "the version with all values has to go on"
        world.come()
        assert world.start(everything, dies=False)
    except AssertionError as error:
        raise AssertionError("\n".join([*world.told, str(error)])) from error
