"""Plans: half-open ranges for every partition ever seen, limits shared, losses recorded or refused."""

from __future__ import annotations

from dataclasses import replace
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
from trident.coordinators.planned import PartFull, Plan, StartPosition
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.plans.ranges import SpoutView, plan_ranges
from trident.coordinators.plans.sharing import record_limit, share
from trident.coordinators.protocol.messages import DropFrom, MakePlan
from trident.coordinators.registered import Lease, TopologySpec
from trident.spouts.base import Limits, LostOffsets, SpoutKind

RESUME = LostOffsets.RESUME_AT_EARLIEST


def at(partition: int, stop: int, start: int = 0, topic_id: str = "id") -> OffsetRange:
    return OffsetRange(PartitionId("t", partition), topic_id, start, stop)


def holds(partition: int, earliest: int, stop: int, topic_id: str = "id") -> PartitionBounds:
    return PartitionBounds(PartitionId("t", partition), topic_id, earliest, stop)


def planned_and_stored(maker, command):
    plan = maker.build(command)
    maker.store(command, plan)
    return plan


def view(positions, bounds, *, kind=SpoutKind.OPAQUE, limits=None, on_lost=LostOffsets.STOP, repeated=None, held=False):
    by_id = {item.id: item for item in positions}
    return SpoutView("s", kind, limits or Limits(), on_lost, by_id, bounds, repeated, 100.0, 1_000, held)


def spans(planned):
    return [(item.range.id.partition, item.range.start, item.range.stop) for item in planned]


def test_a_plan_follows_on_the_one_before():
    ranges, losses = plan_ranges(view([at(0, 10), at(1, 5)], [holds(0, 0, 30), holds(1, 0, 5)]))
    assert spans(ranges) == [(0, 10, 30), (1, 5, 5)]
    assert losses == ()


def test_a_partition_found_later_starts_at_zero():
    ranges, _ = plan_ranges(view([at(0, 10)], [holds(0, 0, 10), holds(1, 0, 7)]))
    assert spans(ranges) == [(0, 10, 10), (1, 0, 7)]


def bare(given):
    return replace(given, has_moments=False)


def test_bare_positions_that_are_found_later_begin_where_they_begin():
    ranges, losses = plan_ranges(bare(view([at(0, 10)], [holds(0, 0, 10), holds(1, 5, 7)])))
    assert (spans(ranges), losses) == ([(0, 10, 10), (1, 5, 7)], ())


@pytest.mark.parametrize("kind", list(SpoutKind))
def test_where_bare_positions_began_they_begin_when_they_are_planned_again(kind):
    bounds = [holds(0, 0, 10), holds(1, 2, 9)]
    again = view([at(0, 10)], bounds, kind=kind, repeated=[at(1, 7, 5)])
    (_, (partition, start, _)) = spans(plan_ranges(bare(again))[0])
    assert (partition, start) == (1, 5)
    lost = view([at(0, 10)], [holds(0, 0, 10), holds(1, 6, 9)], kind=kind, repeated=[at(1, 7, 5)])
    with pytest.raises(FatalError, match="offsets 5 to 6 of partition 1"):
        plan_ranges(bare(lost))
    missing = view([at(0, 10)], [holds(0, 0, 10)], kind=kind, repeated=[at(1, 7, 5)], held=True)
    assert spans(plan_ranges(bare(missing))[0])[1] == (1, 5, 7)


def test_the_way_on_of_bare_positions_is_one_that_they_have():
    gone = bare(view([at(0, 3)], [holds(0, 5, 9)]))
    with pytest.raises(FatalError, match=r"on_lost_offsets = LostOffsets\.RESUME_AT_EARLIEST in the spout's class"):
        plan_ranges(gone)
    ranges, losses = plan_ranges(replace(gone, on_lost=RESUME))
    assert spans(ranges) == [(0, 5, 9)]
    assert [(loss.start, loss.stop) for loss in losses] == [(3, 5)]


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


def test_what_a_person_decided_about_is_repeated_by_all_streams_or_by_none():
    able = view([at(0, 10)], [holds(0, 0, 90)], repeated=[at(0, 20, start=10)], held=True)
    unable = view([at(0, 10)], [holds(0, 15, 90)], repeated=[at(0, 20, start=10)], held=True, on_lost=RESUME)
    assert spans(plan_ranges(able, able)[0]) == [(0, 10, 20), (0, 10, 20)]
    assert spans(plan_ranges(able, unable)[0]) == [(0, 10, 90), (0, 15, 90)]


def test_what_a_transactional_stream_hands_out_again_makes_no_decision_void():
    """Its broker shows less than was planned at the moment; it hands the same ranges out and waits."""
    bound = view([at(0, 10)], [holds(0, 0, 15)], kind=SpoutKind.TRANSACTIONAL, repeated=[at(0, 20, 10)], held=True)
    able = view([at(0, 10)], [holds(0, 0, 90)], repeated=[at(0, 20, start=10)], held=True)
    assert spans(plan_ranges(able, bound)[0]) == [(0, 10, 20), (0, 10, 20)]


def test_a_loss_where_nothing_was_decided_about_keeps_no_record_from_being_repeated():
    repeated = [at(0, 20, start=10), at(1, 5, start=5)]
    again = view([at(0, 10), at(1, 5)], [holds(0, 0, 90), holds(1, 8, 9)], repeated=repeated, held=True, on_lost=RESUME)
    ranges, losses = plan_ranges(again)
    assert spans(ranges) == [(0, 10, 20), (1, 8, 8)]
    assert [(loss.start, loss.stop) for loss in losses] == [(5, 8)]


@pytest.mark.parametrize("limits", [Limits(max_records=0), Limits(max_bytes=0)])
def test_no_limit_keeps_a_stream_from_going_on(limits):
    ranges, _ = plan_ranges(view([at(0, 0)], [holds(0, 0, 90)], limits=limits))
    assert spans(ranges) == [(0, 0, 1)]


def test_the_byte_limit_uses_the_average_record_size():
    ranges, _ = plan_ranges(view([at(0, 0)], [holds(0, 0, 90)], limits=Limits(max_records=50, max_bytes=1000)))
    assert spans(ranges) == [(0, 0, 10)]


def test_a_byte_limit_below_one_record_still_makes_progress():
    ranges, _ = plan_ranges(view([at(0, 0)], [holds(0, 0, 90)], limits=Limits(max_bytes=1)))
    assert spans(ranges) == [(0, 0, 1)]


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (Limits(max_records_per_partition=5), [(0, 0, 5), (1, 3, 8), (2, 0, 2)]),
        (Limits(max_records=6, max_records_per_partition=5), [(0, 0, 2), (1, 3, 5), (2, 0, 2)]),
        (Limits(max_records=4, max_records_per_partition=1), [(0, 0, 1), (1, 3, 4), (2, 0, 1)]),
    ],
)
def test_a_limit_of_each_partition_holds_beside_the_one_they_share(limits, taken):
    bounds = [holds(0, 0, 90), holds(1, 0, 90), holds(2, 0, 2)]
    ranges, _ = plan_ranges(view([at(0, 0), at(1, 3), at(2, 0)], bounds, limits=limits))
    assert spans(ranges) == taken


def test_what_is_read_again_as_it_was_follows_no_newer_limit_of_partitions():
    limits, before = Limits(max_records_per_partition=5), [at(0, 60)]
    again = view([at(0, 0)], [holds(0, 0, 90)], kind=SpoutKind.TRANSACTIONAL, repeated=before, limits=limits)
    ranges, _ = plan_ranges(again)
    assert spans(ranges) == [(0, 0, 60)]


@given(
    st.integers(0, 10**6) | st.none(),
    st.dictionaries(st.builds(PartitionId, st.just("t"), st.integers(0, 50)), st.integers(0, 10**5), max_size=20),
    st.integers(0, 10**6),
)
def test_a_limit_is_shared_out_whole_and_fairly(limit, available, turn):
    taken = share(limit, available, turn)
    assert taken == share(limit, dict(reversed(available.items())), turn), "the same plan, whoever makes it"
    assert taken.keys() == available.keys()
    assert all(0 <= taken[id_] <= available[id_] for id_ in available)
    total = sum(available.values())
    assert sum(taken.values()) == (total if limit is None else min(limit, total))
    cut = [taken[id_] for id_ in available if taken[id_] < available[id_]]
    if cut:
        assert max(cut) - min(cut) <= 1
        assert max(taken.values()) <= max(cut) + 1


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=10),
    st.integers(0, 10**9),
)
def test_whoever_has_records_is_read_within_as_many_plans_as_there_are_partitions(limit, partitions, first):
    """Whatever comes to the others meanwhile, and in which rhythm."""
    available = {PartitionId("t", n): backlog for n, (backlog, _, _) in enumerate(partitions)}
    waited = dict.fromkeys(available, 0)
    for turn in range(first, first + 4 * len(partitions)):
        taken = share(limit, available, turn)
        for id_, (_, more, every) in zip(available, partitions, strict=True):
            waited[id_] = 0 if taken[id_] or not available[id_] else waited[id_] + 1
            assert waited[id_] < len(partitions)
            available[id_] += -taken[id_] + (more if turn % every == 0 else 0)


@pytest.mark.parametrize(("limit", "partitions"), [(1, 2), (1, 7), (99, 100), (150, 100)])
def test_over_many_plans_a_large_backlog_is_read_like_the_trickles_beside_it(limit, partitions):
    large = PartitionId("t", partitions - 1)
    available = {PartitionId("t", n): 1 for n in range(partitions)} | {large: 10**6}
    read = dict.fromkeys(available, 0)
    plans = 1_000
    for turn in range(plans):
        for id_, taken in share(limit, available, turn).items():
            read[id_] += taken
            available[id_] += 1 - taken
    fair = plans * limit / partitions
    assert all(read[id_] > 0.8 * min(fair, plans) for id_ in available)
    assert sum(read.values()) == plans * limit


def test_few_of_many_partitions_with_records_take_turns_too():
    busy = (PartitionId("t", 3), PartitionId("t", 4))
    available = {PartitionId("t", n): 0 for n in range(100)} | dict.fromkeys(busy, 10**6)
    taken = [share(1, available, turn) for turn in range(1_000)]
    assert 400 < sum(plan[busy[0]] for plan in taken) < 600


def test_a_byte_limit_grows_with_what_was_measured():
    limits = Limits(max_bytes=64 << 20)
    assert record_limit(limits, None, 0) == 64, "before anything was read each record is taken for a large one"
    assert record_limit(limits, None, 64) == 256, "64 offsets without a record"
    assert record_limit(limits, None, 10**6) == 65_536, "behind a gap something comes after all"
    assert record_limit(limits, 10.0, 64) == 256, "64 small records say little of the next millions"
    assert record_limit(limits, 1 << 18, 64) == 256
    assert record_limit(limits, 1 << 20, 10**9) == 64
    assert record_limit(Limits(max_bytes=1), None, 0) == 1


@given(st.integers(1, 10**8), st.integers(1, 10**6))
def test_the_first_batches_hold_a_byte_limit_whatever_the_size_of_the_records(max_bytes, size):
    limits, measured, count = Limits(max_bytes=max_bytes), 0, 0
    average: float | None = None
    for _ in range(20):
        count = record_limit(limits, average, measured) or 0
        assert count == 1 or count * size <= max_bytes
        average, measured = float(size), measured + count
    assert count >= min(max_bytes // size, 4**20)


def test_a_transaction_that_is_open_before_the_position_is_waited_for():
    """It was read with read_committed=False before: the log has all of that, and none of it may be read again."""
    known = OffsetRange(PartitionId("t", 0), "id", 0, 7, 3)
    waits = replace(view([known, at(1, 5)], [holds(0, 0, 3), holds(1, 0, 9)]), ends={known.id: 8})
    ranges, losses = plan_ranges(waits)
    assert (spans(ranges), losses) == ([(0, 7, 7), (1, 5, 9)], ())
    assert ranges[0].range.epoch == 3, "what proves the position stays"
    assert [bound.id.partition for bound in waits.waiting] == [0]


@pytest.mark.parametrize("ends", [{}, {PartitionId("t", 0): 6}])
def test_a_log_that_ends_before_the_position_is_not_waited_for(ends):
    cut = replace(view([at(0, 7)], [holds(0, 0, 3)]), ends=ends)
    with pytest.raises(FatalError, match="truncated or created anew"):
        plan_ranges(cut)


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
    if isinstance(plan, Plan):
        maker.store(command, plan)
        assert ledger.register(epoch, spec).live == (plan,)
        assert plan.timers == timers


def maker_over(
    records: int, kind: SpoutKind = SpoutKind.OPAQUE, limits: Limits | None = None
) -> tuple[PlanMaker, MakePlan]:
    """Return one whose batches have three records at most or these limits, over so many, and its first command."""
    ledger = MemoryLedger()
    spec = TopologySpec("t", {"s": {}}, {})
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    owner = ledger.register(epoch, spec).owner
    topic = Topic([[("a", 1)] * records])
    ledger.set_starts(owner, epoch, (StartPosition("s", PartitionId("t", 0), "id", 0),))
    spout = ListSpout(topic, kind=kind, limits=limits or Limits(max_records=3))
    book = PlanBook(ledger.register(epoch, spec))
    maker = PlanMaker(ledger, {"s": spout}, {"s": ListSource(topic, "s")}, book, epoch, SystemClock())
    return maker, MakePlan(BatchId(owner, epoch, 1, 1), 1, only_full=True)


@pytest.mark.parametrize(
    ("records", "only_full", "expected"),
    [(0, False, None), (0, True, None), (2, False, Plan), (2, True, PartFull), (3, True, Plan), (4, True, Plan)],
)
def test_a_batch_that_is_wanted_full_is_planned_once_its_limit_is_reached(records, only_full, expected):
    maker, command = maker_over(records)
    built = maker.build(replace(command, only_full=only_full))
    assert type(built) is (type(None) if expected is None else expected)
    if expected is PartFull:
        assert maker.book.lag == records, "what waits is behind"


@pytest.mark.parametrize(("records", "expected"), [(2, PartFull), (3, Plan), (4, Plan)])
def test_a_limit_in_bytes_is_reached_by_as_many_records_as_it_comes_to(records, expected):
    maker, command = maker_over(records, limits=Limits(max_bytes=300))
    maker.book.record_size("s", size_bytes=100_000, count=1_000, width=1_000)
    assert type(maker.build(command)) is expected


@pytest.mark.parametrize(("kind", "expected"), [(SpoutKind.TRANSACTIONAL, Plan), (SpoutKind.OPAQUE, PartFull)])
def test_what_is_read_again_as_it_was_does_not_wait_for_a_fuller_batch(kind, expected):
    """It would wait in vain, after each failure anew; an opaque one takes what has come since, and may wait."""
    maker, command = maker_over(2, kind)
    assert isinstance(maker.build(command), PartFull)
    planned_and_stored(maker, replace(command, only_full=False))
    maker.drop(DropFrom(1))
    again = BatchId(command.batch.owner, command.batch.epoch, 1, 2)
    assert isinstance(maker.build(MakePlan(again, 2, only_full=True)), expected)


def test_there_is_no_plan_behind_a_cut():
    """The loop holds that back until what it follows on is decided, or has failed and is read again as it is now."""
    ledger = MemoryLedger()
    spec = TopologySpec("t", {"s": {}}, {})
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    owner = ledger.register(epoch, spec).owner
    topic = Topic([[("a", 1)] * 5], epoch=3)
    source = ListSource(topic, "s")
    ledger.set_starts(owner, epoch, (StartPosition("s", PartitionId("t", 0), "id", 0, 3),))
    maker = PlanMaker(
        ledger,
        {"s": ListSpout(topic)},
        {"s": source},
        PlanBook(ledger.register(epoch, spec)),
        epoch,
        SystemClock(),
    )
    command = MakePlan(BatchId(owner, epoch, 1, 1), 1)
    planned_and_stored(maker, command)
    topic.cut(0, 2)
    topic.partitions[0] += [("b", 1)] * 9
    following = MakePlan(BatchId(owner, epoch, 2, 2), 1)
    with pytest.raises(FatalError, match="its log was cut at 2 since"):
        maker.build(following)


def test_a_transactional_stream_that_had_nothing_has_nothing_again():
    """What had nothing is not in the stored plan: that is no leave to read what has come since."""
    ledger = MemoryLedger()
    spec = TopologySpec("t", {"a": {}, "b": {}}, {})
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    owner = ledger.register(epoch, spec).owner
    topics = {"a": Topic([[("x", 1)] * 4]), "b": Topic([[]])}
    ledger.set_starts(owner, epoch, [StartPosition(name, PartitionId("t", 0), "id", 0) for name in topics])
    maker = PlanMaker(
        ledger,
        {name: ListSpout(topic, SpoutKind.TRANSACTIONAL) for name, topic in topics.items()},
        {name: ListSource(topic, name) for name, topic in topics.items()},
        PlanBook(ledger.register(epoch, spec)),
        epoch,
        SystemClock(),
    )
    first, second = (MakePlan(BatchId(owner, epoch, txid, txid), 1) for txid in (1, 2))
    planned_and_stored(maker, first)
    topics["a"].partitions[0].append(("x", 1))
    planned_and_stored(maker, second)
    topics["b"].partitions[0].append(("late", 1))
    again = planned_and_stored(maker, MakePlan(BatchId(owner, epoch, 2, 3), 2, drop_from=2))
    assert [(item.spout, item.range.start, item.range.stop) for item in again.ranges] == [("a", 4, 5), ("b", 0, 0)]
