"""Ticks: which are due at a batch's time, what becomes of missed ones, the same range in each re-run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.control import CONTROL, decode
from trident.base.errors import ConfigurationError
from trident.base.identity import BatchId
from trident.base.order import ORDER
from trident.base.ranges import Edge, OffsetRange, PartitionId, RangeManifest
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.planned import Plan, StartPosition
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Lease, TopologySpec
from trident.spouts import MissedTicks, StartAt, TickSpout
from trident.spouts.ticking import Ticking
from trident.spouts.ticks import TickSource

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("tick", pa.int64()),
    ("due", pa.timestamp("us", "UTC")),
    ("missed", pa.int64()),
    (ORDER, pa.binary()),
    (CONTROL, pa.string()),
]
SCHEMA = pa.schema(_COLUMNS)


class Wall:
    """A clock that tests set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class Planning:
    """A topology of nothing but ticks, planned over a memory ledger."""

    def __init__(self, clock: Wall, spout: TickSpout, first: int) -> None:
        ledger = MemoryLedger()
        ledger.open(None)  # type: ignore[arg-type]  # it needs none
        epoch = ledger.acquire("t", Lease("me", timedelta(minutes=1))).epoch
        source = spout.open("beat")
        snapshot = ledger.register(epoch, TopologySpec("t", {"beat": spout.description()}, {}))
        self.owner = snapshot.owner
        ledger.set_starts(self.owner, epoch, [StartPosition("beat", PartitionId("beat", 0), "ticks", first)])
        snapshot = ledger.snapshot(epoch, "t")
        self.epoch = epoch
        self.maker = PlanMaker(ledger, {"beat": spout}, {"beat": source}, PlanBook(snapshot), epoch, clock)

    def plan(self, txid: int, attempt: int, tries: int = 1) -> Plan | None:
        batch = BatchId(self.owner, self.epoch, txid, attempt)
        command = MakePlan(batch, tries, txid if tries > 1 else None)
        plan = self.maker.build(command)
        assert plan is None or isinstance(plan, Plan)
        self.maker.store(command, plan)
        return plan


def first_after(moment: datetime, every: timedelta = MINUTE) -> int:
    return Ticking(every, MissedTicks.ONE).stop_at(moment)


def span(plan: Plan | None) -> tuple[int, int]:
    assert plan is not None
    (item,) = plan.ranges
    return item.range.start, item.range.stop


def rows(ticking: Ticking, start: int, stop: int) -> tuple[list[dict[str, object]], RangeManifest]:
    edge = Edge(7, OffsetRange(PartitionId("beat", 0), "ticks", start, stop))
    *batches, words = ticking.rows(SCHEMA, edge)
    manifest = decode(words.column(words.schema.names.index(CONTROL))[0].as_py())
    assert isinstance(manifest, RangeManifest)
    return [row for batch in batches for row in batch.to_pylist()], manifest


@given(MOMENTS, st.timedeltas(timedelta(seconds=1), timedelta(days=400)))
def test_a_tick_is_due_from_its_moment_on_and_never_before(moment: datetime, every: timedelta) -> None:
    ticking = Ticking(every, MissedTicks.ONE)
    stop = ticking.stop_at(moment)
    assert ticking.due(stop - 1) <= moment < ticking.due(stop)
    first = ticking.first_from(moment)
    assert ticking.due(first) >= moment
    assert first == 0 or ticking.due(first - 1) < moment


def test_what_is_before_1970_has_no_ticks() -> None:
    ticking = Ticking(MINUTE, MissedTicks.ONE)
    early = datetime(1969, 12, 31, 23, tzinfo=UTC)
    assert (ticking.stop_at(early), ticking.first_from(early)) == (0, 0)


@pytest.mark.parametrize(
    ("missed", "expected"),
    [(MissedTicks.ONE, [(12, 2)]), (MissedTicks.ALL, [(10, 0), (11, 0), (12, 0)])],
)
def test_missed_ticks_are_one_row_or_all(missed: MissedTicks, expected: list[tuple[int, int]]) -> None:
    found, manifest = rows(Ticking(MINUTE, missed), 10, 13)
    assert [(row["tick"], row["missed"]) for row in found] == expected
    assert found[-1]["due"] == datetime(1970, 1, 1, 0, 12, tzinfo=UTC)
    assert (manifest.position, manifest.count) == (13, len(expected))


@pytest.mark.parametrize("missed", list(MissedTicks))
def test_an_empty_range_has_no_row_and_its_word(missed: MissedTicks) -> None:
    found, manifest = rows(Ticking(MINUTE, missed), 10, 10)
    assert found == []
    assert (manifest.position, manifest.count) == (10, 0)


def test_a_plan_is_made_for_a_due_tick_and_for_nothing_else() -> None:
    clock = Wall(NOON + timedelta(seconds=1))
    planning = Planning(clock, TickSpout(MINUTE), first_after(clock.time))
    assert planning.plan(1, 1) is None
    clock.time = NOON + timedelta(seconds=59.999999)
    assert planning.plan(1, 1) is None
    clock.time = NOON + MINUTE
    plan = planning.plan(1, 1)
    assert plan is not None
    assert span(plan) == (first_after(NOON), first_after(NOON) + 1)
    assert plan.batch_time == NOON + MINUTE


def test_an_attempt_that_is_tried_again_has_the_ticks_of_the_first_one() -> None:
    clock = Wall()
    planning = Planning(clock, TickSpout(MINUTE), first_after(clock.time))
    clock.time = NOON + 3 * MINUTE
    first = span(planning.plan(1, 1))
    clock.time = NOON + 30 * MINUTE
    assert span(planning.plan(1, 2, tries=2)) == first
    assert span(planning.plan(2, 3)) == (first[1], first[1] + 27)


def test_a_clock_that_goes_back_ticks_nothing_again_and_stops_nothing() -> None:
    clock = Wall(NOON)
    planning = Planning(clock, TickSpout(MINUTE), first_after(NOON))
    clock.time = NOON - timedelta(hours=1)  # another machine's, behind the one that began
    assert planning.plan(1, 1) is None
    clock.time = NOON + MINUTE
    assert span(planning.plan(1, 1)) == (first_after(NOON), first_after(NOON) + 1)
    clock.time = NOON - timedelta(days=1)
    assert planning.plan(2, 2) is None


def test_that_a_clock_was_ahead_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = Wall(NOON)
    source = TickSource("beat", Ticking(MINUTE, MissedTicks.ONE), clock)

    def told(newest: datetime) -> int:
        caplog.clear()
        stop = first_after(newest)
        source.follow({PartitionId("beat", 0): OffsetRange(PartitionId("beat", 0), "ticks", 0, stop)})
        return len(caplog.records)

    assert [told(NOON + MINUTE - timedelta(seconds=1)), told(NOON + 2 * MINUTE), told(NOON + 9 * MINUTE)] == [0, 1, 0]


def test_all_missed_ticks_take_as_many_batches_as_they_need() -> None:
    clock = Wall()
    spout = TickSpout(MINUTE, missed="all", max_records_per_batch=4)
    planning = Planning(clock, spout, first_after(clock.time))
    clock.time = NOON + 10 * MINUTE
    widths = []
    for txid in (1, 2, 3):
        start, stop = span(planning.plan(txid, txid))
        widths.append(stop - start)
    assert widths == [4, 4, 2]
    assert planning.plan(4, 4) is None


def test_what_is_due_is_said_by_the_batchs_time_which_no_clock_takes_back() -> None:
    clock = Wall()
    planning = Planning(clock, TickSpout(MINUTE, missed="all", max_records_per_batch=4), first_after(clock.time))
    clock.time = NOON + 10 * MINUTE
    _, stop = span(planning.plan(1, 1))
    clock.time = NOON
    plan = planning.plan(2, 2)
    assert plan is not None
    assert plan.batch_time == NOON + 10 * MINUTE
    assert span(plan) == (stop, stop + 4)


@pytest.mark.parametrize("policy", [None, StartAt.EARLIEST, StartAt.LATEST])
def test_a_topology_begins_with_the_first_tick_that_is_to_come(policy: StartAt | None) -> None:
    source = TickSource("beat", Ticking(MINUTE, MissedTicks.ONE), Wall())
    (start,) = source.starts(policy)
    assert Ticking(MINUTE, MissedTicks.ONE).due(start.earliest) == NOON + MINUTE


def test_a_reset_from_a_moment_begins_with_the_first_tick_from_there() -> None:
    source = TickSource("beat", Ticking(MINUTE, MissedTicks.ONE), Wall())
    for moment in (NOON - MINUTE, NOON - 2 * MINUTE + timedelta(microseconds=1)):
        (start,) = source.starts(moment)
        assert Ticking(MINUTE, MissedTicks.ONE).due(start.earliest) == NOON - MINUTE


def test_another_every_is_another_stream_and_another_policy_is_not() -> None:
    assert TickSpout(MINUTE).description() != TickSpout(2 * MINUTE).description()
    assert TickSpout(MINUTE).description() == TickSpout(MINUTE, missed="all").description()


@pytest.mark.parametrize("every", [timedelta(milliseconds=999), timedelta(0), timedelta(days=4_000), 60])
def test_a_time_that_is_too_short_or_too_long_is_refused(every: object) -> None:
    with pytest.raises(ConfigurationError, match="every must be"):
        TickSpout(every)  # type: ignore[arg-type]
