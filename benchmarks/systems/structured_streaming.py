"""What a user writes by hand today: Structured Streaming with `foreachBatch`, exactly once into Postgres.

Which options are set and which are left out, and why, is in benchmarks/README.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.merge import Merger, Offsets, connect, write_offsets
from trident.local.jars import connector_jars

_CORES = 2
_LOOK_SECONDS = 0.2
_SMALL = 10_000
"""Records per batch up to which one task does it all, without a shuffle."""

_OPTIONS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.locality.wait": "0s",
    "spark.shuffle.compress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": str(_CORES),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # only so that what each batch read can be told at the end
    "spark.sql.streaming.numRecentProgressUpdates": "1000000",
}
_KAFKA_OPTIONS = {
    "startingOffsets": "earliest",
    "failOnDataLoss": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.max.poll.records": "50000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
    "kafka.fetch.max.wait.ms": "10",
}


def session() -> SparkSession:
    """Return a session with what a user would set for speed."""
    jars = ",".join(str(jar) for jar in connector_jars())
    builder = SparkSession.builder.master(f"local[{_CORES}]").appName("benchmark-structured-streaming")
    return builder.config(map={**_OPTIONS, "spark.jars": jars}).getOrCreate()


def payments(spark: SparkSession, arguments: Arguments, fields: str = "account string, amount bigint") -> DataFrame:
    """Read the topic as a stream, with these fields of those whose amount is above zero."""
    stream = (
        spark.readStream.format("kafka")
        .options(**_KAFKA_OPTIONS)
        .option("kafka.bootstrap.servers", arguments.bootstrap_servers)
        .option("subscribe", arguments.topic)
        .option("maxOffsetsPerTrigger", arguments.max_records)
        .load()
    )
    payment = F.from_json(F.col("value").cast("string"), fields)
    return stream.select(payment.alias("p")).select("p.*").filter(F.col("amount") > 0)


class _Writer:
    """The function for `foreachBatch`: it runs in the driver, one batch after the other."""

    def __init__(self, connection: psycopg.Connection, tasks: int) -> None:
        self._merger = Merger(connection)
        self._tasks = tasks

    def __call__(self, paid: DataFrame, batch: int) -> None:
        """Aggregate in Spark, merge in one transaction; a batch that Spark repeats after a restart is skipped."""
        totals = paid.coalesce(self._tasks).groupBy("account").agg(F.count("*"), F.sum("amount"))
        self._merger.merge(batch, totals.toArrow())


def run_until(query: StreamingQuery, expected_records: int) -> None:
    """Return once the finished batches hold so many records, and end the query."""
    while _read_so_far(query) < expected_records:
        if query.awaitTermination(_LOOK_SECONDS):  # type: ignore[arg-type]  # it takes parts of a second
            raise RuntimeError("the query ended by itself")
    query.stop()


def _read_so_far(query: StreamingQuery) -> int:
    """Return how many records the finished batches held; the topic begins at offset zero."""
    progress = query.lastProgress
    return sum(_positions(_source(progress)["endOffset"]).values()) if progress else 0


def _offsets(query: StreamingQuery) -> Iterator[tuple[int, list[Offsets]]]:
    for progress in query.recentProgress:
        source = _source(progress)
        starts, stops = _positions(source["startOffset"]), _positions(source["endOffset"])
        if starts != stops:
            yield progress.batchId, [Offsets(part, starts.get(part, 0), stop) for part, stop in stops.items()]


def _source(progress: StreamingQueryProgress) -> dict[str, Any]:
    """Return what a progress report says of its only source; only its JSON tells a missing offset from a text."""
    source: dict[str, Any] = json.loads(progress.json)["sources"][0]
    return source


def _positions(offset: dict[str, dict[str, int]] | None) -> dict[int, int]:
    """Return the offset by partition of the only topic; None stands for the beginning."""
    return {int(part): position for parts in (offset or {}).values() for part, position in parts.items()}


def main() -> None:
    """Run to the end, then record what each batch read."""
    arguments = parse("Structured Streaming with foreachBatch")
    spark = session()
    try:
        with connect(arguments.dsn) as connection, tempfile.TemporaryDirectory() as checkpoint:
            tasks = 1 if arguments.max_records <= _SMALL else _CORES
            writer = payments(spark, arguments).writeStream.foreachBatch(_Writer(connection, tasks))
            query = writer.option("checkpointLocation", checkpoint).trigger(processingTime="0 seconds").start()
            run_until(query, arguments.expected_records)
            with connection.transaction(), connection.cursor() as cursor:
                for batch, offsets in _offsets(query):
                    write_offsets(cursor, batch, offsets)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
