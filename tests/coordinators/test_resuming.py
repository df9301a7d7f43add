"""A reset that keeps rows goes on where each partition stood; where it begins is for the streams that there were."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListSource, Topic, make_job
from tests.coordinators.test_new_states import sums
from tests.coordinators.test_run import OPTIONS
from tests.ledger.making import SPEC, started
from trident.base.errors import MismatchError
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.holding.starts import starts_to_store
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.retrying import Repeater
from trident.state import SqliteState


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)], [("b", 1)] * 7])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    found = SqliteLedger(tmp_path / "ledger.sqlite")
    yield found
    found.close()


def reset(plan: RunnableTopology, ledger: Ledger, start: str | None, *, keep_rows: bool = True) -> ResetDecision:
    return reset_topology(plan.spec, plan.states, ledger, keep_rows=keep_rows, start=start, options=OPTIONS)


def test_what_is_kept_is_not_read_again(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    for _ in range(2):
        reset(plan, ledger, ResetStart.RESUME)
        topic.partitions[0] += [("late", 3)] * 4
        TopologyRun(plan, ledger, OPTIONS).run()
        assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_nothing_was_read_before_the_reset(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    reset(plan, ledger, ResetStart.RESUME)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_a_partition_that_comes_after_a_resumed_start_is_read_from_its_beginning(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, ResetStart.RESUME)
    topic.partitions.append([("c", 2)] * 6)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_a_ledger_that_knows_nothing_of_the_rows_can_not_resume_and_says_what_can(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """The ledger was lost, the rows stayed."""
    away = SqliteState("away", path=tmp_path / "away.sqlite")
    plan = make_job(topic, away).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    new = SqliteLedger(tmp_path / "new.sqlite")
    with pytest.raises(MismatchError, match=r"nothing can be resumed: say where to begin with --start"):
        reset(plan, new, ResetStart.RESUME)
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()
    reset(plan, new, "latest")
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, new, OPTIONS).run()
    found = sums(tmp_path / "away.sqlite", "away")
    new.close()
    # latest is resolved at the first start after the reset: what came before that was skipped, as was asked for
    assert "late" not in found


@pytest.mark.parametrize("make", [MemoryLedger, SqliteLedger])
def test_a_stream_that_is_added_after_a_reset_begins_as_its_spout_says(make: type, tmp_path: Path) -> None:
    ledger = make() if make is MemoryLedger else make(tmp_path / "ledger.sqlite")
    ledger.open()
    run = started(ledger)
    decision = ResetDecision("second", 5, "clear", "latest", tuple(SPEC.spouts))
    ledger.decide_reset(run.epoch, "payments", decision)
    ledger.finish_reset(run.epoch, "payments", decision)
    snapshot = ledger.snapshot(run.epoch, "payments")
    assert snapshot.reset == decision
    known = next(iter(SPEC.spouts))
    topic = Topic([[("a", 1)] * 9])
    sources = {name: ListSource(topic, name) for name in (known, "added")}
    starts = starts_to_store(snapshot, sources, Repeater(timedelta(seconds=1), threading.Event()))
    assert {item.spout: item.start for item in starts or ()} == {known: 9, "added": 0}
    ledger.close()


def test_a_reset_of_an_older_version_is_for_the_streams_that_began_with_it() -> None:
    ledger = MemoryLedger()
    run = started(ledger)
    decision = ResetDecision("second", 5, "clear", "latest", None)
    ledger.decide_reset(run.epoch, "payments", decision)
    ledger.finish_reset(run.epoch, "payments", decision)
    topic = Topic([[("a", 1)] * 9])
    repeater = Repeater(timedelta(seconds=1), threading.Event())
    first = ledger.snapshot(run.epoch, "payments")
    starts = starts_to_store(first, {"s": ListSource(topic, "s")}, repeater)
    assert [item.start for item in starts or ()] == [9]
    ledger.set_starts(first.owner, run.epoch, starts or ())
    later = ledger.snapshot(run.epoch, "payments")
    sources = {"s": ListSource(topic, "s"), "added": ListSource(topic, "added")}
    both = starts_to_store(later, sources, repeater)
    assert {item.spout: item.start for item in both or ()} == {"s": 9, "added": 0}
