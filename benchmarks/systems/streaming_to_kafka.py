"""The same through Structured Streaming's own Kafka sink, which is at-least-once."""

from __future__ import annotations

import tempfile

from pyspark.sql import functions as F

from benchmarks.systems.arguments import parse
from benchmarks.systems.structured_streaming import payments, run_until, session
from benchmarks.systems.trident_to_kafka import FIELDS


def main() -> None:
    """Run to the end."""
    arguments = parse(__doc__ or "")
    spark = session()
    try:
        value = F.to_json(F.struct("id", "account", "amount", "ts", "text"))
        paid = payments(spark, arguments, FIELDS).select(F.col("account").alias("key"), value.alias("value"))
        with tempfile.TemporaryDirectory() as checkpoint:
            query = (
                paid.writeStream.format("kafka")
                .option("kafka.bootstrap.servers", arguments.bootstrap_servers)
                .option("topic", arguments.output)
                .option("checkpointLocation", checkpoint)
                .trigger(processingTime="0 seconds")
                .start()
            )
            run_until(query, arguments.expected_records)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
