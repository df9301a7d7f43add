"""A topology with an output of each kind, at any level; as a program it dies at a border of one of its batches."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta

from pyspark.sql import functions as F

from trident import Count, PostgresLedger, RunOptions, Sum, Topology, local_session
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState, PostgresTable

OPTIONS = RunOptions(lease=timedelta(seconds=2), retry_pause=timedelta(milliseconds=10), max_pending=2)


def build(servers: str, source: str, target: str, level: str, limit: int = 400) -> Topology:
    """Return it: payments above zero, one by one to a topic and a table, and their sums in a state."""
    topology = Topology("payments", level=level)
    spout = OpaqueKafkaSpout(
        source,
        bootstrap_servers=servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=limit,
    )
    positive = topology.stream("payments", spout).filter(F.col("amount") > 0)
    positive.to_kafka(
        target,
        key="account",
        value=F.to_json(F.struct("account", "amount")),
        sink=KafkaSink("out", bootstrap_servers=servers),
    )
    positive.to_table(PostgresTable("paid"))
    positive.group_by("account").persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    return topology


def main(servers: str, source: str, target: str, dsn: str, level: str, point: str, txid: str) -> None:
    """Run it until it dies there."""

    def die(here: CrashPoint, at: int) -> None:
        if here == point and at == int(txid):
            os.kill(os.getpid(), signal.SIGKILL)

    spark = local_session("dies", cores=2)
    with armed(die):
        topology = build(servers, source, target, level)
        topology.run(spark, ledger=PostgresLedger(dsn), until="caught_up", options=OPTIONS)


if __name__ == "__main__":
    main(*sys.argv[1:])
