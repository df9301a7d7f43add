"""Rows that tasks stage as files, through the lives of their topology: what becomes of files that are gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_run import OPTIONS
from tests.state.memory_kafka import memory_sender
from tests.state.test_bulk_rows import PRODUCERS, MemoryReach, staged_by_tasks
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, FatalError, MismatchError
from trident.base.timeouts import Timeouts
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.state.databases.base import SqlDatabase
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.sending import BulkPlace, BulkSender
from trident.state.kafka.outbox.stored import Outbox
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.staged import HeldUpdates, StagingLostError
from trident.state.target import LedgerDatabase


@dataclass
class BulkLife(Life):
    """All rows of its sink are staged by tasks."""

    meddle: Callable[[Path], object] = lambda folder: None
    """What somebody does to the folder when a batch is staged."""

    @property
    def staged(self) -> Path:
        return self.folder / "staged"

    def give_up(self, txid: int, state: str = "alerts", *, rows_lost: bool = True) -> None:
        plan = self.plan()
        wanted = WantedDecision(DecisionKind.DIVERT, txid, state, rows_lost)
        decide_topology(plan.spec, plan.targets, self.ledger(), wanted, OPTIONS)

    def _send(self, request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        held = super()._send(request, result)
        rows = held.updates["alerts"]
        assert isinstance(rows, HeldUpdates)
        updates = {**held.updates, "alerts": staged_by_tasks(self._sink, request.batch, rows.rows)}
        self.meddle(self.staged)
        return replace(held, updates=updates)

    def _open(self, database: LedgerDatabase, timeouts: Timeouts) -> OutboxTarget:
        assert isinstance(database, SqlDatabase)
        folder = StagingFolder(self.staged.as_uri(), "alerts")
        bulk = BulkSender(BulkPlace(folder, MemoryReach(self.kafka), "markers", PRODUCERS, True))
        self._sink = OutboxTarget(memory_sender(self.kafka, bulk), Outbox("alerts", database))
        return self._sink


@pytest.fixture
def life(tmp_path: Path) -> BulkLife:
    return BulkLife(tmp_path)


def test_files_that_are_gone_are_given_up_by_name_and_all_else_is_sent(life: BulkLife) -> None:
    life.come("a")
    life.run()
    life.come("b", "c", "d", "e")
    with dying_at(CrashPoint.BEFORE_RELAY):
        life.run()
    next(life.staged.glob("**/*02/*.parquet")).unlink()
    life.come("f")
    for _ in range(2):
        with pytest.raises(StagingLostError, match=r"Txid 2 is done.*TOPOLOGY 2 --state alerts --rows-lost"):
            life.run()
        with pytest.raises(StagingLostError, match="--rows-lost"):
            life.give_up(2, rows_lost=False)
    for _ in range(2):
        life.give_up(2)
    life.run()
    assert life.sent() == ["a", "f"]
    assert len(life.ask("SELECT * FROM trident_diverted")) == 2, "two of the four were in the other file"
    assert life.ask("SELECT sum(n) FROM balances", "balances.sqlite") == [(6,)]


def test_nothing_is_given_up_where_nothing_waits(life: BulkLife) -> None:
    life.come("a")
    life.run()
    with pytest.raises(MismatchError, match=r"nothing of txid 1 waits in sink 'alerts'"):
        life.give_up(1)
    life.refuse("big")
    life.come("big")
    with pytest.raises(DecisionNeededError):
        life.run()
    with pytest.raises(MismatchError, match=r"waits in 'balances' as files that could be lost.*nothing was changed"):
        life.give_up(2, "balances")
    life.give_up(2, "balances", rows_lost=False)
    life.run()
    assert life.sent() == ["a", "big"]


def test_what_the_driver_does_not_see_is_never_pinned(life: BulkLife) -> None:
    """A folder of each machine's own: tasks write, and nobody could ever send it."""
    life.meddle = lambda folder: shutil.rmtree(folder / "payments")
    life.come("a")
    with pytest.raises(FatalError, match=r"as this process sees it.*Tasks and driver need to reach one folder"):
        life.run()
    life.meddle = lambda folder: None
    life.run()
    assert life.sent() == ["a"]
    assert life.ask("SELECT sum(n) FROM balances", "balances.sqlite") == [(1,)]
