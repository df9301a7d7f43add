"""A topology through Spark Connect, in a process of its own: a process has one kind of Spark."""

from __future__ import annotations

import secrets

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import UnopenedState, held_rows, request_for, rows_spout, small_spout
from trident import ConfigurationError, Min, Sum, Topology
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


def drawn_number(_: object) -> float:
    return float(secrets.randbelow(1 << 50))


def drawn_for_both(spark: SparkSession) -> object:
    """Return what two states keep of numbers that are drawn, by a function that nobody could refuse through Connect."""
    topology = Topology("drawn")
    drawn = topology.stream("rows", small_spout("n bigint", [(n,) for n in range(20)])).each(
        at=F.udf(drawn_number, "double")("n")
    )
    for name in ("one", "two"):
        drawn.persistent_aggregate(UnopenedState(name), least=Min("at"))
    compiled = topology.compile()
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    result = SparkProcessor(compiled, spark, sources, {}).process(request_for(compiled, sources))
    return held_rows(result, "one") == held_rows(result, "two")


def main() -> None:
    """Print one line for each thing that was tried."""
    spark = SparkSession.builder.remote("local[1]").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    compiled = build()
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {})
    print("sum", held_rows(processor.process(request_for(compiled, sources)), "s"))
    print("both", drawn_for_both(spark))
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
