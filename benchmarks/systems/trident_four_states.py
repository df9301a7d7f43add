"""Four states on one stream of payments, each with keys or aggregates of its own.

The table `balances` as in the example, one by the size of the amount, one with the least and the most of each account,
and one by the account's last character.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.systems.arguments import parse
from benchmarks.systems.paid import paid
from benchmarks.systems.trident_run import run
from trident import Count, Max, Min, Sum, Topology
from trident.state import PostgresState

_BUCKET = 1_000


def four_states(bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology; the other tables count as `n`, too."""
    topology = Topology("payments")
    payments = paid(topology, bootstrap_servers, topic, max_records)
    payments.group_by("account").persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    sized = payments.each(size=F.floor(F.col("amount") / _BUCKET))
    sized.group_by("size").persistent_aggregate(PostgresState("sizes"), n=Count(), total=Sum("amount"))
    payments.group_by("account").persistent_aggregate(
        PostgresState("extremes"), n=Count(), least=Min("amount"), most=Max("amount")
    )
    ended = payments.each(ending=F.substring("account", -1, 1))
    ended.group_by("ending").persistent_aggregate(PostgresState("endings"), n=Count(), total=Sum("amount"))
    return topology


if __name__ == "__main__":
    run(four_states, parse(__doc__ or ""))
