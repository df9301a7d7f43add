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

from tests.coordinators.test_decisions import SHORTCUT, Scene
from tests.coordinators.test_dropping import Direct
from tests.coordinators.test_forgetting import DROP, forget
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_run import OPTIONS
from trident.coordinators.decisions.commands import forget_topology
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import Lease

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
    run = pool.submit(TopologyRun(plan, ledger, WAITING).run)
    assert ledger.asked.wait(20)
    time.sleep(0.1)
    return run


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
    run = waiting(pool, scene.job().plan(), scene.folder / "ledger.sqlite")
    ledger.release("payments", epoch)
    assert run.result(20).batches > 0
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()
