"""A run that ends with records behind somebody's open transaction says so."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListSource, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import RetryableError
from trident.base.ranges import PartitionBounds, PartitionId
from trident.coordinators.holding.held_back import held_back, say_what_is_held_back
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.options import Until
from trident.state import SqliteState


@pytest.mark.parametrize(("stable", "said"), [(1, True), (None, False)])
def test_it_says_how_much_and_where(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stable: int | None, said: bool
) -> None:
    caplog.set_level(logging.WARNING)
    topic = Topic([[("a", 1)] * 3, [("b", 1)]], stable=stable)
    job = make_job(topic, SqliteState("balances", path=tmp_path / "balances.sqlite"))
    TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), OPTIONS).run()
    assert ("2 offsets more lie behind transactions that are still open (t[0])" in caplog.text) is said


def test_what_comes_while_it_is_asked_is_not_held_back() -> None:
    topic = Topic([[("a", 1)]])

    class Growing(ListSource):
        def bounds(self) -> tuple[PartitionBounds, ...]:
            found = super().bounds()
            topic.partitions[0].append(("a", 1))
            return found

    assert held_back(Growing(topic, "s")) == {}
    topic.stable = 1
    assert held_back(ListSource(topic, "s")) == {PartitionId("t", 0): len(topic.partitions[0]) - 1}


def test_where_it_can_not_be_asked_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    class Away(ListSource):
        def bounds(self) -> tuple[PartitionBounds, ...]:
            raise RetryableError("the brokers can't be reached")

    say_what_is_held_back({"s": Away(Topic([[]]), "s")})
    assert "more lie behind" not in caplog.text


def test_a_run_that_was_stopped_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    topic = Topic([[("a", 1)] * 3], stable=1)
    job = make_job(topic, SqliteState("balances", path=tmp_path / "balances.sqlite"))
    run = TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), replace(OPTIONS, until=Until.STOPPED))
    run.stop()
    run.run()
    assert "more lie behind" not in caplog.text
