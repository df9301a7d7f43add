"""A run whose tasks stage, in a session that keeps a log of its events: for the test that looks for its passwords.

python -m integration_tests.state.secret_run LEDGER_DSN STATE_DSN TASKS_DSN FOLDER
"""

from __future__ import annotations

import logging
import sys
from datetime import timedelta

from trident import Count, RunOptions, Staging, Sum, Topology
from trident.coordinators.ledger import PostgresLedger
from trident.local.session import local_session
from trident.spouts.memory import FixedBatchSpout
from trident.state import PostgresState


def main(ledger: str, state: str, tasks: str, folder: str) -> None:
    """Run it to its end, or to the error that ends it."""
    from pyspark import SparkContext

    SparkContext.setSystemProperty("spark.eventLog.enabled", "true")
    SparkContext.setSystemProperty("spark.eventLog.compress", "false")  # a search finds nothing in what is compressed
    SparkContext.setSystemProperty("spark.eventLog.dir", f"file://{folder}")
    logging.basicConfig(level=logging.DEBUG)
    spark = local_session("secret", cores=2)
    topology = Topology("payments")
    rows = [(f"a{n % 7}", n) for n in range(100)]
    stream = topology.stream(
        "payments", FixedBatchSpout("account string, amount bigint", rows, max_records_per_batch=50)
    )
    kept = PostgresState("balances", dsn=state, tasks_dsn=tasks)
    stream.group_by("account").persistent_aggregate(kept, n=Count(), total=Sum("amount"))
    options = RunOptions(max_tries=1, give_up_after=timedelta(seconds=5))
    try:
        topology.run(
            spark, ledger=PostgresLedger(ledger), until="caught_up", staging=Staging.EXECUTORS, options=options
        )
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
