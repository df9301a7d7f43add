"""Keys that expire by the planned time of batches, through real coordinators and a ledger in a file."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.state.harnesses import ExpiringMap
from trident.base.clock import SystemClock
from trident.base.errors import TridentError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import BackingMapState, BackingPosition, SqliteState, TimedValue
from trident.state.values import OpaqueValue

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class SetClock(SystemClock):
    """Stands where it was set."""

    def __init__(self, hours: float) -> None:
        self.hours = hours

    def now(self) -> datetime:
        return NOON + self.hours * HOUR


class DyingMap(ExpiringMap):
    """Its process dies when the position of txid 2 is put."""

    is_dying = False

    def multi_put_if(self, changes):
        if self.is_dying and any(isinstance(new, BackingPosition) and new.txid == 2 for _, _, new in changes):
            raise KeyboardInterrupt
        return super().multi_put_if(changes)


def totals(kept: ExpiringMap) -> dict[str, object]:
    found = {}
    for key, value in kept.rows.items():
        if isinstance(value, TimedValue) and isinstance(value.stored, OpaqueValue):
            found[str(key[0])] = value.stored.current[1]
    return found


def run(folder: Path, topic: Topic, kept: ExpiringMap, hours: float, after: timedelta = HOUR) -> None:
    states = (BackingMapState("balances", kept, expire_after=after), SqliteState("all"))
    plan = make_job(topic, *states).plan("payments")
    TopologyRun(plan, SqliteLedger(folder / "ledger.sqlite"), OPTIONS, SetClock(hours)).run()


def counted(caplog: pytest.LogCaptureFixture) -> list[int]:
    found = [record.batch["expired_keys"] for record in caplog.records if hasattr(record, "batch")]
    caplog.clear()
    return found


def test_keys_expire_by_the_time_of_the_batch_and_are_counted_in_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "trident.batch")
    topic, kept = Topic([[("a", 1), ("b", 1), ("c", 1)]]), ExpiringMap()
    run(tmp_path, topic, kept, 0)
    assert counted(caplog) == [0]
    topic.partitions[0] += [("a", 5)]
    run(tmp_path, topic, kept, 0.5)
    assert (counted(caplog), totals(kept)) == ([0], {"a": 6, "b": 1, "c": 1})
    topic.partitions[0] += [("a", 5), ("b", 5)]
    run(tmp_path, topic, kept, 1)
    assert "keys=4 expired_keys=1 dead_letters=0" in caplog.text  # two of each state
    assert (counted(caplog), totals(kept)) == ([1], {"a": 11, "b": 5, "c": 1})
    topic.partitions[0] += [("d", 1)]
    run(tmp_path, topic, kept, 1)
    assert (counted(caplog), totals(kept)) == ([1], {"a": 11, "b": 5, "d": 1})


def test_a_pinned_batch_keeps_its_time_and_its_limit_for_whoever_rolls_it_forward(tmp_path: Path) -> None:
    """The successor's clock is a day ahead, and its option another one: both are those of its own batches."""
    topic, kept = Topic([[("a", 1)]]), DyingMap()
    run(tmp_path, topic, kept, 0)
    topic.partitions[0] += [("a", 5)]
    kept.is_dying = True
    with pytest.raises((KeyboardInterrupt, TridentError)):
        run(tmp_path, topic, kept, 0.5)
    kept.is_dying = False
    run(tmp_path, topic, kept, 24, timedelta(minutes=1))
    assert totals(kept) == {"a": 6}
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    assert ledger.view().status("payments").done == 2


def test_a_clock_that_steps_back_brings_nothing_back(tmp_path: Path) -> None:
    topic, kept = Topic([[("a", 1)]]), ExpiringMap()
    run(tmp_path, topic, kept, 0)
    topic.partitions[0] += [("b", 1)]
    run(tmp_path, topic, kept, 2)
    topic.partitions[0] += [("a", 5)]
    run(tmp_path, topic, kept, 0)
    assert totals(kept) == {"a": 5, "b": 1}
