"""Orders with the price of their article beside them, from a table that is read once: exactly-once enrichment.

    python examples/enrichment.py

Every batch of a run, and every re-run of one, finds the same prices; a run that is started later reads them anew. An
order of an article that has no price is kept, and found by its missing total.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import SqliteLedger, Topology
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteTable

Order = tuple[int, str, int]
ORDERS: tuple[Order, ...] = ((1, "pen", 3), (2, "ink", 1), (3, "map", 2), (4, "pen", 1))
PRICES = (("pen", Decimal("1.20")), ("ink", Decimal("4.99")))


def enrichment(spark: SparkSession, orders: Sequence[Order] = ORDERS, batch: int = 2) -> Topology:
    """Return the topology: orders, each with the price of its article and its total, in the table `priced`."""
    prices = spark.createDataFrame(PRICES, "article string, price decimal(10,2)")
    topology = Topology("enrichment")
    spout = FixedBatchSpout("number int, article string, pieces int", orders, max_records_per_batch=batch)
    (
        topology.stream("orders", spout)
        .join_static(prices, on="article", how="left")
        .each(total=(F.col("price") * F.col("pieces")).cast("decimal(12,2)"))
        .to_table(SqliteTable("priced"))
    )
    return topology


def main() -> None:
    """Run it, and print the orders."""
    spark = local_session("enrichment")
    file = Path(tempfile.mkdtemp(prefix="trident-orders-")) / "orders.sqlite"
    try:
        enrichment(spark).run(spark, ledger=SqliteLedger(file), until="caught_up")
    finally:
        spark.stop()
    with sqlite3.connect(file) as connection:
        for number, article, total in connection.execute("SELECT number, article, total FROM priced ORDER BY number"):
            print(f"{number}: {article}, {total if total is not None else 'no price'}")


if __name__ == "__main__":
    main()
