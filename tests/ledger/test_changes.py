"""A stored plan names what it changes; read back behind the plan before, it names every partition again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.making import plan_of, range_of
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.ledger.rules.changes import chained, changed_ranges, in_full, is_stored_as
from trident.coordinators.ledger.rules.progress import PlanStatus, StoredPlan
from trident.coordinators.ledger.sql.codec import RANGES
from trident.coordinators.planned import Plan, SpoutRange

BEFORE = plan_of(1, 1, 0, range_of(0, 5, 15), range_of(1, 7, 7), range_of(2, 0, 0))


def stored(plan: Plan, before: Plan | None) -> StoredPlan:
    changed = replace(plan, ranges=changed_ranges(plan, before))
    return StoredPlan("life", 1, PlanStatus.LIVE, changed, is_whole=before is None)


def test_only_what_is_read_is_written() -> None:
    plan = plan_of(2, 2, 1, range_of(0, 15, 15), range_of(1, 7, 9), range_of(2, 0, 0))
    assert changed_ranges(plan, BEFORE) == (range_of(1, 7, 9),)
    assert in_full(stored(plan, BEFORE), BEFORE).plan == plan


def test_a_new_partition_a_loss_another_topic_and_another_epoch_are_written_too() -> None:
    anew = SpoutRange("in", OffsetRange(PartitionId("t", 1), "id-t", 7, 7, 3))
    plan = plan_of(2, 2, 1, range_of(0, 20, 20), anew, range_of(2, 0, 0, "other"), range_of(3, 0, 0))
    assert changed_ranges(plan, BEFORE) == plan.ranges
    assert in_full(stored(plan, BEFORE), BEFORE).plan == plan


def test_the_first_plan_of_a_life_is_written_whole() -> None:
    assert changed_ranges(BEFORE, None) == BEFORE.ranges


def test_a_plan_is_the_stored_one_only_if_it_reads_nothing_else() -> None:
    plan = plan_of(2, 2, 1, range_of(0, 15, 15), range_of(1, 7, 9), range_of(2, 0, 0))
    assert is_stored_as(stored(plan, BEFORE), plan)
    assert not is_stored_as(stored(plan, BEFORE), replace(plan, tries=2))
    for other in (range_of(0, 15, 16), range_of(1, 7, 8)):
        ranges = tuple(other if item.range.id == other.range.id else item for item in plan.ranges)
        assert not is_stored_as(stored(plan, BEFORE), replace(plan, ranges=ranges))


@given(st.lists(st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 2), st.integers(0, 3))), max_size=6))
def test_a_chain_comes_back_as_it_was_planned(steps: list[dict[int, tuple[int, int]]]) -> None:
    plans: list[Plan] = []
    positions: dict[int, tuple[int, int | None]] = {}
    for txid, step in enumerate(steps, start=1):
        ranges = []
        for number in sorted(positions.keys() | step.keys()):
            start, epoch = positions.get(number, (0, None))
            width, epoch = step.get(number, (0, epoch))
            ranges.append(SpoutRange("s", OffsetRange(PartitionId("t", number), "id", start, start + width, epoch)))
            positions[number] = (start + width, epoch)
        plans.append(plan_of(txid, txid, txid - 1, *ranges))
    rows = [stored(plan, before) for plan, before in zip(plans, [None, *plans], strict=False)]
    texts = [RANGES.encode(row.plan.ranges) for row in rows]
    read = [
        replace(row, plan=replace(row.plan, ranges=RANGES.decode(text))) for row, text in zip(rows, texts, strict=True)
    ]
    assert [row.plan for row in chained(read)] == plans
