"""A small batch that the coordinator reads itself is, value for value and word for word, what tasks return."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.spouts.logs import FOREVER, edges_of, produce_aborted, produce_committed
from tests.effort import base_seed
from trident.base.control import CONTROL, BadRecordWord, Undecoded, decode
from trident.base.ranges import Edge, OffsetRange, RangeManifest
from trident.spouts import Json, OpaqueKafkaSpout, Raw
from trident.spouts.base import KnowsOrder, ReadsSmallBatches, Source
from trident.spouts.decoders.base import Decoder
from trident.spouts.kafka.readers import here
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.arrow_task import ReadRanges

ANY_TIME = {**FOREVER, "message.timestamp.after.max.ms": str(2**63 - 1)}
SCHEMA = "t string, b bigint, i int, s smallint, y tinyint, d double, o boolean, m decimal(20,3)"
FIELDS = {
    "t": ['""', '"a"', '"\\t"', '"ß😀"', "null", '"  x "'],
    "b": ["0", "-9223372036854775808", "9223372036854775807", "null"],
    "i": ["2147483647", "-2147483648", "0", "null"],
    "s": ["32767", "-32768", "null"],
    "y": ["127", "-128", "null"],
    "d": ["0.0", "-0.0", "1e308", "5e-324", "0.1", "null"],
    "o": ["true", "false", "null"],
    "m": ["1.005", "99999999999999999.999", "-0.000", "0", "null"],
}
"""What the quick way decodes."""
WHOLE = [b"{}", b' {"i": 1 } ', b'{"u":1}']
HOSTILE = [None, b"", b"null", b"[]", b"{", b'{"t":"\xff"}', b'{"t":1}', b'{"i":2147483648}', b'{"m":1.0005}']
Headers = list[tuple[str, str | bytes | None]]
HEADERS: list[Headers | None] = [None, [], [("a", b"1")], [("a", None), ("a", b"\xff")], [("", b"")]]
TIMES = [0, 1, 1_791_536_000_000, 253_402_300_799_999, 1_791_536_000_000_000_000]


def value(drawn: random.Random, *, is_hostile: bool) -> bytes | None:
    if drawn.random() < 0.2:
        return drawn.choice([*WHOLE, *HOSTILE] if is_hostile else WHOLE)
    names = [name for name in FIELDS if drawn.random() < 0.7]
    return ("{" + ",".join(f'"{name}":{drawn.choice(FIELDS[name])}' for name in names) + "}").encode()


def fill(kafka: Kafka, topic: str, drawn: random.Random, *, is_hostile: bool) -> None:
    """Write records of all kinds to three partitions, with holes where transactions were aborted or committed."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(300):
        key = drawn.choice([None, b"", b"k", b"\xff\x00"])
        producer.produce(
            topic,
            value(drawn, is_hostile=is_hostile),
            key,
            drawn.randrange(3),
            timestamp=drawn.choice(TIMES),
            headers=drawn.choice(HEADERS),
        )
        if drawn.random() < 0.01:
            assert producer.flush(30) == 0
            write = drawn.choice([produce_aborted, produce_committed])
            write(kafka.bootstrap_servers, topic, [b'{"t":"in a transaction"}'] * 3, drawn.randrange(3))
    assert producer.flush(30) == 0


def parts(edges: list[Edge], drawn: random.Random) -> list[Edge]:
    """Return a part of every range, an empty one now and then."""
    found = []
    for edge in edges:
        start, stop = sorted(drawn.randint(edge.range.start, edge.range.stop) for _ in range(2))
        found.append(Edge(edge.id, OffsetRange(edge.range.id, edge.range.topic_id, start, stop)))
    return found


def returned(source: Source, spark: SparkSession, edges: list[Edge], *, in_order: bool) -> list[str]:
    """Return all rows and words as texts, in an order that does not depend on tasks.

    A range with a hole at its end is read up to the next record, or to the end of the log, whichever comes first.
    """
    stops = {edge.id: edge.range.stop for edge in edges}
    found = []
    for row in frame_of(source, spark, edges, in_order=in_order).collect():
        word = None if row[CONTROL] is None else decode(row[CONTROL])
        assert not isinstance(word, Undecoded)
        if isinstance(word, RangeManifest):
            assert word.position is not None
            assert word.position >= stops[word.edge]
            found.append(repr(replace(word, position=None)))
        else:
            found.append(repr(row))
    return sorted(found)


def frame_of(source: Source, spark: SparkSession, edges: list[Edge], *, in_order: bool = False) -> DataFrame:
    """Return what the source has read here, else what tasks read."""
    assert isinstance(source, KnowsOrder)
    assert isinstance(source, ReadsSmallBatches)
    small = source.read_small(spark, edges, in_order=in_order)
    if small is not None:
        return spark.createDataFrame(pa.Table.from_batches([small.rows]), small.schema)
    read = source.read_in_order if in_order else source.read
    return read(spark, edges, 2, quick=True)


@pytest.mark.drawn(one_in=3)
@pytest.mark.parametrize("in_order", [False, True], ids=["", "in order"])
@pytest.mark.parametrize("decoder", [Raw(), Json(SCHEMA), Json("t string, i int")], ids=["raw", "json", "json-short"])
def test_what_is_read_here_is_what_tasks_return(
    kafka: Kafka,
    spark: SparkSession,
    decoder: Decoder,
    in_order: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = random.Random(base_seed())
    topic = kafka.create_topic(3, ANY_TIME)
    fill(kafka, topic, drawn, is_hostile=isinstance(decoder, Raw))
    read: list[int] = []
    real = here.read_here

    def counted(*arguments: object) -> object:
        table = real(*arguments)  # type: ignore[arg-type]
        read.append(-1 if table is None else table.num_rows)
        return table

    monkeypatch.setattr(here, "read_here", counted)
    spouts = [
        OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=decoder, reader=reader)
        for reader in (ArrowReader(), ArrowReader(chunk_records=7), ArrowReader(here_records=0))
    ]
    sources = [spout.open("s") for spout in spouts]
    try:
        whole = edges_of(sources[0].bounds())
        for edges in (whole, parts(whole, drawn), whole):
            ours, in_chunks, of_tasks = (returned(source, spark, edges, in_order=in_order) for source in sources)
            assert ours == of_tasks
            assert in_chunks == of_tasks
    finally:
        for source in sources:
            source.close()
    assert len(read) >= 4
    assert min(read) > 0


def test_large_records_of_a_small_batch_are_read_by_tasks(
    kafka: Kafka, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: list[pa.RecordBatch | None] = []
    real = here.read_here

    def seen(task: ReadRanges, edges: Sequence[Edge], most_bytes: int) -> pa.RecordBatch | None:
        tables.append(real(task, edges, most_bytes))
        return tables[-1]

    monkeypatch.setattr(here, "read_here", seen)
    topic = kafka.create_topic(1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 900_000})
    for _ in range(10):
        producer.produce(topic, random.Random(1).randbytes(800_000))
    assert producer.flush(30) == 0
    source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=Raw()).open("s")
    try:
        for _ in range(2):
            rows = frame_of(source, spark, edges_of(source.bounds())).collect()
            assert [len(row["value"]) for row in rows if row["value"] is not None] == [800_000] * 10
        assert tables == [None]
    finally:
        source.close()


def test_a_megabyte_is_read_here_where_spark_does_not_warn_of_it(
    kafka: Kafka, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []
    real = here.read_here

    def seen(task: ReadRanges, edges: Sequence[Edge], most_bytes: int) -> pa.RecordBatch | None:
        batch = real(task, edges, most_bytes)
        taken.append(batch is not None)
        return batch

    monkeypatch.setattr(here, "read_here", seen)
    topic = kafka.create_topic(1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(30):
        producer.produce(topic, random.Random(1).randbytes(50_000))
    assert producer.flush(30) == 0
    try:
        for level in ("WARN", "ERROR"):
            spark.sparkContext.setLogLevel(level)
            source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=Raw()).open("s")
            try:
                rows = frame_of(source, spark, edges_of(source.bounds())).collect()
                assert [len(row["value"]) for row in rows if row["value"] is not None] == [50_000] * 30
            finally:
                source.close()
    finally:
        spark.sparkContext.setLogLevel("ERROR")
    assert taken == [False, True]


@pytest.mark.parametrize("here_records", [10_000, 0])
def test_a_record_that_the_quick_way_does_not_decode_is_said_both_ways(
    kafka: Kafka, spark: SparkSession, here_records: int
) -> None:
    topic = kafka.create_topic(2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(40):
        producer.produce(topic, b'{"i":2147483648}' if number == 7 else b'{"i":1}', partition=number % 2)
    assert producer.flush(30) == 0
    reader = ArrowReader(chunk_records=3, here_records=here_records)
    spout = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=Json("i int"), reader=reader)
    source = spout.open("s")
    try:
        rows = frame_of(source, spark, edges_of(source.bounds())).collect()
        assert any(isinstance(decode(row[CONTROL]), Undecoded) for row in rows if row[CONTROL] is not None)
    finally:
        source.close()


def test_what_is_left_to_sparks_json_is_read_by_tasks(kafka: Kafka, spark: SparkSession) -> None:
    """Which records are bad is only known behind the decoder's last step, in Spark."""
    topic = kafka.create_topic(1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in (b'{"q":[1,null]}', b"{", b'{"q":"a"}'):
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    spout = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=Json("q array<int>"))
    source = spout.open("s")
    try:
        rows = frame_of(source, spark, edges_of(source.bounds())).collect()
        assert [row["q"] for row in rows if row[CONTROL] is None] == [[1, None]]
        words = [decode(row[CONTROL]) for row in rows if row[CONTROL] is not None]
        assert sorted(word.record.offset for word in words if isinstance(word, BadRecordWord)) == [1, 2]
    finally:
        source.close()
