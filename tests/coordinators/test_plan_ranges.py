"""Plans: half-open ranges for every partition ever seen, limits shared, losses recorded or refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.fakes import ListSource, ListSpout, Topic
from trident.base.clock import SystemClock
from trident.base.errors import FatalError
from trident.base.identity import BatchId
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.plans.ranges import SpoutView, plan_ranges, share
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Lease, StartPosition, TopologySpec
from trident.spouts.base import Limits, LostOffsets, SpoutKind


def at(partition: int, stop: int, start: int = 0, topic_id: str = "id") -> OffsetRange:
    return OffsetRange(PartitionId("t", partition), topic_id, start, stop)


def holds(partition: int, earliest: int, stop: int, topic_id: str = "id") -> PartitionBounds:
    return PartitionBounds(PartitionId("t", partition), topic_id, earliest, stop)


def view(positions, bounds, *, kind=SpoutKind.OPAQUE, limits=None, on_lost=LostOffsets.STOP, repeated=(), held=False):
    by_id = {item.id: item for item in positions}
    return SpoutView("s", kind, limits or Limits(), on_lost, by_id, bounds, repeated, 100.0, held)


def spans(planned):
    return [(item.range.id.partition, item.range.start, item.range.stop) for item in planned]


def test_a_plan_follows_on_the_one_before():
    ranges, losses = plan_ranges(view([at(0, 10), at(1, 5)], [holds(0, 0, 30), holds(1, 0, 5)]))
    assert spans(ranges) == [(0, 10, 30), (1, 5, 5)]
    assert losses == ()


def test_a_partition_found_later_starts_at_zero():
    ranges, _ = plan_ranges(view([at(0, 10)], [holds(0, 0, 10), holds(1, 0, 7)]))
    assert spans(ranges) == [(0, 10, 10), (1, 0, 7)]


def test_a_partition_missing_from_the_metadata_keeps_its_position():
    ranges, _ = plan_ranges(view([at(0, 10), at(1, 5)], [holds(0, 0, 12)]))
    assert spans(ranges) == [(0, 10, 12), (1, 5, 5)]


def test_a_topic_created_anew_stops():
    with pytest.raises(FatalError, match="created anew"):
        plan_ranges(view([at(0, 10)], [holds(0, 0, 30, "other")]))


def test_an_end_before_the_position_stops():
    with pytest.raises(FatalError, match="truncated or created anew"):
        plan_ranges(view([at(0, 10)], [holds(0, 0, 9)]))


@pytest.mark.parametrize("kind", SpoutKind)
def test_lost_offsets_stop_by_default(kind):
    with pytest.raises(FatalError, match="offsets 10 to 15"):
        plan_ranges(view([at(0, 10)], [holds(0, 15, 30)], kind=kind))


def test_a_transactional_spout_never_skips():
    lost = view([at(0, 10)], [holds(0, 15, 30)], kind=SpoutKind.TRANSACTIONAL, on_lost=LostOffsets.RESUME_AT_EARLIEST)
    with pytest.raises(FatalError):
        plan_ranges(lost)


def test_an_opaque_spout_records_what_it_skips():
    ranges, losses = plan_ranges(view([at(0, 10)], [holds(0, 15, 30)], on_lost=LostOffsets.RESUME_AT_EARLIEST))
    assert spans(ranges) == [(0, 15, 30)]
    assert [(loss.start, loss.stop) for loss in losses] == [(10, 15)]


def test_a_transactional_spout_hands_out_the_same_ranges_again():
    repeated = [at(0, 20, start=10)]
    again = view([at(0, 10)], [holds(0, 0, 90), holds(1, 0, 4)], kind=SpoutKind.TRANSACTIONAL, repeated=repeated)
    ranges, _ = plan_ranges(again)
    assert spans(ranges) == [(0, 10, 20), (1, 0, 0)]


def test_a_repeated_range_of_a_partition_that_is_missing_from_metadata_is_handed_out_again():
    """It was found when the dropped attempt was planned, and the batch before knows nothing of it."""
    repeated = [at(0, 20, start=10), at(1, 6, start=0)]
    again = view([at(0, 10)], [holds(0, 0, 90)], kind=SpoutKind.TRANSACTIONAL, repeated=repeated)
    assert spans(plan_ranges(again)[0]) == [(0, 10, 20), (1, 0, 6)]
    elsewhere = [at(0, 20, start=10), at(1, 6, start=2)]
    with pytest.raises(FatalError, match="partition 1 of topic 't' can't be read again from 2"):
        plan_ranges(view([at(0, 10)], [holds(0, 0, 90)], kind=SpoutKind.TRANSACTIONAL, repeated=elsewhere))


def test_an_opaque_spout_takes_what_there_is_now():
    again = view([at(0, 10)], [holds(0, 0, 90)], repeated=[at(0, 20, start=10)])
    assert spans(plan_ranges(again)[0]) == [(0, 10, 90)]


@pytest.mark.parametrize(
    ("bounds", "on_lost", "taken"),
    [
        ([holds(0, 0, 90)], LostOffsets.STOP, (10, 20)),
        ([holds(0, 0, 15)], LostOffsets.STOP, (10, 15)),
        ([holds(0, 12, 90)], LostOffsets.RESUME_AT_EARLIEST, (12, 90)),
    ],
)
def test_an_opaque_spout_repeats_what_a_person_decided_about_if_it_can(bounds, on_lost, taken):
    repeated = [at(0, 20, start=10)]
    again = view([at(0, 10)], bounds, repeated=repeated, held=True, on_lost=on_lost)
    assert spans(plan_ranges(again)[0]) == [(0, *taken)]


def test_the_byte_limit_uses_the_average_record_size():
    ranges, _ = plan_ranges(view([at(0, 0)], [holds(0, 0, 90)], limits=Limits(max_records=50, max_bytes=1000)))
    assert spans(ranges) == [(0, 0, 10)]


def test_a_byte_limit_below_one_record_still_makes_progress():
    ranges, _ = plan_ranges(view([at(0, 0)], [holds(0, 0, 90)], limits=Limits(max_bytes=1)))
    assert spans(ranges) == [(0, 0, 1)]


@given(
    st.integers(0, 10**6) | st.none(),
    st.dictionaries(st.builds(PartitionId, st.just("t"), st.integers(0, 50)), st.integers(0, 10**5), max_size=20),
)
def test_a_limit_is_shared_out_whole_and_fairly(limit, available):
    taken = share(limit, available)
    assert taken.keys() == available.keys()
    assert all(0 <= taken[id_] <= available[id_] for id_ in available)
    total = sum(available.values())
    assert sum(taken.values()) == (total if limit is None else min(limit, total))
    cut = [taken[id_] for id_ in available if taken[id_] < available[id_]]
    if cut:
        assert max(cut) - min(cut) <= 1
        assert max(taken.values()) <= max(cut) + 1


@pytest.mark.parametrize(("timers", "is_planned"), [((), False), (("minute",), True)])
def test_a_batch_may_be_due_without_records(timers, is_planned):
    ledger = MemoryLedger()
    spec = TopologySpec("t", {"s": {}}, {})
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    owner = ledger.register(epoch, spec).owner
    source = ListSource(Topic([[]]), "s")
    ledger.set_starts(owner, epoch, (StartPosition("s", PartitionId("t", 0), "id", 0),))
    book = PlanBook(ledger.register(epoch, spec))
    maker = PlanMaker(
        ledger, {"s": ListSpout(Topic([[]]))}, {"s": source}, book, epoch, SystemClock(), lambda txid, now: timers
    )
    command = MakePlan(BatchId(owner, epoch, 1, 1), 1)
    plan = maker.build(command)
    assert (plan is not None) is is_planned
    if plan is not None:
        maker.store(command, plan)
        assert ledger.register(epoch, spec).live == (plan,)
        assert plan.timers == timers
