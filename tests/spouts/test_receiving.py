"""Rows that are received once: the log that they are in their process, and what is asked of a user's spout and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

import pytest

from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.base.ranges import OffsetRange, PartitionId
from trident.engine.compiled import CompiledTopology
from trident.spouts import FixedBatchSpout, NonTransactionalSpout, OffsetsLostError, SpoutKind, StartAt
from trident.spouts.python.received import ReceivedRows, Row
from trident.spouts.python.receiving import TOPIC_ID, ReceivingSource


class Asked(NonTransactionalSpout):
    """Gives what a test says, and notes what it was asked and told."""

    schema = "n bigint"
    max_records_per_batch = 5

    def __init__(self, give: Callable[[int, int], object], numbers: object = (0,)) -> None:
        self.give = give
        self.numbers = numbers
        self.asked: list[tuple[int, int]] = []
        self.told: list[tuple[int, Sequence[Row]]] = []
        self.refuses: Exception | None = None
        self.closed = 0

    def partitions(self) -> Iterable[int]:
        return self.numbers  # type: ignore[return-value]  # that is what is looked at

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        self.asked.append((partition, most))
        return self.give(partition, most)  # type: ignore[return-value]  # that is what is looked at

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        self.told.append((partition, rows))
        if self.refuses is not None:
            raise self.refuses

    def close(self) -> None:
        self.closed += 1


def some(count: int) -> Callable[[int, int], list[Row]]:
    return lambda partition, most: [(n,) for n in range(count)]


def id_of(partition: int) -> PartitionId:
    return PartitionId("s", partition)


def span(partition: int, start: int, stop: int) -> OffsetRange:
    return OffsetRange(id_of(partition), TOPIC_ID, start, stop)


def bounds(source: ReceivingSource) -> list[tuple[int, int, int]]:
    return [(each.id.partition, each.earliest, each.stop) for each in source.bounds()]


def test_rows_stand_behind_all_that_was_used_and_keep_their_positions() -> None:
    rows = ReceivedRows(7)
    for n in range(4):
        rows.add((n,))
    assert (rows.first, rows.stop, rows.behind(0), rows.behind(9)) == (7, 11, 4, 2)
    assert list(rows.between(8, 10)) == [(1,), (2,)]
    assert [rows.holds(*each) for each in ((7, 11), (6, 8), (10, 12))] == [True, False, False]
    rows.finish(9)
    rows.let_go(len(rows.finished()))
    assert (rows.first, list(rows.between(9, 10)), list(rows.finished())) == (9, [(2,)], [])


@pytest.mark.parametrize("stop", [0, 5, 7])
def test_what_another_process_had_planned_finishes_no_row_of_this_one(stop: int) -> None:
    rows = ReceivedRows(7)
    for n in range(9):
        rows.add((n,))
    rows.finish(stop)
    assert list(rows.finished()) == []


def test_nobody_is_asked_before_a_plan_wants_it() -> None:
    spout = Asked(some(3))
    source = spout.open("s")
    source.begin({id_of(0): 10})
    assert (bounds(source), source.ends([id_of(0)])) == ([(0, 10, 10)], {id_of(0): 10})
    source.close()
    assert (spout.asked, spout.closed) == ([], 0)


def test_the_room_is_one_for_all_partitions_and_each_is_first_in_turn() -> None:
    spout = Asked(lambda partition, most: [(n,) for n in range(min(most, 4))], (1, 0))
    source = spout.open("s")
    source.begin({})
    source.receive({})
    assert spout.asked == [(0, 5), (1, 1)]
    source.receive({id_of(0): 4, id_of(1): 1})
    assert spout.asked[2:] == [(1, 5), (0, 1)]
    source.receive({id_of(0): 0, id_of(1): 0})
    assert len(spout.asked) == 4, "what no batch has done yet is tried again first"
    assert bounds(source) == [(0, 0, 5), (1, 0, 5)]


def test_rows_above_the_room_are_kept_too() -> None:
    spout = Asked(some(12))
    source = spout.open("s")
    source.receive({})
    source.receive({id_of(0): 5})
    assert (bounds(source), len(spout.asked)) == ([(0, 0, 12)], 1)
    assert list(source.rows(span(0, 10, 12))) == [(10,), (11,)]


def test_a_partition_that_is_named_no_more_is_kept() -> None:
    spout = Asked(some(1), (0, 3))
    source = spout.open("s")
    source.begin({id_of(0): 4, id_of(2): 9})
    source.receive({})
    spout.numbers = (0,)
    source.receive({})
    assert bounds(source) == [(0, 4, 6), (2, 9, 9), (3, 0, 1)]


def test_what_is_done_is_told_before_more_is_received_and_only_once() -> None:
    spout = Asked(some(3))
    source = spout.open("s")
    source.receive({})
    first = source.rows(span(0, 0, 1))[0]
    source.committed(1, [span(0, 0, 2)])
    assert spout.told == [], "who commits never waits for users' code"
    source.receive({id_of(0): 2})
    ((partition, rows),) = spout.told
    assert (partition, list(rows)) == (0, [(0,), (1,)])
    assert rows[0] is first, "the very object that it gave"
    source.committed(1, [span(0, 0, 2)])
    source.committed(2, [span(0, 2, 6)])
    source.close()
    assert [list(rows) for _, rows in spout.told[1:]] == [[(2,), (0,), (1,), (2,)]]
    with pytest.raises(OffsetsLostError):
        source.rows(span(0, 0, 2))
    with pytest.raises(OffsetsLostError):
        source.verify([span(0, 0, 2)])


def test_rows_that_a_spout_could_not_acknowledge_are_told_again() -> None:
    spout = Asked(some(2))
    source = spout.open("s")
    source.receive({})
    source.committed(1, [span(0, 0, 2)])
    spout.refuses = RetryableError("the queue is away")
    with pytest.raises(RetryableError):
        source.receive({id_of(0): 2})
    spout.refuses = ValueError("secret")
    with pytest.raises(FatalError, match=r"done\(\) raised ValueError at .*py.*in every result") as raised:
        source.receive({id_of(0): 2})
    assert "secret" not in str(raised.value)
    spout.refuses = None
    source.receive({id_of(0): 2})
    assert [len(rows) for _, rows in spout.told] == [2, 2, 2]


def test_rows_that_came_before_an_error_were_received() -> None:
    def broken(partition: int, most: int) -> Iterable[Row]:
        yield (1,)
        yield (2,)
        raise RetryableError("the line is cut")

    spout = Asked(broken)
    source = spout.open("s")
    source.receive({})  # they are planned before anybody hears of the error
    assert bounds(source) == [(0, 0, 2)]
    spout.give = some(0)
    source.receive({id_of(0): 2})
    spout.give = lambda partition, most: broken(partition, most) if partition else []
    spout.numbers = (0, 1)
    source.receive({id_of(0): 2})
    assert bounds(source) == [(0, 0, 2), (1, 0, 2)]


@pytest.mark.parametrize("error", [RetryableError("the line is cut"), ValueError("secret")])
def test_a_partition_that_can_not_be_asked_keeps_no_other_ones_rows_from_a_plan(error: Exception) -> None:
    def give(partition: int, most: int) -> Iterable[Row]:
        if partition:
            raise error
        return [("a",), ("b",)]

    spout = Asked(give, (0, 1))
    source = spout.open("s")
    source.receive({})
    assert bounds(source) == [(0, 0, 2), (1, 0, 0)]
    spout.give = lambda partition, most: give(1, most)
    with pytest.raises(RetryableError if isinstance(error, RetryableError) else FatalError) as raised:
        source.receive({id_of(0): 2})
    assert "secret" not in str(raised.value)


class ForgetsOne(Asked):
    """Can't be told of the rows of partition 0, so many times."""

    times = 1

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        if partition == 0 and self.times:
            self.times -= 1
            raise RetryableError("not now")
        super().done(partition, rows)


@pytest.mark.parametrize("times", [1, 2, 99])
def test_a_partition_that_can_not_be_told_keeps_no_other_one_from_it(
    times: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.spouts.python.receiving._LAST_PAUSES", (0.0, 0.0))
    spout = ForgetsOne(some(1), (0, 1, 2))
    spout.times = times
    source = spout.open("s")
    source.receive({})
    source.committed(1, [span(number, 0, 1) for number in range(3)])
    if times > 2:
        with pytest.raises(RetryableError):
            source.close()
        assert "1 rows are in every result, and their source could not be told so" in caplog.text
    else:
        source.close()
        assert "could not be told" not in caplog.text
    assert {partition for partition, _ in spout.told} == ({1, 2} if times > 2 else {0, 1, 2})
    assert spout.closed == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, r"receive\(\) returned None \(a missing return\?\), where an iterable of rows is wanted"),
        ("text", "a value of the type str, where an iterable of rows is wanted"),
        ({"n": 1}, "a value of the type dict, where an iterable of rows is wanted"),
        (5, r"receive\(\) raised TypeError"),
    ],
)
def test_what_is_no_list_of_rows_is_refused(given: object, text: str) -> None:
    with pytest.raises(FatalError, match=text):
        Asked(lambda partition, most: given).open("s").receive({})


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (None, r"partitions\(\) returned None"),
        ("ab", "a value of the type str, where the partitions' numbers are wanted"),
        ((0, -1), "names the partition -1"),
        ((True,), "names the partition True"),
        ((1, 1), "names a partition twice"),
    ],
)
def test_what_is_no_partition_is_refused(numbers: object, text: str) -> None:
    spout = Asked(some(1), numbers)
    for ask in (lambda: spout.open("s").receive({}), lambda: spout.open("s").starts()):
        with pytest.raises(FatalError, match=text):
            ask()
    assert spout.asked == []


def test_an_incarnation_begins_at_zero_and_at_no_moment() -> None:
    source = Asked(some(1), (3, 1)).open("s")
    for policy in (None, StartAt.EARLIEST, StartAt.LATEST):
        assert [(each.id.partition, each.earliest, each.stop) for each in source.starts(policy)] == [
            (1, 0, 0),
            (3, 0, 0),
        ]
    with pytest.raises(ConfigurationError, match="no timestamps"):
        source.starts(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("most", [None, 0, "5", True])
def test_what_is_held_in_memory_has_a_limit(most: object) -> None:
    spout = Asked(some(1))
    spout.max_records_per_batch = most  # type: ignore[assignment]
    with pytest.raises(ConfigurationError, match="max_records_per_batch must be a whole number above zero"):
        spout.open("s")


def test_it_is_planned_as_an_opaque_one_and_known_by_its_own_kind() -> None:
    spout = Asked(some(1))
    assert spout.kind is SpoutKind.OPAQUE
    spec = CompiledTopology("t", {"s": spout, "other": FixedBatchSpout("n bigint", [], kind="opaque")}, ()).spec()
    assert spec.spouts["s"] == {"spout": "Asked", "kind": "non-transactional"}
    assert spec.spouts["other"]["kind"] == "opaque"
