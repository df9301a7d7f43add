"""The payments example with so many states, read to the end of the topic; on a cluster if executors are asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.systems.arguments import Arguments, parser_of
from benchmarks.systems.trident_run import log_everything
from trident import Count, PostgresLedger, Sum, Topology, recommended_options
from trident.local.session import local_session
from trident.local.spark_cluster import LocalSparkCluster
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState

NAME = "payments"


def tables(states: int) -> dict[str, int]:
    """Return the states' tables, and by what the amounts of each are multiplied: no two do the same work."""
    return {f"balances_{number}": number for number in range(1, states + 1)}


def with_states(states: int, arguments: Arguments) -> Topology:
    """Return the topology."""
    topology = Topology(NAME)
    spout = OpaqueKafkaSpout(
        arguments.topic,
        bootstrap_servers=arguments.bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=arguments.max_records,
    )
    payments = topology.stream("payments", spout).filter(F.col("amount") > 0)
    for table, factor in tables(states).items():
        multiplied = payments.each(times=F.col("amount") * factor)
        multiplied.group_by("account").persistent_aggregate(PostgresState(table), n=Count(), total=Sum("times"))
    return topology


@contextmanager
def session(executors: int) -> Iterator[SparkSession]:
    """Start Spark, with a cluster of its own where executors are asked for."""
    if not executors:
        spark = local_session(NAME)
        yield spark
        spark.stop()
        return
    with LocalSparkCluster(workers=executors, cores=1, memory="2g") as cluster:
        spark = _session_on(cluster.master.url, executors)
        yield spark
        spark.stop()


def _session_on(master: str, executors: int) -> SparkSession:
    options = recommended_options() | {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.executor.cores": "1",
        "spark.executor.memory": "1g",
        "spark.cores.max": str(executors),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # the first batch finds all of them
        "spark.sql.shuffle.partitions": str(executors),
        "spark.default.parallelism": str(executors),
        "spark.sql.session.timeZone": "UTC",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors run what the driver names
    return SparkSession.builder.master(master).appName(NAME).config(map=dict(options)).getOrCreate()


def main() -> None:
    """Run to the end."""
    parser = parser_of(__doc__ or "")
    parser.add_argument("--states", type=int, default=1)
    parser.add_argument("--executors", type=int, default=0)
    given = vars(parser.parse_args())
    states, executors = given.pop("states"), given.pop("executors")
    arguments = Arguments(**given)
    log_everything()
    with session(executors) as spark:
        with_states(states, arguments).run(spark, ledger=PostgresLedger(arguments.dsn), until="caught_up")


if __name__ == "__main__":
    main()
