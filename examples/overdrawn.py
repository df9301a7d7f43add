"""An alert, exactly once, when a balance falls below a limit: made of what each batch makes of a state.

    python examples/overdrawn.py --bootstrap-servers HOST:PORT --dsn postgresql://...

Bookings come from a topic; balances are kept in Postgres; the alert leaves for another topic in txid order, once
for each batch that takes a balance below the limit, whatever is killed. What falls below it and is back above it
within one batch is no change that a batch makes, and raises no alert.
"""

from __future__ import annotations

import argparse

from pyspark.sql import functions as F

from trident import PostgresLedger, Sum, Topology
from trident.local.session import local_session
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState

LIMIT = -100


def overdrawn(bootstrap_servers: str, bookings: str, alerts: str, max_records: int = 10_000) -> Topology:
    """Return the topology; `bookings` and `alerts` are topics."""
    topology = Topology("overdrawn")
    spout = OpaqueKafkaSpout(
        bookings,
        bootstrap_servers=bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=max_records,
    )
    balances = (
        topology.stream("bookings", spout)
        .group_by("account")
        .persistent_aggregate(PostgresState("balances"), balance=Sum("amount"))
    )
    was = F.coalesce(F.col("previous_balance"), F.lit(0))
    (
        balances.new_values(previous=True)
        .filter((F.col("balance") < LIMIT) & (was >= LIMIT))
        .to_kafka(alerts, key="account", value=F.to_json(F.struct("account", "balance")))
    )
    return topology


def main() -> None:
    """Run until stopped."""
    parser = argparse.ArgumentParser(description="Alerts when a balance falls below a limit")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--dsn", required=True)
    arguments = parser.parse_args()
    spark = local_session("overdrawn")
    try:
        topology = overdrawn(arguments.bootstrap_servers, "bookings", "alerts")
        topology.run(spark, ledger=PostgresLedger(arguments.dsn))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
