"""The pure rules, on their own: what follows what, and what may never change."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.making import commit_of, loss_of, pin_of, plan_of, range_of, received_of, start_of
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.ledger.rules import attempts, commits, fencing
from trident.coordinators.ledger.rules.following import check_follows, has_new_partitions
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.ledger.rules.resets import starts_of_reset
from trident.coordinators.ledger.rules.specs import added_to, merged_spec, merged_starts
from trident.coordinators.ledger.sql.codec import LOSSES, MANIFESTS, PLAN, RANGES, STATES
from trident.coordinators.planned import Plan, SpoutRange, StartPosition
from trident.coordinators.registered import TopologySpec

OWNER = Owner("payments", "life")
EPOCH = Epoch(3, "token")
BORN = Progress("life", 0, 0, None, None, 0, 0, None)
STARTS = (start_of(0, 5),)
FIRST = plan_of(1, 1, 0, range_of(0, 5, 15))
SECOND = plan_of(2, 2, 1, range_of(0, 15, 25))
AT_ONE = BORN._replace(done=1, done_attempt=1, last_txid=1, last_attempt=1)

widths = st.integers(0, 2**40)
steps = st.lists(st.lists(st.tuples(widths, widths), min_size=1, max_size=4), min_size=1, max_size=6)


def chain_of(layout: list[list[tuple[int, int]]]) -> list[Plan]:
    """Return plans in which partition n loses and then reads as told; partitions only ever come on top."""
    positions: dict[int, int] = {}
    plans: list[Plan] = []
    for txid, partitions in enumerate(layout, start=1):
        for number in range(len(partitions)):
            positions.setdefault(number, 0)
        ranges, losses = [], []
        for number, position in positions.items():
            lost, width = partitions[number] if number < len(partitions) else (0, 0)
            if lost:
                losses.append(loss_of(number, position, position + lost))
            ranges.append(range_of(number, position + lost, position + lost + width))
            positions[number] = position + lost + width
        plans.append(plan_of(txid, txid, txid - 1, *ranges, losses=losses))
    return plans


@given(steps)
def test_every_chain_without_gaps_follows(layout: list[list[tuple[int, int]]]) -> None:
    plans = chain_of(layout)
    check_follows(plans[0], None, ())
    for before, plan in pairwise(plans):
        check_follows(plan, before, ())


@given(steps, st.data())
def test_any_range_that_is_moved_or_left_out_breaks_the_chain(
    layout: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    plans = chain_of([*layout, layout[0]])
    number = data.draw(st.integers(1, len(plans) - 1))
    before, plan = plans[number - 1], plans[number]
    index = data.draw(st.integers(0, len(before.ranges) - 1))
    item = plan.ranges[index]
    by = data.draw(st.integers(1, 2**40))
    moved = replace(item, range=replace(item.range, start=item.range.start + by, stop=item.range.stop + by))
    for ranges in (
        (*plan.ranges[:index], moved, *plan.ranges[index + 1 :]),
        (*plan.ranges[:index], *plan.ranges[index + 1 :]),
    ):
        with pytest.raises(MismatchError):
            check_follows(replace(plan, ranges=ranges), before, ())


@given(steps)
def test_a_loss_that_is_left_out_breaks_the_chain(layout: list[list[tuple[int, int]]]) -> None:
    plans = chain_of([*layout, [(1, 0)]])
    with pytest.raises(MismatchError, match="instead of"):
        check_follows(replace(plans[-1], losses=()), plans[-2], ())


@given(steps)
def test_records_are_read_back_as_they_were_written(layout: list[list[tuple[int, int]]]) -> None:
    for plan in chain_of(layout):
        pin = pin_of(plan)
        assert PLAN.decode(PLAN.encode(plan)) == plan
        assert RANGES.decode(RANGES.encode(plan.ranges)) == plan.ranges
        assert LOSSES.decode(LOSSES.encode(plan.losses)) == plan.losses
        assert MANIFESTS.decode(MANIFESTS.encode(pin.manifests)) == pin.manifests
        assert STATES.decode(STATES.encode(pin.states)) == pin.states


def test_a_plan_is_empty_without_records_messages_and_timers() -> None:
    nothing = plan_of(1, 1, 0, range_of(0, 5, 5))
    assert nothing.is_empty
    assert replace(nothing, received=(received_of(),)).is_empty
    assert not plan_of(1, 1, 0, range_of(0, 5, 5), range_of(1, 7, 8)).is_empty
    assert not replace(nothing, received=(received_of("a"),)).is_empty
    assert not replace(nothing, timers=("day",)).is_empty


def test_a_plan_of_before_has_no_timers_and_received_nothing() -> None:
    plan = plan_of(1, 1, 0, range_of(0, 5, 6))
    old = PLAN.encode(plan).replace(',"timers":[],"received":[]', "")
    assert "timers" not in old
    assert PLAN.decode(old) == plan


def test_new_partitions_are_seen() -> None:
    assert has_new_partitions(FIRST, None)
    assert not has_new_partitions(SECOND, FIRST)
    assert has_new_partitions(replace(SECOND, ranges=(*SECOND.ranges, range_of(1, 0, 1))), FIRST)


def test_a_stream_that_was_added_starts_where_its_incarnation_says() -> None:
    added = replace(range_of(0, 9, 10), spout="new")
    plan = replace(SECOND, ranges=(*SECOND.ranges, added))
    check_follows(plan, FIRST, [*STARTS, start_of(0, 9, "new")])
    with pytest.raises(MismatchError, match="'new' at 9 instead of 0"):
        check_follows(plan, FIRST, STARTS)


def test_fences() -> None:
    fencing.check_epoch("payments", EPOCH, Epoch(3, "token"))
    for stored in (None, Epoch(4, "token"), Epoch(3, "other"), Epoch(2, "token")):
        with pytest.raises(FencedError) as caught:
            fencing.check_epoch("payments", stored, EPOCH)
        assert "token" not in str(caught.value)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), FencedError)


def test_an_open_reset_stops_all_writes() -> None:
    fencing.check_owner(BORN, OWNER)
    with pytest.raises(MismatchError, match="is not finished"):
        fencing.check_owner(BORN._replace(reset_to="next"), OWNER)
    with pytest.raises(MismatchError, match="in incarnation life, not other"):
        fencing.check_owner(BORN, replace(OWNER, incarnation="other"))


@pytest.mark.parametrize(("drop_from", "refused"), [(1, True), (2, True), (3, False), (9, False)])
def test_drops(drop_from: int, refused: bool) -> None:
    progress = AT_ONE._replace(pinned=2, pinned_attempt=2)
    if refused:
        with pytest.raises(MismatchError, match="can't be dropped"):
            attempts.check_drop(progress, drop_from)
    else:
        attempts.check_drop(progress, drop_from)


def test_plans() -> None:
    attempts.check_plan(BORN, EPOCH, FIRST, None, STARTS)
    done = StoredPlan("life", 1, PlanStatus.DONE, FIRST)
    attempts.check_plan(AT_ONE, EPOCH, SECOND, done, None)
    wrong = {
        "no time zone": replace(SECOND, batch_time=SECOND.batch_time.replace(tzinfo=None)),
        "not above 1": replace(SECOND, attempt=1),
        "2 is the next": replace(SECOND, txid=3),
        "predecessor": replace(SECOND, predecessor=0),
    }
    for word, plan in wrong.items():
        with pytest.raises(MismatchError, match=word):
            attempts.check_plan(AT_ONE, EPOCH, plan, done, None)


def test_only_what_is_decided_or_of_this_epoch_is_followed() -> None:
    old = StoredPlan("life", 2, PlanStatus.LIVE, FIRST)
    progress = BORN._replace(last_txid=1, last_attempt=1)
    with pytest.raises(MismatchError, match="must drop it"):
        attempts.check_plan(progress, EPOCH, SECOND, old, None)
    attempts.check_plan(progress, EPOCH, SECOND, replace(old, epoch=3), None)
    attempts.check_plan(progress._replace(pinned=1, pinned_attempt=1), EPOCH, SECOND, old, None)


def test_pins() -> None:
    live = StoredPlan("life", 3, PlanStatus.LIVE, SECOND)
    pin = pin_of(SECOND)
    commits.check_pin(AT_ONE, EPOCH, pin, live, FIRST, None)
    wrong: dict[str, tuple[Progress, StoredPlan | None, Plan | None]] = {
        "txid 2 is. Nothing": (AT_ONE._replace(pinned=2, pinned_attempt=3), live, FIRST),
        "can.t be pinned: 0 is done": (BORN, live, FIRST),
        "is not live": (AT_ONE, None, FIRST),
        "2 is not live": (AT_ONE, replace(live, status=PlanStatus.DROPPED), FIRST),
        "at txid 2 is not live": (AT_ONE, replace(live, incarnation="old"), FIRST),
        "another plan": (AT_ONE, replace(live, plan=FIRST), FIRST),
        "planned by epoch 2": (AT_ONE, replace(live, epoch=2), FIRST),
        "follows attempt 1, but attempt 9": (AT_ONE._replace(done_attempt=9), live, FIRST),
        "starts partition 0": (AT_ONE, live, replace(FIRST, ranges=(range_of(0, 5, 14),))),
    }
    for word, (progress, stored, done_plan) in wrong.items():
        with pytest.raises(MismatchError, match=word):
            commits.check_pin(progress, EPOCH, pin, stored, done_plan, None)


def test_repeats_are_told_from_contradictions() -> None:
    pinned = AT_ONE._replace(pinned=2, pinned_attempt=2)
    assert commits.is_repeated_pin(pinned, pin_of(SECOND))
    assert commits.is_repeated_pin(AT_ONE, pin_of(FIRST))
    assert not commits.is_repeated_pin(AT_ONE, pin_of(SECOND))
    assert commits.is_repeated_done(AT_ONE, commit_of(FIRST))
    assert not commits.is_repeated_done(pinned, commit_of(SECOND))
    with pytest.raises(MismatchError, match="is pinned with attempt 2, not 3"):
        commits.is_repeated_pin(pinned, pin_of(replace(SECOND, attempt=3)))
    with pytest.raises(MismatchError, match="is done with attempt 1, not 3"):
        commits.is_repeated_done(AT_ONE, commit_of(replace(FIRST, attempt=3)))


@pytest.mark.parametrize(("txid", "attempt"), [(1, 2), (2, 1), (3, 3)])
def test_done_is_the_pinned_attempt(txid: int, attempt: int) -> None:
    pinned = AT_ONE._replace(pinned=2, pinned_attempt=2)
    commits.check_done(pinned, commit_of(SECOND))
    with pytest.raises(MismatchError, match="txid 2 attempt 2 is pinned"):
        commits.check_done(pinned, commit_of(replace(SECOND, txid=txid, attempt=attempt)))


descriptions = st.dictionaries(st.sampled_from(["kind", "topic"]), st.sampled_from(["a", "b"]), max_size=2)
named = st.dictionaries(st.sampled_from(["x", "y", "z"]), descriptions, max_size=3)


@given(named, named)
def test_a_spec_may_only_grow(stored: dict[str, dict[str, str]], given_: dict[str, dict[str, str]]) -> None:
    before, now = TopologySpec("t", stored, {}), TopologySpec("t", given_, {})
    for old, new in ((before, now), (TopologySpec("t", {}, stored), TopologySpec("t", {}, given_))):
        if all(given_.get(name) == description for name, description in stored.items()):
            assert merged_spec(old, new) == new
        else:
            with pytest.raises(MismatchError):
                merged_spec(old, new)


STATE = {"kind": "opaque", "store": "sqlite", "table": "a", "keys": "k int64", "values": "n int64 add"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": "n int64 add, total int64 add"}, "another values (its rows hold the old aggregates"),
        ({"keys": "k string"}, "another keys (its rows are those of the old key)"),
        ({"table": "b", "store": "postgres"}, "another store, table (what it holds is at the old place, and would be"),
        ({"kind": "transactional"}, "another kind. Nothing was changed"),
    ],
)
def test_what_is_refused_names_what_differs_and_what_it_would_do_to_the_data(change: dict[str, str], said: str) -> None:
    before, now = TopologySpec("t", {}, {"s": STATE}), TopologySpec("t", {}, {"s": {**STATE, **change}})
    with pytest.raises(MismatchError) as refused:
        merged_spec(before, now)
    assert said in str(refused.value)
    assert str(refused.value).count("at the old place") <= 1  # one consequence is said once


def test_of_streams_and_sinks_only_what_differs_is_said() -> None:
    stream, sink = {"spout": "kafka", "table": "a"}, {"kind": "sink", "table": "a"}
    for spouts, states in (({"x": stream}, {}), ({}, {"x": sink})):
        given_ = [{name: {**what, "table": "b"} for name, what in each.items()} for each in (spouts, states)]
        with pytest.raises(MismatchError, match=r"another table\. Nothing was changed"):
            merged_spec(TopologySpec("t", spouts, states), TopologySpec("t", given_[0], given_[1]))


def test_a_topology_may_name_its_streams_and_states_in_another_order() -> None:
    """Code that was only rearranged goes on, and nothing counts as added."""
    both = {"a": {"kind": "x"}, "b": {"kind": "y"}}
    turned = dict(reversed(both.items()))
    stored, given_ = TopologySpec("t", both, both), TopologySpec("t", turned, turned)
    assert merged_spec(stored, given_) == given_
    assert not added_to(stored, given_).is_something


def test_start_positions_of_a_stream_are_set_once() -> None:
    assert merged_starts(None, [start_of(1, 2), start_of(0, 1)]) == (start_of(0, 1), start_of(1, 2))
    assert merged_starts(STARTS, STARTS) == STARTS
    assert merged_starts(STARTS, [start_of(0, 1, "a")]) == (start_of(0, 1, "a"), *STARTS)
    with pytest.raises(MismatchError, match="stored already"):
        merged_starts(STARTS, [start_of(0, 6)])


def test_a_reset_that_resumes_keeps_the_start_of_a_stream_that_has_read_nothing() -> None:
    """It was added, and its start was stored, before the last txid was done without it."""
    starts = tuple(StartPosition(name, PartitionId("t", 0), f"id-{name}", 7) for name in ("added", "old"))
    done = Plan(3, 3, 1, 2, datetime.now(UTC), (SpoutRange("old", OffsetRange(PartitionId("t", 0), "id-old", 7, 12)),))
    decision = ResetDecision("second", 5, "adopt", ResetStart.RESUME, ("added", "old"))
    found = starts_of_reset(decision, done, starts)
    assert found is not None
    assert {item.spout: item.start for item in found} == {"added": 7, "old": 12}
