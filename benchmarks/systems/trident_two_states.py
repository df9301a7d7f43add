"""Two states on one stream of payments: the table `balances` as in the example, and one by the size of the amount."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.systems.arguments import parse
from benchmarks.systems.paid import paid
from benchmarks.systems.trident_run import run
from trident import Count, Sum, Topology
from trident.state import PostgresState


def two_states(bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology."""
    topology = Topology("payments")
    payments = paid(topology, bootstrap_servers, topic, max_records)
    payments.group_by("account").persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    sized = payments.each(size=F.col("amount") % 100)
    sized.group_by("size").persistent_aggregate(PostgresState("sizes"), n=Count())
    return topology


if __name__ == "__main__":
    run(two_states, parse(__doc__ or ""))
