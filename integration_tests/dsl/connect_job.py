"""A topology through Spark Connect, in a process of its own: a process has one kind of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from integration_tests.dsl.fakes import UnopenedState, held_rows, request_for, rows_spout
from trident import ConfigurationError, Sum, Topology
from trident.engine.compiled import CompiledTopology
from trident.engine.processor import SparkProcessor

WRONG = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
}


def build() -> CompiledTopology:
    topology = Topology("connected")
    topology.stream("rows", rows_spout("n bigint", [(5,), (7,)])).persistent_aggregate(UnopenedState("s"), n=Sum("n"))
    return topology.compile()


def main() -> None:
    """Print one line for each thing that was tried."""
    spark = SparkSession.builder.remote("local[1]").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    compiled = build()
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {})
    print("sum", held_rows(processor.process(request_for(compiled, sources)), "s"))
    for name, value in WRONG.items():
        before = spark.conf.get(name, None)
        spark.conf.set(name, value)
        for what in ("build", "run", "batch"):
            try:
                if what == "build":
                    build()
                elif what == "run":
                    SparkProcessor(compiled, spark, sources, {})
                else:
                    processor.process(request_for(compiled, sources))
            except ConfigurationError as error:
                print(what, name in str(error) and spark.conf.get(name) == value)
        if before is None or "legacy" in name:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
    print("sum", held_rows(processor.process(request_for(compiled, sources)), "s"))
    spark.stop()


if __name__ == "__main__":
    main()
