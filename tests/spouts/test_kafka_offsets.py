"""What may be committed to a group: never an offset with something below it that is not acked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from trident.spouts.queue.kafka.offsets import OffsetsInFlight, TopicPartition

ONE = TopicPartition("t", 0)
TWO = TopicPartition("t", 1)


def emitted(*offsets: int, start: int | None = 0) -> OffsetsInFlight:
    flight = OffsetsInFlight()
    flight.assign(ONE, start)
    for offset in offsets:
        flight.emit(ONE, offset)
    return flight


def test_nothing_is_committed_of_what_is_under_way() -> None:
    flight = emitted(0, 1, 2)
    assert flight.to_commit() == {}
    flight.ack(ONE, 1)
    flight.ack(ONE, 2)
    assert flight.to_commit() == {}
    flight.ack(ONE, 0)
    assert flight.to_commit() == {ONE: 3}


def test_what_was_committed_is_not_committed_again_unless_that_is_unsure() -> None:
    flight = emitted(0)
    flight.ack(ONE, 0)
    flight.note_committed(ONE, 1)
    assert flight.to_commit() == {}
    flight.note_committed(ONE, None)
    assert flight.to_commit() == {ONE: 1}


def test_holes_of_a_log_are_passed() -> None:
    flight = emitted(3, 10, 11, start=None)
    assert flight.to_commit() == {ONE: 3}
    for offset in (3, 10):
        flight.ack(ONE, offset)
    assert flight.to_commit() == {ONE: 11}


def test_what_is_acked_after_its_partition_was_revoked_is_dropped() -> None:
    flight = emitted(0, 1)
    flight.revoke([ONE, TWO])
    flight.ack(ONE, 0)
    assert flight.to_commit() == {}
    flight.assign(ONE, 0)
    flight.ack(ONE, 1)  # of the assignment before; it is emitted again in this one
    flight.emit(ONE, 0)
    flight.ack(ONE, 0)
    assert flight.to_commit() == {ONE: 1}


def test_a_position_moves_over_what_is_in_the_log_no_more() -> None:
    flight = emitted(0)
    flight.skip_to(ONE, 9)
    flight.skip_to(TWO, 9)
    assert flight.to_commit() == {}
    flight.ack(ONE, 0)
    assert flight.to_commit() == {ONE: 9}
    flight.skip_to(ONE, 5)
    assert flight.position(ONE) == 9


def test_an_offset_that_goes_back_is_refused() -> None:
    with pytest.raises(ValueError, match=r"t\[0\]: 1 after 2"):
        emitted(1, 1)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.randoms())
def test_in_whatever_order_all_are_acked_all_is_committed(steps: list[int], random: object) -> None:
    offsets = [sum(steps[: place + 1]) + place for place in range(len(steps))]
    flight = emitted(*offsets)
    order = list(offsets)
    random.shuffle(order)  # type: ignore[attr-defined]
    for place, offset in enumerate(order):
        flight.ack(ONE, offset)
        flight.ack(ONE, offset)
        left = set(order[place + 1 :])
        found = flight.to_commit().get(ONE, 0)
        assert found == (min(left) if left else offsets[-1] + 1) or (found == 0 and min(left) == 0)


class Members(RuleBasedStateMachine):
    """Partitions that come and go while offsets are emitted, acked and committed, beside the plainest account of it."""

    offsets = Bundle("offsets")

    def __init__(self) -> None:
        super().__init__()
        self.flight = OffsetsInFlight()
        self.mine: dict[TopicPartition, int] = {}
        self.open: dict[TopicPartition, set[int]] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.done: dict[TopicPartition, set[int]] = {ONE: set(), TWO: set()}

    @rule(partition=st.sampled_from([ONE, TWO]))
    def assign(self, partition: TopicPartition) -> None:
        position = self.committed.get(partition, 0)
        self.flight.assign(partition, position)
        self.mine[partition], self.open[partition] = position, set()

    @rule(partition=st.sampled_from([ONE, TWO]))
    def revoke(self, partition: TopicPartition) -> None:
        self.flight.revoke([partition])
        self.mine.pop(partition, None)
        self.open.pop(partition, None)

    @rule(target=offsets, partition=st.sampled_from([ONE, TWO]), hole=st.integers(0, 3))
    def emit(self, partition: TopicPartition, hole: int) -> tuple[TopicPartition, int]:
        if partition not in self.mine:
            return partition, 0
        offset = self.mine[partition] + hole
        self.flight.emit(partition, offset)
        self.mine[partition] = offset + 1
        self.open[partition].add(offset)
        return partition, offset

    @rule(which=offsets)
    def ack(self, which: tuple[TopicPartition, int]) -> None:
        partition, offset = which
        assert self.flight.is_under_way(partition, offset) == (offset in self.open.get(partition, ()))
        self.flight.ack(partition, offset)
        self.open.get(partition, set()).discard(offset)

    @rule()
    def commit(self) -> None:
        for partition, offset in self.flight.to_commit().items():
            assert offset >= self.committed.get(partition, 0)
            self.committed[partition] = offset
            self.flight.note_committed(partition, offset)
        assert self.flight.to_commit() == {}

    @invariant()
    def nothing_open_is_below_what_would_be_committed(self) -> None:
        for partition, offset in self.flight.to_commit().items():
            assert all(offset <= each for each in self.open[partition])
            assert offset == min(self.open[partition], default=self.mine[partition])


TestMembers = Members.TestCase
