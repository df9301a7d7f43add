"""The whole protocol in virtual time, thousands of seeds; and the proof that it finds what is broken."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

import pytest

from tests.effort import base_seed, effort, processes
from tests.simulation import __main__ as command
from tests.simulation.outbox_rows import MemoryOutbox
from tests.simulation.planted import BUGS, PlantedBug
from tests.simulation.running import digest_of, failure_of, first_failing, run_chunk, run_seeds, shrink, trace_of
from tests.simulation.stores import PlainState
from tests.simulation.world import World
from tests.state.harnesses import MemoryHarness
from tests.state.memory_kafka import memory_sender
from tests.state.test_kafka_sink import MemoryKafkaHarness
from tests.state.test_outbox import SendsAtOnce
from trident.base.crash_points import CrashPoint
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.layout import StateKind, StateLayout
from trident.state.memory.database import MemoryDatabase
from trident.state.target import Target
from trident.testing import SessionSinkContract, StateHarness
from trident.testing.state_contract import StateContract

_BROKEN = ("TypeError", "AttributeError", "NameError", "KeyError")


@pytest.mark.verify(short=True)
@pytest.mark.timeout(1800)
def test_no_seed_loses_or_doubles_a_record() -> None:
    report = run_seeds(base_seed(), effort().seeds, processes())
    print(report.table())
    assert not report.failures, report.table()
    assert report.seeds == effort().seeds
    if effort().must_meet_everything:
        assert not report.never(), "never happened: " + ", ".join(report.never())
    assert median(report.commits) >= 30
    assert median(report.faults) >= 5
    assert report.losses > 0


@pytest.mark.verify(short=True, one_in=4)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_and_its_schedule_made_short(bug: PlantedBug) -> None:
    found = first_failing(range(bug.first_seed, bug.first_seed + effort().searched_seeds), bug.plant)
    assert found is not None
    print(found.show())
    assert not found.what.startswith(_BROKEN), "the planted bug itself is broken"
    assert found.trace
    assert len(found.faults) <= found.drawn
    assert shrink(found.seed) is None, "without the bug the same seed holds"


@pytest.mark.parametrize("seed", [640342173, 965235806])
def test_a_seed_in_which_the_world_itself_was_wrong_holds(seed: int) -> None:
    assert failure_of(World(seed)) is None


def test_without_a_bug_nothing_is_found() -> None:
    assert first_failing(range(40)) is None


def test_the_same_seed_does_the_same_in_every_process() -> None:
    seeds = (3, 4, 5)
    here = [digest_of(seed) for seed in seeds]
    assert here == [digest_of(seed) for seed in seeds]
    code = f"from tests.simulation.running import digest_of\nprint(*[digest_of(seed) for seed in {seeds}])"
    for hash_seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
        there = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        assert there.stdout.split() == here
    assert len(set(here)) == len(seeds)


def test_the_report_does_not_depend_on_where_the_seeds_ran() -> None:
    together = run_chunk(100, 20)
    apart = run_chunk(100, 10)
    apart.add(run_chunk(110, 10))
    assert (apart.commits, apart.happened, apart.moves) == (together.commits, together.happened, together.moves)


def test_a_failing_seed_is_shown_by_one_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = next(bug for bug in BUGS if bug.name == "no epoch check in the state")
    with bug.plant():
        seeds = range(bug.first_seed, bug.first_seed + effort().searched_seeds)
        found = next(found for found in map(shrink, seeds) if found is not None)
        monkeypatch.setattr(sys, "argv", ["simulate", "--seed", str(found.seed)])
        assert command.main() == 1
    shown = capsys.readouterr().out
    assert f"seed {found.seed}" in shown
    assert "VIOLATION: ViolationError: " in shown


def test_a_good_seed_is_shown_by_one_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simulate", "--seed", "7"])
    assert command.main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:-1] == trace_of(7).trace
    assert "nothing lost, nothing twice" in shown[-1]


class TestSimulatedState(StateContract):
    """The store of the simulation keeps the contract of all states; only what is Arrow's own is left out."""

    @pytest.fixture(params=[True, False], ids=["beside the ledger", "apart"])
    def harness(self, request: pytest.FixtureRequest) -> MemoryHarness:
        return _PlainHarness(request.param)

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        assert isinstance(harness, MemoryHarness)
        with harness.database.transaction() as transaction:
            transaction.table("state counts rows")["ann",] = (1, 1)


class TestSimulatedOutbox(SessionSinkContract):
    """So does its outbox, relayed with each batch."""

    @pytest.fixture
    def harness(self) -> MemoryKafkaHarness:
        return _OutboxHarness()


class _OutboxHarness(MemoryKafkaHarness):
    points = (CrashPoint.IN_APPLY, *MemoryKafkaHarness.points)

    def open(self) -> OutboxTarget:
        return SendsAtOnce(memory_sender(self.kafka), MemoryOutbox("alerts", self.ledger))


class _PlainHarness(MemoryHarness):
    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        if self.beside:
            return PlainState("counts", kind=kind).open(layout, self.database)
        return PlainState("counts", kind=kind, database=self.database).open(layout, MemoryDatabase())
