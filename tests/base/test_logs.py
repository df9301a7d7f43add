"""A log that was cut and has grown again is another one: what proves it, and what proves nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trident.base.logs import EpochEnd, LogCut, cut_of, unproven
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId

ID = PartitionId("t", 0)


def known(stop: int, epoch: int | None = 3, topic_id: str = "id") -> OffsetRange:
    return OffsetRange(ID, topic_id, 0, stop, epoch)


def bounds(epoch: int | None, topic_id: str = "id") -> dict[PartitionId, PartitionBounds]:
    return {ID: PartitionBounds(ID, topic_id, 0, 500, epoch)}


def test_a_log_whose_epoch_reaches_the_stop_is_the_one_that_was_read() -> None:
    assert cut_of(known(100), EpochEnd(3, 100)) is None
    assert cut_of(known(100), EpochEnd(3, 170)) is None


def test_a_log_whose_epoch_ends_below_the_stop_was_cut_there() -> None:
    assert cut_of(known(100), EpochEnd(3, 99)) == LogCut(known(100), 99)
    assert cut_of(known(100), EpochEnd(1, 40)) == LogCut(known(100), 40)


def test_retention_and_compaction_are_no_cuts() -> None:
    """Where an epoch's records are gone, the log names the start of the next one that it has: never below them."""
    assert cut_of(known(100), EpochEnd(3, 220)) is None
    assert cut_of(known(100), EpochEnd(2, 100)) is None


def test_only_another_epoch_makes_a_question() -> None:
    assert unproven([known(100)], bounds(3)) == ()
    assert unproven([known(100)], bounds(4)) == (known(100),)
    assert unproven([known(100)], bounds(None)) == (known(100),)


def test_what_can_not_be_proven_is_not_asked() -> None:
    assert unproven([known(100, None)], bounds(4)) == ()
    assert unproven([known(0)], bounds(4)) == ()
    assert unproven([known(100)], {}) == ()
    assert unproven([known(100)], bounds(4, "another id")) == ()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=30), st.integers(0, 30))
def test_every_cut_below_a_stop_is_found_and_nothing_else(changes: list[tuple[bool, int]], seen_after: int) -> None:
    """Against a log of one number per record: the epoch in which it was appended."""
    log: list[int] = []
    epoch, seen, lowest = 0, None, 0
    for number, (is_cut, count) in enumerate(changes):
        if number == seen_after:
            seen, lowest = known(len(log), epoch), len(log)
        if is_cut:
            epoch += 1
            del log[len(log) - min(count, len(log)) :]
            lowest = min(lowest, len(log))
        else:
            log += [epoch] * count
    if seen is None or seen.epoch is None:
        return
    later = [offset for offset, of in enumerate(log) if of > seen.epoch]
    answer = EpochEnd(seen.epoch, min(later, default=len(log)))
    found = cut_of(seen, answer)
    assert (found is not None) is (lowest < seen.stop)
    assert found is None or found.end == lowest
