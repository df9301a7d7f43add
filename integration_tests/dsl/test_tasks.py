"""Tasks, resources, records per call: what they are asked for happens, and no result depends on it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from integration_tests.dsl.collected import rows_of
from integration_tests.dsl.fakes import small_spout
from trident import Combiner, Count, Reducer, Sum, Topology
from trident.base.arrays import AnyArray
from trident.language.stream import Stream
from trident.local.spark_cluster import LocalSparkCluster
from trident.state import MemoryState

ROWS = [("ab"[n % 2], n) for n in range(50)]


def made() -> Stream:
    return Topology("t", partitions=3).stream("s", small_spout("k string, n bigint", ROWS[:20], ROWS[20:]))


def sizes(batch: pa.RecordBatch) -> dict[str, AnyArray]:
    return {"size": pa.array([batch.num_rows] * batch.num_rows, pa.int64())}


@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_no_result_depends_on_the_number_of_tasks(spark: SparkSession, tasks: int) -> None:
    def doubled(stream: Stream) -> Stream:
        return stream.each(lambda batch: {"d": pc.multiply(batch.column("n"), 2)}, "d bigint")

    def by_partition(stream: Stream) -> Stream:
        return doubled(stream).shuffle().partition_aggregate(n=Count(), total=Sum("d"))

    def groups(stream: Stream) -> Stream:
        return doubled(stream).group_by("k").aggregate(total=Sum("d"))

    for make in (doubled, by_partition, groups):
        spread = rows_of(make(made().parallelism(tasks)), ordered=False)
        assert sorted(map(repr, spread)) == sorted(map(repr, rows_of(make(made()), ordered=False)))


def test_so_many_records_are_given_at_once_at_most(spark: SparkSession) -> None:
    rows = rows_of(made().parallelism(1).options(records_per_call=7).each(sizes, "size bigint"), ordered=False)
    assert sorted((row[0], row[1]) for row in rows) == sorted(ROWS)
    assert max(int(str(row[2])) for row in rows) <= 7
    free = rows_of(made().parallelism(1).each(sizes, "size bigint"), ordered=False)
    assert max(int(str(row[2])) for row in free) > 7


def test_in_local_mode_resources_are_said_to_have_no_effect(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trident"):
        stream = made().resources(cpus=2, memory="1g").each(sizes, "size bigint")
    (said,) = [record.getMessage() for record in caplog.records if "resources" in record.getMessage()]
    assert said.startswith("stream 's': resources(cpus=2, memory='1g') has no effect in local mode")
    assert len(rows_of(stream, ordered=False)) == len(ROWS)
    assert "each" in stream._topology.explain()
    assert "cpus=2, memory='1g' (local Spark has no resources to choose)" in stream._topology.explain()


class Total(Reducer[int]):
    result_type = "bigint"

    def init(self) -> int:
        return 0

    def reduce(self, current: int, *values: object) -> int:
        return current + int(str(values[0]))


class Most(Combiner[int]):
    result_type = "bigint"

    def init(self, *values: object) -> int:
        return int(str(values[0]))

    def combine(self, left: int, right: int) -> int:
        return max(left, right)


def test_what_works_on_groups_is_told_what_it_needs_too(spark: SparkSession) -> None:
    stream = made().options(records_per_call=7).group_by("k")
    explained = stream.aggregate(total=Total("n"))._topology.explain()
    assert "a Python task, records_per_call=7, within the batch" in explained
    kept = stream.persistent_aggregate(MemoryState("kept"), most=Most("n"))
    assert "and a Python fold, records_per_call=7 per batch, one merge" in kept.new_values()._topology.explain()


ON_A_CLUSTER = """
import sys, tempfile
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from trident import Combiner, ConfigurationError, SqliteLedger, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState
builder = SparkSession.builder.master(sys.argv[1]).config("spark.cores.max", 2)
spark = builder.getOrCreate()
topology = Topology("t")
stream = topology.stream("s", FixedBatchSpout("n bigint", [(n,) for n in range(10)]))
try:
    stream.resources(memory="1g")
except ConfigurationError as error:
    print(error)

def cpus(batch):
    return {"cpus": pa.array([TaskContext.get().cpus()] * batch.num_rows, pa.int64())}

class Cpus(Combiner):
    result_type = "bigint"

    def init(self, n):
        return TaskContext.get().cpus()

    def combine(self, left, right):
        return max(left, right)

wide = stream.resources(cpus=2).each(cpus, "cpus bigint")
state = wide.group_by("cpus").persistent_aggregate(SqliteState("m"), total=Sum("n"), fold=Cpus("n"))
path = tempfile.mkdtemp() + "/ledger.sqlite"
topology.run(spark, ledger=SqliteLedger(path), until="caught_up")
import sqlite3
print(sqlite3.connect(path).execute("SELECT cpus, total, fold FROM m").fetchall())
"""


@pytest.mark.verify(short=True)
def test_on_a_cluster_tasks_get_what_they_need_or_the_build_says_why_not() -> None:
    with LocalSparkCluster(workers=1, cores=2, memory="1g") as cluster:
        words = [sys.executable, "-c", ON_A_CLUSTER, cluster.master.url]
        with_this_python = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240, env=with_this_python)
    assert said.returncode == 0, said.stderr[-3000:]
    refused, counted = said.stdout.strip().splitlines()[-2:]
    assert refused.startswith("stream 's': resources(memory='1g') is not to be had here")
    assert counted == "[(2, 45, 2)]"
