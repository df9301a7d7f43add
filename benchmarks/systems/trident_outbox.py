"""The payments example with an outbox: the one payment of a hundred that is above a limit leaves for Kafka, too.

Ends with exit code 1 unless each of these is an alert, once.
"""

from __future__ import annotations

import sys
from functools import partial
from uuid import uuid4

from pyspark.sql import functions as F

from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.trident_run import run
from examples.payments_data import create_topic
from examples.recount import LIMIT, alerts_in_topic, payments_in_topic
from trident import Count, Sum, Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState

_PARTITIONS = 4


def with_outbox(alerts: str, bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology."""
    topology = Topology("payments")
    value = Json("id bigint, account string, amount bigint")
    spout = OpaqueKafkaSpout(topic, bootstrap_servers=bootstrap_servers, value=value, max_records_per_batch=max_records)
    payments = topology.stream("payments", spout).filter(F.col("amount") > 0)
    payments.group_by("account").persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    payments.filter(F.col("amount") > LIMIT).to_kafka(
        alerts,
        key="account",
        value=F.to_json(F.struct("id", "account", "amount")),
        sink=KafkaSink("alerts", bootstrap_servers=bootstrap_servers, marker_topic=f"markers-{alerts}"),
    )
    return topology


def main(arguments: Arguments) -> None:
    """Run to the end, then compare every alert with the payments."""
    alerts = f"alerts-{uuid4().hex[:12]}"
    create_topic(arguments.bootstrap_servers, alerts, _PARTITIONS)
    run(partial(with_outbox, alerts), arguments)
    due = payments_in_topic(arguments.bootstrap_servers, arguments.topic).large
    if alerts_in_topic(arguments.bootstrap_servers, alerts) != due:
        sys.exit("the alerts are not those that are due, each once")


if __name__ == "__main__":
    main(parse(__doc__ or ""))
