"""Spouts over rows in memory: the same frame and words as any other source."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from integration_tests.spouts.logs import edges_of, read_back
from trident.base.errors import ConfigurationError, FatalError
from trident.base.ranges import Edge, OffsetRange
from trident.spouts import FeederBatchSpout, FixedBatchSpout, SpoutKind
from trident.spouts.base import Limits, Spout, StartAt
from trident.spouts.row_logs import Row

SCHEMA = "account string, amount decimal(20,2)"
ROWS: list[Mapping[str, object] | Sequence[object]] = [
    ("a", Decimal("0.29")),
    {"account": "b", "amount": None},
    {"amount": Decimal(3), "account": None},
    ("d", None),
]


def test_fixed_rows_are_read_range_by_range(spark: SparkSession) -> None:
    spout: Spout = FixedBatchSpout(SCHEMA, ROWS, max_records_per_batch=2)
    assert (spout.kind, spout.limits) == (SpoutKind.TRANSACTIONAL, Limits(max_records=2))
    source = spout.open("s")
    (whole,) = (edge.range for edge in edges_of(source.bounds()))
    assert (whole.id.topic, whole.start, whole.stop) == ("s", 0, 4)
    halves = [
        Edge(5, OffsetRange(whole.id, whole.topic_id, 0, 2)),
        Edge(6, OffsetRange(whole.id, whole.topic_id, 2, 4)),
    ]
    for tasks in (1, 2):
        read = read_back(source, spark, halves, tasks)
        assert sorted(map(tuple, read.rows), key=repr) == sorted(
            [
                ("a", Decimal("0.29"), None),
                ("b", None, None),
                (None, Decimal("3.00"), None),
                ("d", None, None),
            ],
            key=repr,
        )
        assert [(item.edge, item.position, item.count) for item in read.manifests] == [(5, 2, 2), (6, 4, 2)]
    one = read_back(source, spark, [Edge(7, whole)])
    assert one.manifests[0].digest == read.manifests[0].digest + read.manifests[1].digest


def test_fed_rows_move_the_bounds(spark: SparkSession) -> None:
    feeder = FeederBatchSpout("n int", kind=SpoutKind.OPAQUE)
    source = feeder.open("s")
    assert [(item.earliest, item.stop) for item in source.bounds()] == [(0, 0)]
    assert feeder.feed([(1,), (2,)]) == 2
    assert feeder.feed([{"n": 3}]) == 3
    (edge,) = edges_of(source.bounds())
    feeder.feed([(4,)])
    assert [row["n"] for row in read_back(source, spark, [edge]).rows] == [1, 2, 3]
    source.verify([edge.range])


def test_rows_are_dealt_over_partitions_and_read_from_them(spark: SparkSession) -> None:
    feeder = FeederBatchSpout("n int", partitions=3)
    source = feeder.open("s")
    assert feeder.feed([(n,) for n in range(4)]) == 4
    assert feeder.feed([(n,) for n in range(4, 7)]) == 7
    bounds = source.bounds()
    assert [(item.id.partition, item.earliest, item.stop) for item in bounds] == [(0, 0, 3), (1, 0, 2), (2, 0, 2)]
    assert [(item.earliest, item.stop) for item in source.starts(StartAt.LATEST)] == [(3, 3), (2, 2), (2, 2)]
    one, two, three = edges_of(bounds)
    assert [row["n"] for row in read_back(source, spark, [one]).rows] == [0, 3, 6]
    assert sorted(row["n"] for row in read_back(source, spark, [two, three], 2).rows) == [1, 2, 4, 5]


def test_another_number_of_partitions_is_another_stream() -> None:
    assert FeederBatchSpout("n int").description() == {"spout": "memory", "kind": "transactional"}
    assert FeederBatchSpout("n int", partitions=2).description()["partitions"] == "2"


def test_who_feeds_may_wait_until_the_rows_are_done() -> None:
    feeder = FeederBatchSpout("n int", partitions=2)
    source, returned = feeder.open("s"), threading.Event()

    def feed() -> None:
        feeder.feed([(1,), (2,), (3,)], wait=True)
        returned.set()

    waiting = threading.Thread(target=feed)
    waiting.start()
    while sum(bound.stop for bound in source.bounds()) < 3:
        time.sleep(0.01)
    first, second = (edge.range for edge in edges_of(source.bounds()))
    source.committed(1, [first])
    assert not returned.wait(0.1), "of the other partition nothing is done"
    source.committed(2, [second])
    assert returned.wait(10)
    waiting.join()


def test_who_waits_for_nobody_is_told_that_the_rows_stay() -> None:
    feeder = FeederBatchSpout("n int")
    with pytest.raises(TimeoutError, match=r"not done after 0\.01 s\. They stay"):
        feeder.feed([(1,)], wait=True, patience=timedelta(milliseconds=10))
    assert [bound.stop for bound in feeder.open("s").bounds()] == [1]


def test_log_that_became_shorter_is_found() -> None:
    source = FixedBatchSpout("n int", [(1,)]).open("s")
    found = source.bounds()[0]
    with pytest.raises(FatalError, match="now has 1"):
        source.verify([OffsetRange(found.id, found.topic_id, 0, 2)])


@pytest.mark.parametrize("row", [("x",), (1, 2), ("1",), (1.5,), {}, {"m": 1}, {"n": 1, "m": 2}, {"n": 2**31}])
def test_rows_that_do_not_fit_are_refused(spark: SparkSession, row: Row) -> None:
    source = FixedBatchSpout("n int", [row]).open("s")
    with pytest.raises(ConfigurationError, match=r"'s': a row does not fit the schema 'n int': .*; nothing"):
        source.read(spark, edges_of(source.bounds()), 1)


def test_invalid_schema_and_limits_are_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match="nonsense"):
        FixedBatchSpout("n nonsense", []).open("s").schema(spark)
    with pytest.raises(ConfigurationError):
        FixedBatchSpout("n int", [], max_records_per_batch=0)
