"""A topology is forgotten while others wait for its lease, or have something under its name in the same database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_bulk_lives import BulkLife
from tests.coordinators.test_decisions import SHORTCUT, Scene, dying_at
from tests.coordinators.test_dropping import Direct
from tests.coordinators.test_forgetting import DROP, forget, forget_life, let_go
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import MismatchError
from trident.coordinators.decisions.commands import forget_topology, reset_topology
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import SqliteState

WAITING = replace(OPTIONS, lease=timedelta(seconds=3))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


class Watched(SqliteLedger):
    """Says when somebody was told that the lease is held."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked = threading.Event()

    def acquire(self, topology, lease, above=0):
        try:
            return super().acquire(topology, lease, above)
        except Exception:
            self.asked.set()
            raise


def waiting(pool: ThreadPoolExecutor, plan: RunnableTopology, path: Path) -> Future[RunSummary]:
    """Begin a run that waits for whoever has the lease."""
    ledger = Watched(path)
    begun = pool.submit(TopologyRun(plan, ledger, WAITING).run)
    assert ledger.asked.wait(20)
    time.sleep(0.1)
    return begun


@pytest.mark.parametrize("kind", [Life, Direct])
def test_a_standby_does_not_begin_anew_what_was_forgotten_meanwhile(
    kind: type[Life], pool: ThreadPoolExecutor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It begins to wait while a person reads what will be let go of."""
    life = kind(tmp_path)
    life.come("a", "b")
    life.run()
    plan, standby = life.plan(), list[Future[RunSummary]]()

    def agree(_: object) -> None:
        standby.append(waiting(pool, life.plan(), tmp_path / "ledger.sqlite"))

    forget_topology(plan.spec, plan.targets, life.ledger(), DROP, OPTIONS, agree)
    assert standby[0].result(20) == RunSummary(0, 0)
    assert "was forgotten while this start waited for it" in caplog.text
    assert life.sent() == ["a", "b"]
    assert life.ledger().view().topologies() == ()
    life.run()
    assert life.sent() == ["a", "b", "a", "b"], "who is started afterwards begins anew"


def test_who_waits_since_a_forget_begins_anew(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    scene = Scene(tmp_path, SHORTCUT)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    forget(scene, DROP)
    ledger = scene.ledger()
    ledger.open()
    epoch = ledger.acquire("payments", Lease("somebody", OPTIONS.lease)).epoch
    standby = waiting(pool, scene.job().plan(), scene.folder / "ledger.sqlite")
    ledger.release("payments", epoch)
    assert standby.result(20).batches > 0
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


@pytest.mark.parametrize("begun", [False, True], ids=["before it is recorded", "between"])
@pytest.mark.parametrize("runs", [1, 7], ids=["its epochs are lower", "its epochs are higher"])
def test_a_fence_of_another_ledgers_topology_of_that_name_is_left_alone(runs: int, begun: bool, tmp_path: Path) -> None:
    """It has a state of its own in the database in which this one has its ledger."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    for _ in range(3):
        scene.go_on()
    if begun:
        with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
            forget(scene)
        let_go(scene)
    topic, other = Topic([[("x", 1)]]), SqliteLedger(tmp_path / "other.sqlite")
    job = make_job(topic, SqliteState("of_the_other", path=scene.folder / "ledger.sqlite"))
    for _ in range(runs):
        run(job, other)
    fence = scene.sql("SELECT * FROM trident_state_fence")
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"a topology of the same name in another ledger.*delete that row"):
            forget(scene)
    assert scene.sql("SELECT * FROM trident_state_fence") == fence
    topic.partitions[0].append(("y", 2))
    run(job, other)
    assert scene.rows("of_the_other") == topic.expected()
    scene.sql("DELETE FROM trident_state_fence")
    forget(scene)
    assert scene.ledger().view().topologies() == ()


@pytest.mark.parametrize("kind", [Life, Direct, BulkLife])
def test_a_ledger_that_was_put_back_before_a_forget_sends_nothing_again(kind: type[Life], tmp_path: Path) -> None:
    """To a moment when nothing was done, so that the sink may seem unborn; a supervisor starts it again and again."""
    life = kind(tmp_path)
    life.run()
    file = tmp_path / life.ledger_file
    backup = file.read_bytes()
    life.come("a", "b")
    life.run()
    forget_life(life, DROP)
    file.write_bytes(backup)
    for _ in range(6):
        with pytest.raises(MismatchError) as refused:
            life.run()
        life.ask("UPDATE trident_heartbeat SET released = 1")
    if kind is Direct:
        assert "was let go of when topology" in str(refused.value)
        assert "--ledger-lost --states clear" in str(refused.value)
        begin_anew(life)
    assert life.sent() == ["a", "b"]


def begin_anew(life: Life) -> None:
    """Do what the refusal names, and run: a person has said that all comes again."""
    plan = life.plan()
    reset_topology(
        plan.spec, plan.targets, life.ledger(), keep_rows=False, start="latest", options=OPTIONS, ledger_lost=True
    )
    life.run()
