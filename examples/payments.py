"""Count and sum of payments per account, exactly once: from a Kafka topic into a Postgres table.

    python examples/payments.py --bootstrap-servers HOST:PORT --dsn postgresql://...

It may be killed and started again at any time; it goes on where the ledger says. The address of the
database may also come from the environment variable PAYMENTS_DSN, which keeps its password out of
the list of processes. Commands that need the topology are given `examples/payments.py:topology`, with
the broker in PAYMENTS_BOOTSTRAP_SERVERS.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable

from pyspark.sql import functions as F

from trident import Count, PostgresLedger, Sum, Topology
from trident.local.session import local_session
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState

TOPIC = "payments"
RECORDS = 250_000
"""How many a batch has at most."""


def payments_topology(bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology: payments above zero, counted and summed per account in the table `balances`."""
    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        topic,
        bootstrap_servers=bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=max_records,
    )
    (
        topology.stream("payments", spout)
        .filter(F.col("amount") > 0)
        .group_by("account")
        .persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    )
    return topology


def topology() -> Topology:
    """Return the topology for a command such as `trident reset examples/payments.py:topology`, which runs nothing."""
    return payments_topology(os.environ["PAYMENTS_BOOTSTRAP_SERVERS"], os.environ.get("PAYMENTS_TOPIC", TOPIC), RECORDS)


def run_payments(make: Callable[[str, str, int], Topology], description: str) -> None:
    """Run a topology until stopped (SIGTERM and Ctrl-C drain), or until all that is in the topic has been counted."""
    parser = argparse.ArgumentParser(description=description)
    servers = os.environ.get("PAYMENTS_BOOTSTRAP_SERVERS")
    parser.add_argument("--bootstrap-servers", default=servers, required=servers is None)
    parser.add_argument("--dsn", default=os.environ.get("PAYMENTS_DSN"), required="PAYMENTS_DSN" not in os.environ)
    parser.add_argument("--topic", default=os.environ.get("PAYMENTS_TOPIC", TOPIC))
    parser.add_argument("--max-records", type=int, default=RECORDS, help="records per batch at most")
    parser.add_argument("--until", choices=["stopped", "caught_up"], default="stopped")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    # kafka-python logs an error for each try while a broker is away; what it means for the topology is logged by itself
    for chatty in ("py4j", "kafka"):
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    spark = local_session("payments")
    try:
        made = make(arguments.bootstrap_servers, arguments.topic, arguments.max_records)
        made.run(spark, ledger=PostgresLedger(arguments.dsn), until=arguments.until)
    except KeyboardInterrupt:  # the second Ctrl-C, or one before the run: the next run goes on
        sys.exit(130)
    finally:
        spark.stop()


if __name__ == "__main__":
    run_payments(payments_topology, "Count and sum of payments per account, exactly once")
