"""A function that looks after acks itself: what its rows are of, and what its task leaves to be said of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pytest

from trident.base.control import CONTROL, decode, encode
from trident.base.errors import ConfigurationError, FieldError
from trident.base.order import ORDER, level_of
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS, TreeWord
from trident.operations.arrow import Expand
from trident.operations.collector import Collector, InputRecord
from trident.operations.sending import refuse_asynchronous, refuse_generators
from trident.operations.task_collector import CollectRows

DECLARED = pa.schema([pa.field("n", pa.int64())])
SCHEMA = pa.schema(
    [
        *DECLARED,
        pa.field(ORDER, pa.binary()),
        pa.field(PARTITION, pa.int32()),
        pa.field(ROOTS, pa.list_(pa.int64())),
        pa.field(CONTROL, pa.string()),
    ]
)


def given(count: int) -> pa.RecordBatch:
    """Records 0, 1, 2 … of one message each, with a word behind them."""
    numbers = list(range(count))
    rows: dict[str, list[object]] = {
        "n": [*numbers, None],
        ORDER: [*(bytes([n]) for n in numbers), None],
        PARTITION: [*numbers, None],
        ROOTS: [*([100 + n] for n in numbers), None],
        CONTROL: [*[None] * count, "word"],
    }
    return pa.RecordBatch.from_pydict(rows, schema=SCHEMA)


def collected(
    function: Callable[[InputRecord, Collector], object], *batches: pa.RecordBatch, place: str = "p"
) -> tuple[list[tuple[object, object, object]], list[TreeWord]]:
    """Return (value, order, roots) of each row, and the words about trees."""
    work = CollectRows(function, DECLARED, SCHEMA, "process", place)
    table = pa.Table.from_batches(list(work(batches)), schema=SCHEMA)
    texts = [text for text in table.column(CONTROL).to_pylist() if text is not None]
    assert texts.count("word") == len(batches)
    rows = [row for row in table.to_pylist() if row[CONTROL] is None]
    words = [decode(text) for text in texts if text != "word"]
    assert all(isinstance(word, TreeWord) for word in words)
    return [(row["n"], row[ORDER], row[ROOTS]) for row in rows], words  # type: ignore[return-value]


def test_a_row_is_of_the_messages_of_its_anchors_and_stands_behind_its_first() -> None:
    def work(record: InputRecord, collector: Collector) -> None:
        seen.append(record)
        collector.emit((record["n"],), anchors=[record])
        collector.emit({"n": -1}, anchors=reversed(seen))
        collector.emit(7)
        collector.ack(record)

    seen: list[InputRecord] = []
    rows, words = collected(work, given(2))
    assert rows == [
        (0, b"\0" + level_of(0), [100]),
        (-1, b"\0" + level_of(1), [100]),
        (7, b"\0" + level_of(2), []),
        (1, b"\1" + level_of(0), [101]),
        (-1, b"\1" + level_of(1), [100, 101]),
        (7, b"\1" + level_of(2), []),
    ]
    misused = "anchored a row to a record that had been acked or failed: it changes nothing"
    assert words == [TreeWord("p", 0, misused=((misused, 1),))]


def test_what_is_left_and_what_is_failed_is_said_at_the_end_of_the_task() -> None:
    def work(record: InputRecord, collector: Collector) -> None:
        match record["n"]:
            case 0:
                collector.ack(record)
            case 1:
                collector.fail(record, "x" * 1000)

    _, (word,) = collected(work, given(3), given(1))
    ((root, value),) = word.open
    assert (root, word.failed) == (102, ((101, "x" * 200),))
    assert value
    assert decode(encode(word)) == word


def test_the_word_of_a_task_is_the_same_when_it_is_run_again_and_another_one_for_another_place() -> None:
    words = [collected(lambda *_: None, given(3), place=place)[1] for place in ("a", "a", "b")]
    assert words[0] == words[1] != words[2]
    assert {value for _, value in words[0][0].open}.isdisjoint(value for _, value in words[2][0].open)


def test_two_rows_of_one_message_that_are_left_do_not_hide_each_other() -> None:
    batch = given(1)
    _, (word,) = collected(lambda *_: None, batch, batch)
    ((root, value),) = word.open
    assert (root, value != 0) == (100, True)


def test_what_is_failed_behind_its_ack_has_failed_and_what_is_acked_twice_is_counted() -> None:
    def work(record: InputRecord, collector: Collector) -> None:
        collector.ack(record)
        collector.ack(record)
        if record["n"]:
            collector.fail(record)
            collector.ack(record)

    _, (word,) = collected(work, given(2))
    assert (word.open, word.failed) == ((), ((101, ""),))
    assert dict(word.misused) == {
        "acked a record that had been acked: it changes nothing": 2,
        "acked a record that had been failed: it changes nothing": 1,
        "failed a record that had been acked: it counts as failed": 1,
    }


def test_a_record_that_another_task_has_kept_is_refused() -> None:
    kept: list[InputRecord] = []

    def late(record: InputRecord, collector: Collector) -> None:
        collector.ack(kept[0])

    collected(lambda record, collector: kept.append(record), given(1))
    with pytest.raises(ConfigurationError, match="what is acked must be a record that it was given in this task"):
        collected(late, given(1))


def test_the_word_of_a_task_is_the_same_in_whatever_order_its_records_come() -> None:
    batch = given(3)
    reversed_ = batch.take([2, 1, 0, 3])
    words = [collected(lambda *_: None, each)[1][0] for each in (batch, reversed_)]
    assert [root for root, _ in words[0].open] == [root for root, _ in words[1].open] == [100, 101, 102]


def test_where_nobody_asks_nothing_is_said() -> None:
    rows, words = collected(lambda record, collector: collector.fail(record), given(2), place="")
    assert (rows, words) == ([], [])


def test_records_of_no_message_need_no_ack_and_can_t_be_failed() -> None:
    batch = given(1).set_column(3, SCHEMA.field(ROOTS), pa.nulls(2, pa.list_(pa.int64())))
    assert collected(lambda *_: None, batch)[1] == []
    with pytest.raises(ConfigurationError, match="failed a record that is of no message"):
        collected(lambda record, collector: collector.fail(record), batch)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda record, collector: collector.ack(dict(record)),
            "what is acked must be a record that it was given",
        ),
        (lambda record, collector: collector.fail(None), "what is failed must be a record"),
        (lambda record, collector: collector.emit((1,), anchors=[InputRecord(n=1)]), "an anchor must be a record"),
        (lambda record, collector: collector.emit((1, 2)), "emit"),
        (lambda record, collector: collector.emit(("text",)), "a value for the field 'n' that the declared int64"),
    ],
)
def test_what_no_record_is_and_what_does_not_fit_is_refused(
    function: Callable[[InputRecord, Collector], object], text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        collected(function, given(1))


def test_records_are_dicts_and_no_two_are_equal() -> None:
    one, other = InputRecord(a=1), InputRecord(a=1)
    assert (one["a"], one == one, one == other, one != other, len({one, other})) == (1, True, False, True, 2)


def test_a_field_that_is_not_there_is_no_error_that_passes() -> None:
    with pytest.raises(
        ConfigurationError, match=r"does not have: 'acount'; known fields: n \(.*test_task_collector.py:"
    ):
        collected(lambda record, collector: collector.ack(record["acount"]), given(1))  # type: ignore[arg-type]
    with pytest.raises(FieldError) as caught:
        InputRecord(n=1)["4111-1111"]
    assert "4111" not in str(caught.value), "what is no name may be a value of the record"
    with pytest.raises(KeyError):  # what a dict raises
        InputRecord(n=1)["acount"]


def test_a_function_over_arrow_batches_may_return_nothing_of_a_message() -> None:
    """Where rows say of which messages they are it is given one record at a time, of which a filter leaves nothing."""
    work = Expand(lambda batch: batch.slice(0, min(1, batch.column("n")[0].as_py())), DECLARED, SCHEMA, in_runs=True)
    made = pa.Table.from_batches(list(work([given(3)])), schema=SCHEMA)
    rows = [row for row in made.to_pylist() if row[CONTROL] is None]
    assert [(row["n"], row[ROOTS]) for row in rows] == [(1, [101]), (2, [102])]


def yielding(record: InputRecord, collector: Collector) -> Iterator[tuple[object]]:
    yield (record["n"],)


class Awaited:
    async def __call__(self, record: InputRecord, collector: Collector) -> None:
        collector.ack(record)


class LateYielding:
    def __call__(self, record: InputRecord, collector: Collector) -> None:
        collector.ack(record)

    def finish(self, collector: Collector) -> Iterator[None]:
        yield collector.emit((1,))


def test_what_would_run_nothing_when_it_is_called_is_refused() -> None:
    for function in (yielding, partial(yielding), LateYielding().finish):
        with pytest.raises(ConfigurationError, match="it has a yield, so that a call of it would run nothing: emit"):
            refuse_generators("it", function, "emit")
    for given in (Awaited(), Awaited().__call__):
        with pytest.raises(ConfigurationError, match="it is asynchronous"):
            refuse_asynchronous("it", given)
    refuse_generators("it", LateYielding(), "emit")
    refuse_asynchronous("it", yielding)


def test_rows_that_are_returned_instead_of_emitted_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"returned list, which nobody takes.*collector.emit"):
        collected(lambda record, _: [(record["n"],)], given(1))

    class Finishing:
        def __call__(self, record: InputRecord, collector: Collector) -> None:
            collector.ack(record)

        def finish(self, collector: Collector) -> list[tuple[int]]:
            return [(1,)]

    with pytest.raises(ConfigurationError, match="returned list"):
        collected(Finishing(), given(1))
