"""The line of a batch: how far behind it is, and how long its commit took."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from tests.coordinators.fakes import make_job
from tests.coordinators.test_run import OPTIONS, payments, place, run
from trident.base.identity import Owner
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.batches.steps import Steps
from trident.coordinators.planned import Plan, SpoutRange
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.registered import Snapshot

__all__ = ["place"]


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, int]]:
    return [
        cast("dict[str, int]", record.__dict__["batch"]) for record in caplog.records if record.name == "trident.batch"
    ]


@pytest.mark.parametrize("max_pending", [1, 3])
def test_the_lag_is_what_the_sources_hold_behind_what_is_done(place, caplog, max_pending):
    """Also while all that there is has been planned already, which is not done."""
    caplog.set_level(logging.INFO, "trident.batch")
    job = make_job(payments(3, 25), place.state("balances"))
    run(job, place.ledger(), replace(OPTIONS, max_pending=max_pending))
    told, left = lines(caplog), 75
    assert len(told) == 8
    for line in told:
        left -= line["records"]
        assert line["lag"] == left


def test_what_is_behind_a_plan_counts_what_it_does_not_know_and_what_was_cut_off_not():
    """A partition that is newer than the plan is behind by all that it holds, a log that was cut by nothing."""
    book = PlanBook(Snapshot(Owner("t", "i"), 0, 0, 0, None, None, (), None, 0, 0))
    ids = [PartitionId("a", number) for number in range(3)]
    book.ends = {
        ("s", ids[0]): PartitionBounds(ids[0], "x", 0, 30),
        ("s", ids[1]): PartitionBounds(ids[1], "x", 0, 3),
        ("s", ids[2]): PartitionBounds(ids[2], "x", 5, 9),
    }
    ranges = tuple(SpoutRange("s", OffsetRange(ids[number], "x", 0, 10)) for number in range(2))
    plan = Plan(1, 1, 1, 0, datetime.now(UTC), ranges)
    assert list(book.behind(plan).values()) == [20, 0, 4]


def test_the_time_of_a_commit_is_measured_where_it_is_kept(place, caplog, monkeypatch):
    """The ledger's own row has it too: it is written behind all that is applied."""
    caplog.set_level(logging.INFO, "trident.batch")
    job = make_job(payments(1, 10), place.state("balances"))
    make_ready = Steps.make_ready

    def slowly(steps: Steps) -> None:
        time.sleep(0.05)
        make_ready(steps)

    monkeypatch.setattr(Steps, "make_ready", slowly)
    ledger = place.ledger()
    run(job, ledger)
    (kept,) = ledger.view().batches("payments")
    (line,) = lines(caplog)
    assert 50 <= kept.commit_ms <= line["commit_ms"]
