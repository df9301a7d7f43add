"""Plans of received rows: what a process took with it is a loss, and no position stands for two rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.coordinators.fakes import ListSpout, Topic
from tests.coordinators.receiving import Generous, Queue, Taking
from tests.coordinators.test_plan_ranges import RESUME, at, holds, planned_and_stored, spans, view
from trident.base.clock import SystemClock
from trident.base.errors import FatalError
from trident.base.identity import BatchId
from trident.base.ranges import PartitionId
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.planned import PartFull, Plan, SpoutRange, StartPosition
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.plans.ranges import SpoutView, plan_ranges
from trident.coordinators.plans.receiving import used_positions
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Lease, TopologySpec
from trident.spouts.base import Limits, LostOffsets, ReceivesRows


def received(given: SpoutView) -> SpoutView:
    return replace(given, has_moments=False, is_received=True)


def plan(txid: int, *ranges: SpoutRange) -> Plan:
    return Plan(txid, txid, 1, 0, datetime(2026, 1, 1, tzinfo=UTC), ranges)


def test_rows_go_behind_all_that_was_planned_whatever_became_of_it():
    plans = [
        plan(1, SpoutRange("s", at(0, 10)), SpoutRange("s", at(1, 4)), SpoutRange("other", at(0, 99))),
        plan(2, SpoutRange("s", at(0, 30, start=10))),
        plan(2, SpoutRange("s", at(0, 20, start=10))),
    ]
    starts = [
        StartPosition("s", PartitionId("t", 1), "id", 7),
        StartPosition("s", PartitionId("t", 2), "id", 3),
        StartPosition("other", PartitionId("t", 5), "id", 3),
    ]
    used = {id_.partition: stop for id_, stop in used_positions("s", plans, starts).items()}
    assert used == {0: 30, 1: 7, 2: 3}


def test_what_died_with_a_process_is_a_loss_that_says_so():
    ranges, losses = plan_ranges(received(view([at(0, 10)], [holds(0, 15, 18)], on_lost=RESUME)))
    assert spans(ranges) == [(0, 15, 18)]
    ((start, stop, reason),) = [(loss.start, loss.stop, loss.reason) for loss in losses]
    assert (start, stop) == (10, 15)
    assert "received by a process that ended" in reason


def test_without_leave_it_stops_and_says_what_to_do():
    gone = received(view([at(0, 10)], [holds(0, 15, 18)], on_lost=LostOffsets.STOP))
    with pytest.raises(FatalError, match=r"5 rows of partition 0 of .* Nothing more was received\. Run with"):
        plan_ranges(gone)


def test_of_a_partition_that_no_batch_has_finished_the_loss_is_known_too():
    ranges, losses = plan_ranges(received(view([at(0, 10)], [holds(0, 10, 10), holds(3, 4, 6)], on_lost=RESUME)))
    assert spans(ranges) == [(0, 10, 10), (3, 4, 6)]
    assert [(loss.id.partition, loss.start, loss.stop) for loss in losses] == [(3, 0, 4)]


@pytest.mark.parametrize("bounds", [[holds(0, 20, 25)], [holds(0, 10, 25)], []])
def test_rows_of_a_refused_batch_are_never_taken_for_others(bounds):
    """A person decided about rows that their process has taken with it: whatever stands there now is not these."""
    held = received(view([at(0, 10)], bounds, on_lost=RESUME, repeated=[at(0, 20, start=10)], held=True))
    other = replace(view([at(0, 5)], [holds(0, 0, 9)], repeated=[at(0, 7, start=5)], held=True), name="other")
    ranges, _ = plan_ranges(held, other)
    assert ("other", 5, 9) in [(each.spout, each.range.start, each.range.stop) for each in ranges]
    assert all(each.range.start != 10 or each.range.stop != 20 for each in ranges if each.spout == "s")


def maker_over(
    records: int, on_lost: LostOffsets = RESUME, beside: int | None = None, taking: type[Taking] = Taking
) -> tuple[PlanMaker, MakePlan, Queue]:
    """Return one whose batches have five rows at most, over a queue of so many, and its first command.

    With a stream beside it that has so many records, of which a batch takes three.
    """
    ledger, queue = MemoryLedger(), Queue({0: [f"r{n}" for n in range(records)]})
    spec = TopologySpec("t", {"s": {}}, {})
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    owner = ledger.register(epoch, spec).owner
    spout = taking(queue, on_lost)
    source = spout.open("s")
    ledger.set_starts(owner, epoch, [StartPosition("s", each.id, each.topic_id, 0) for each in source.starts()])
    book = PlanBook(ledger.register(epoch, spec))
    maker = PlanMaker(ledger, {"s": spout}, {"s": source}, book, epoch, SystemClock())
    if beside is not None:
        other = ListSpout(Topic([[("a", 1)] * beside]), limits=Limits(max_records=3))
        spouts, sources = {**maker.spouts, "other": other}, {**maker.sources, "other": other.open("other")}
        maker = replace(maker, spouts=spouts, sources=sources)
    return maker, MakePlan(BatchId(owner, epoch, 1, 1), 1), queue


def test_a_source_is_not_asked_while_its_rows_could_be_left_for_a_fuller_batch():
    """And that it was not asked is no word that it has nothing: a run would take itself for caught up."""
    maker, command, queue = maker_over(7)
    assert isinstance(maker.build(replace(command, only_full=True)), PartFull)
    assert (queue.given, maker.book.lag) == ([], 0)
    built = maker.build(command)
    assert isinstance(built, Plan)
    assert spans(built.ranges) == [(0, 0, 5)]
    assert (len(queue.given), maker.book.lag) == (5, 0), "all that was received is planned"


@pytest.mark.parametrize("beside", [3, 9])
def test_a_stream_that_always_fills_a_batch_leaves_no_other_one_unasked(beside):
    maker, command, queue = maker_over(7, beside=beside)
    built = maker.build(replace(command, only_full=True))
    assert isinstance(built, Plan)
    assert {(each.spout, each.range.width) for each in built.ranges} == {("s", 5), ("other", 3)}
    assert len(queue.given) == 5


def test_a_stream_that_waits_for_a_fuller_batch_has_no_other_one_asked():
    maker, command, queue = maker_over(7, beside=2)
    assert isinstance(maker.build(replace(command, only_full=True)), PartFull)
    assert (queue.given, maker.book.lag) == ([], 2)


def test_more_than_was_asked_for_makes_a_larger_batch_and_waits_nowhere():
    maker, command, queue = maker_over(30, taking=Generous)
    built = maker.build(command)
    assert isinstance(built, Plan)
    assert spans(built.ranges) == [(0, 0, 20)]
    assert (len(queue.given), maker.book.lag) == (20, 0)


def test_a_source_that_has_nothing_was_asked():
    maker, command, _ = maker_over(0)
    assert maker.build(command) is None


def test_nothing_is_received_for_a_plan_that_can_not_be_made():
    maker, command, queue = maker_over(7, LostOffsets.STOP)
    source = maker.sources["s"]
    assert isinstance(source, ReceivesRows)
    source.begin({PartitionId("s", 0): 3})
    with pytest.raises(FatalError, match="3 rows of partition 0 were received by a process that ended"):
        maker.build(command)
    assert queue.given == []


def test_a_batch_that_is_planned_again_begins_with_its_rows_and_has_those_that_came_since():
    maker, command, queue = maker_over(3)
    planned_and_stored(maker, command)
    queue.waiting[0] += ["late", "later", "too late"]
    again = MakePlan(replace(command.batch, attempt=2), 2, drop_from=1)
    built = maker.build(again)
    assert isinstance(built, Plan)
    assert spans(built.ranges) == [(0, 0, 5)]
    assert queue.given == ["r0", "r1", "r2", "late", "later"]


def test_the_last_plan_of_a_run_takes_what_was_received_and_asks_for_nothing_more():
    maker, command, queue = maker_over(3)
    planned_and_stored(maker, command)
    queue.waiting[0] += ["late", "later"]
    last = MakePlan(replace(command.batch, attempt=2), 2, drop_from=1, is_last=True)
    built = maker.build(last)
    assert isinstance(built, Plan)
    assert spans(built.ranges) == [(0, 0, 3)]
    assert queue.given == ["r0", "r1", "r2"]
