"""What is run so that its JVM writes down the classes that a start needs; see `trident.local.class_data`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import Count, MemoryLedger, Sum, Topology
from trident.engine.warming import WarmUp
from trident.local.class_data import making_options
from trident.local.session import started
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState

_FIELDS: Final = "account string, amount bigint"
_ROWS: Final = [("a", 1), ("b", 2), ("a", -3)]


def main() -> None:
    """Run a small topology, and let the JVM write its file; the one argument says where."""
    (archive,) = sys.argv[1:]
    spark = started("training", making_options(Path(archive)))
    try:
        _train(spark)
        gateway = spark.sparkContext._gateway
    finally:
        spark.stop()
    assert gateway is not None
    # the JVM ends once its standard input does, and has written the file when it has ended
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    sys.exit(process.wait())


def _train(spark: SparkSession) -> None:
    topology = Topology("training")
    stream = topology.stream("rows", FixedBatchSpout(_FIELDS, _ROWS)).filter(F.col("amount") > 0)
    stream.group_by("account").persistent_aggregate(MemoryState("totals"), n=Count(), total=Sum("amount"))
    warm_up = WarmUp(topology.compile(), spark)
    warm_up.run()  # small batches, too, which a spout of lists never has
    topology.run(spark, ledger=MemoryLedger(), until="caught_up")
    texts = spark.createDataFrame([('{"account": "a", "amount": 1}',)], "value string")
    texts.select(F.from_json("value", _FIELDS).alias("p")).select("p.*").toArrow()  # decoding, the careful way


if __name__ == "__main__":
    main()
