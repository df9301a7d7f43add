"""Payments above zero to rows of a table, exactly once, beside a ledger in PostgreSQL."""

from __future__ import annotations

from functools import partial

from pyspark.sql import functions as F

from benchmarks.systems.arguments import parse
from benchmarks.systems.trident_run import run
from trident import Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresTable


def to_table(output: str, bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology."""
    topology = Topology("payments")
    value = Json("id bigint, account string, amount bigint")
    spout = OpaqueKafkaSpout(topic, bootstrap_servers=bootstrap_servers, value=value, max_records_per_batch=max_records)
    topology.stream("payments", spout).filter(F.col("amount") > 0).to_table(PostgresTable(output))
    return topology


if __name__ == "__main__":
    given = parse(__doc__ or "")
    run(partial(to_table, given.output), given)
