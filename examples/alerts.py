"""Payments with three outputs, each exactly once: totals and suspicious payments to Postgres, alerts to Kafka.

    python examples/alerts.py --bootstrap-servers HOST:PORT --dsn postgresql://...

Totals per account are in the table `balances`, payments of zero or below in the table `suspicious`, one row each: both
change in the transaction that records their batch. Payments above a limit are alerts in the topic `alerts`: they are
committed in the same transaction, and sent a moment later, in their order.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import functions as F

# run as a file or as a module, it finds what lies beside it
sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.payments import RECORDS, TOPIC, run_payments
from trident import Count, Sum, Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState, PostgresTable

ALERTS = "alerts"
LIMIT = 990_000
"""Payments above it are told to somebody."""


def alerts_topology(bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology: what `examples/payments.py` counts, and what of it is told to whom."""
    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        topic,
        bootstrap_servers=bootstrap_servers,
        value=Json("id bigint, account string, amount bigint"),
        max_records_per_batch=max_records,
    )
    payments = topology.stream("payments", spout)
    (
        payments.filter(F.col("amount") > 0)
        .group_by("account")
        .persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    )
    payments.filter(F.col("amount") <= 0).to_table(PostgresTable("suspicious"))
    payments.filter(F.col("amount") > LIMIT).to_kafka(
        ALERTS,
        key="account",
        value=F.to_json(F.struct("id", "account", "amount")),
        sink=KafkaSink(ALERTS, bootstrap_servers=bootstrap_servers),
    )
    return topology


def topology() -> Topology:
    """Return the topology for a command such as `trident divert examples/alerts.py:topology`, which runs nothing."""
    return alerts_topology(os.environ["PAYMENTS_BOOTSTRAP_SERVERS"], os.environ.get("PAYMENTS_TOPIC", TOPIC), RECORDS)


if __name__ == "__main__":
    run_payments(alerts_topology, "Totals, suspicious payments and alerts, exactly once")
