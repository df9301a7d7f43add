"""Payments with refunds, in decimals: a refund is a payment of the opposite sign, and takes back exactly what it says.

    python examples/refunds.py

Sums are exact decimals and counts are integers, so what was taken back is gone from both, to the cent, however batches
are cut. (A least or greatest value would not do: it can't be taken back.)
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from pyspark.sql import functions as F

from trident import SqliteLedger, Sum, Topology
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

Entry = tuple[str, str, Decimal]
ENTRIES: tuple[Entry, ...] = (
    ("payment", "ann", Decimal("19.99")),
    ("payment", "bob", Decimal("5.01")),
    ("payment", "ann", Decimal("0.10")),
    ("refund", "ann", Decimal("19.99")),
    ("payment", "bob", Decimal("0.20")),
    ("refund", "bob", Decimal("5.01")),
)


def refunds(entries: Sequence[Entry] = ENTRIES, batch: int = 2) -> Topology:
    """Return the topology: per customer what was paid less what was paid back, and how many payments stand."""
    topology = Topology("refunds")
    spout = FixedBatchSpout("kind string, customer string, price decimal(10,2)", entries, max_records_per_batch=batch)
    sign = F.when(F.col("kind") == "refund", -1).otherwise(1)
    (
        topology.stream("entries", spout)
        .each(signed=(F.col("price") * sign).cast("decimal(10,2)"), stands=sign)
        .group_by("customer")
        .persistent_aggregate(SqliteState("customers"), paid=Sum("signed"), payments=Sum("stands"))
    )
    return topology


def main() -> None:
    """Run it, and print what stands."""
    spark = local_session("refunds")
    file = Path(tempfile.mkdtemp(prefix="trident-refunds-")) / "refunds.sqlite"
    try:
        refunds().run(spark, ledger=SqliteLedger(file), until="caught_up")
    finally:
        spark.stop()
    with sqlite3.connect(file) as connection:
        for customer, paid, payments in connection.execute("SELECT customer, paid, payments FROM customers ORDER BY 1"):
            print(f"{customer}: {paid} in {payments} payments")


if __name__ == "__main__":
    main()
