"""Payments above zero from one topic to another, exactly once, with a ledger in PostgreSQL."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial

from pyspark.sql import functions as F

from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.trident_run import run
from trident import Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink

FIELDS = "id bigint, account string, amount bigint, ts bigint, text string"


def to_kafka(output: str, folder: str | None, bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology; with a folder, rows too many for the driver lie there."""
    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        topic, bootstrap_servers=bootstrap_servers, value=Json(FIELDS), max_records_per_batch=max_records
    )
    sink = KafkaSink(
        "sent",
        bootstrap_servers=bootstrap_servers,
        marker_topic=f"markers-{output}",
        lineage=False,
    )
    if folder is not None:
        sink = replace(sink, staging_folder=folder, producers=2)
    paid = topology.stream("payments", spout).filter(F.col("amount") > 0)
    paid.to_kafka(output, key="account", value=F.to_json(F.struct("id", "account", "amount", "ts", "text")), sink=sink)
    return topology


def main(arguments: Arguments, *, bulk: bool) -> None:
    """Run to the end."""
    with tempfile.TemporaryDirectory() as folder:
        run(partial(to_kafka, arguments.output, folder if bulk else None), arguments)


if __name__ == "__main__":
    main(parse(__doc__ or ""), bulk=False)
