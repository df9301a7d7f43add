"""Which batches the coordinator reads itself, and what becomes of those that it begins and leaves to tasks."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from trident.base.control import Undecoded
from trident.base.errors import RetryableError
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.base.signals import StopSignal
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import TaskDecoder
from trident.spouts.decoders.fast_json import plan_of
from trident.spouts.decoders.json import JsonTaskDecoder
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka import consumers
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.readers.arrow_task import ReadRanges, Taken
from trident.spouts.kafka.readers.here import BYTES_UNWARNED, MOST_BYTES, SmallReads, most_bytes_of, read_here
from trident.spouts.rows import control_batch
from trident.spouts.wanted import reading_until, require_wanted

RAW = RawTaskDecoder()
OPTIONS = ConsumerOptions({"group.id": "g"}, {}, None)


def edges(*widths: int) -> tuple[Edge, ...]:
    return tuple(
        Edge(number, OffsetRange(PartitionId("t", number), "id", 5, 5 + width)) for number, width in enumerate(widths)
    )


def task(*sizes: int, decoder: object = RAW) -> ReadRanges:
    """Return a task that reads batches of records with values of these sizes."""

    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        empty = control_batch(arrow_schema(RAW.task_schema), [])
        for size in sizes:
            taken([Message(value=b"x" * size)])
            values = {"value": pa.array([b"x" * size], pa.binary())}
            columns = [values.get(field.name, pa.nulls(1, field.type)) for field in empty.schema]
            yield pa.RecordBatch.from_arrays(columns, schema=empty.schema)

    return cast(ReadRanges, SimpleNamespace(read=read, decoder=decoder, options=OPTIONS))


@pytest.mark.parametrize(
    ("widths", "most", "is_read"),
    [((3,), 3, True), ((2, 1), 3, True), ((2, 2), 3, False), ((0, 0), 3, False), ((), 3, False), ((1,), 0, False)],
    ids=["just so many", "of two partitions", "one more", "empty ranges", "no ranges", "switched off"],
)
def test_a_batch_is_read_here_up_to_so_many_positions(widths: tuple[int, ...], most: int, is_read: bool) -> None:
    found = SmallReads().read(task(1), edges(*widths), most)
    assert (found is not None) is is_read


def test_a_batch_of_large_records_is_left_to_tasks_and_so_are_the_next_fifty() -> None:
    reads = SmallReads(most_bytes=5_000)
    small, large = task(1_000), task(2_000, 2_000, 2_000)
    assert reads.read(small, edges(3), 10) is not None
    assert reads.read(large, edges(3), 10) is None
    assert [reads.read(small, edges(3), 10) for _ in range(50)] == [None] * 50
    assert reads.read(small, edges(3), 10) is not None


def test_a_batch_that_was_too_large_says_nothing_of_one_of_half_as_many_records() -> None:
    reads = SmallReads(most_bytes=5_000)
    assert reads.read(task(2_000, 2_000, 2_000), edges(8), 10) is None
    assert reads.read(task(1_000), edges(4), 10) is None
    assert reads.read(task(1_000), edges(3), 10) is not None


def test_small_batches_between_large_ones_leave_these_to_tasks_and_are_read_here() -> None:
    reads = SmallReads(most_bytes=5_000)
    large = task(2_000, 2_000, 2_000)
    tried = [reads.read(large, edges(8), 10) is None and reads.read(task(100), edges(1), 10) is not None]
    for _ in range(50):
        tried.append(reads.read(task(100), edges(8), 10) is None and reads.read(task(100), edges(1), 10) is not None)
    assert all(tried)
    assert reads.read(task(100), edges(8), 10) is not None


def test_a_burst_after_batches_of_one_record_is_read_here() -> None:
    reads = SmallReads(most_bytes=5_000)
    assert all(reads.read(task(10), edges(width), 10) is not None for width in (1, 1, 10, 1, 10))


def test_what_goes_to_spark_from_here_is_no_warning_in_its_log() -> None:
    def session(*, warns: bool) -> SparkSession:
        factory = Mock()
        factory.getLogger.side_effect = lambda name: Mock(
            isWarnEnabled=lambda: warns and name.endswith("TaskSetManager")
        )
        jvm = SimpleNamespace(org=SimpleNamespace(slf4j=SimpleNamespace(LoggerFactory=factory)))
        return cast(SparkSession, SimpleNamespace(_jvm=jvm))

    assert most_bytes_of(session(warns=True)) == BYTES_UNWARNED < 1000 << 10
    assert most_bytes_of(session(warns=False)) == MOST_BYTES
    assert most_bytes_of(cast(SparkSession, SimpleNamespace())) == BYTES_UNWARNED  # of Spark Connect


def test_of_what_is_fetched_little_passes_through_here_whatever_is_decoded_of_it() -> None:
    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        for _ in range(100):
            taken([Message(value=b"x" * 100_000)])
            fetched.append(100_000)
            yield control_batch(arrow_schema(RAW.task_schema), [])

    fetched: list[int] = []
    reading = cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS))
    assert read_here(reading, edges(1), 1_000_000) is None
    assert sum(fetched) < 5_000_000


def test_keys_are_fetched_too() -> None:
    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        for _ in range(100):
            taken([Message(key=b"x" * 100_000, value=b"1")])
            yield control_batch(arrow_schema(RAW.task_schema), [])

    reading = cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS))
    assert read_here(reading, edges(1), 1_000_000) is None


def test_a_record_that_the_quick_way_does_not_decode_ends_the_read() -> None:
    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        yield control_batch(arrow_schema(RAW.task_schema), [Undecoded(1)])
        raise AssertionError("read on")

    rows = read_here(cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS)), edges(1), MOST_BYTES)
    assert rows is not None
    assert rows.num_rows == 1


@pytest.mark.parametrize("when", ["while it reads", "once it has read"])
def test_an_attempt_that_is_given_up_ends_where_it_reads(when: str) -> None:
    given_up = StopSignal()

    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        for turn in range(3):
            taken([])
            if turn == (1 if when == "while it reads" else 2):
                given_up.set()
            yield control_batch(arrow_schema(RAW.task_schema), [])
        assert when == "once it has read"

    reading = cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS))
    with reading_until(given_up), pytest.raises(RetryableError, match="was given up while it was read"):
        SmallReads().read(reading, edges(1), 10)
    require_wanted()


@pytest.mark.parametrize("kind", [pa.ArrowInvalid, OSError, OverflowError, SystemError, TypeError])
def test_what_a_decoder_raises_is_told_by_its_place_and_not_its_words(kind: type[Exception]) -> None:
    error = kind("a secret")

    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        yield control_batch(arrow_schema(RAW.task_schema), [])
        raise error

    with pytest.raises(
        RetryableError, match=rf"{type(error).__name__} at .*nothing of the batch was applied"
    ) as caught:
        read_here(cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS)), edges(1), MOST_BYTES)
    assert "secret" not in str(caught.value)


class OfAUser:
    """A decoder that says nothing of where it runs."""

    task_schema = RAW.task_schema


class NotHere(OfAUser):
    """A decoder that says that it is for tasks only."""

    runs_here = False


@pytest.mark.parametrize("decoder", [OfAUser(), NotHere()])
def test_a_users_decoder_runs_in_tasks_only(decoder: TaskDecoder) -> None:
    assert SmallReads().read(task(1, decoder=decoder), edges(1), 10) is None


def test_a_decoder_that_leaves_records_to_spark_runs_in_tasks_only() -> None:
    """What it yields has no fields yet, and records that are bad look like good ones, up to its `finish`."""
    nested = StructType([StructField("tags", ArrayType(StringType()))])
    whole = JsonTaskDecoder(nested, plan_of(nested))
    assert whole.quick() is whole
    for decoder in (whole.quick(), whole.quick().ordered()):
        assert SmallReads().read(task(1, decoder=decoder), edges(1), 10) is None
    plain = StructType([StructField("t", StringType())])
    quick = JsonTaskDecoder(plain, plan_of(plain)).quick()
    assert SmallReads().read(task(1, decoder=quick), edges(1), 10) is not None


def test_what_the_client_raises_is_told_without_its_words() -> None:
    failing = Mock(spec=ReadRanges, decoder=RAW)
    failing.read.side_effect = KafkaException(KafkaError(KafkaError._STATE, "a secret"))
    with pytest.raises(RetryableError, match=r"_STATE\); nothing of the batch was applied") as caught:
        SmallReads().read(failing, edges(1), 10)
    assert "secret" not in str(caught.value)


def test_batches_that_are_read_side_by_side_have_consumers_of_their_own_and_keep_them(made: list[Mock]) -> None:
    options, topics = {"group.id": "g"}, {"t": "id"}
    for _ in range(2):
        with (
            consumers.borrowed_consumer(options, topics) as one,
            consumers.borrowed_consumer(options, topics) as other,
        ):
            assert one is not other
    assert len(made) == 2
    assert not any(each.close.called for each in made)


def test_what_nobody_has_borrowed_is_closed_with_its_source(made: list[Mock]) -> None:
    topics = {"t": "id"}
    with consumers.borrowed_consumer({"group.id": "other"}, topics):
        pass
    with consumers.borrowed_consumer({"group.id": "g"}, topics):
        consumers.close_kept({"group.id": "g"})
    assert not any(each.close.called for each in made)
    consumers.close_kept({"group.id": "g"})
    consumers.close_kept({"group.id": "g"})
    assert [each.close.call_count for each in made] == [0, 1]


@pytest.mark.parametrize("ends_first", ["the read", "the source"])
def test_a_consumer_is_closed_with_its_source_whichever_ends_first(made: list[Mock], ends_first: str) -> None:
    reads = SmallReads()

    def read(_: object, taken: Taken) -> Iterator[pa.RecordBatch]:
        with consumers.borrowed_consumer(OPTIONS.whole(), {"t": "id"}):
            if ends_first == "the source":
                reads.close()
            yield control_batch(arrow_schema(RAW.task_schema), [])

    reading = cast(ReadRanges, SimpleNamespace(read=read, decoder=RAW, options=OPTIONS))
    assert reads.read(reading, edges(1), 10) is not None
    if ends_first == "the read":
        assert not made[0].close.called
        reads.close()
    assert made[0].close.call_count == 1


def test_a_process_that_was_forked_does_not_use_what_its_parent_has_kept(
    made: list[Mock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork takes a consumer's memory along and none of its threads: it would wait for ever."""
    for pid in (1, 2, 1):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        with consumers.borrowed_consumer({"group.id": "g"}, {"t": "id"}):
            pass
    assert len(made) == 2
