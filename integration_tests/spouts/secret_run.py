"""A run that logs in to Kafka, in a session that keeps a log of its events: for the test that looks for its password.

python -m integration_tests.spouts.secret_run BROKERS TOPIC PASSWORD arrow|spark FOLDER
"""

from __future__ import annotations

import logging
import os
import sys
from datetime import timedelta
from pathlib import Path

from integration_tests.spouts.logs import edges_of
from integration_tests.spouts.sasl import login
from trident import Count, RunOptions, Topology
from trident.coordinators.ledger import SqliteLedger
from trident.local.session import local_session
from trident.spouts import Json, OpaqueKafkaSpout
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.spark import SparkReader
from trident.state import SqliteState


def main(brokers: str, topic: str, password: str, reader: str, folder: str) -> None:
    """Show the plan, and run the topology to its end, or to the error that ends it."""
    # compressed, no search would find anything in it
    kept = {"enabled": "true", "compress": "false", "dir": f"file://{folder}"}
    words = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in kept.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{words} pyspark-shell"
    logging.basicConfig(level=logging.DEBUG)
    spark = local_session("secret", cores=2, connector=reader == "spark")
    spark.sparkContext.setLogLevel("INFO")
    spout = OpaqueKafkaSpout(
        topic,
        bootstrap_servers=brokers,
        value=Json("n bigint"),
        reader=SparkReader() if reader == "spark" else ArrowReader(),
        client_options=login(password),
        connect_timeout=5,
    )
    topology = Topology("payments")
    stream = topology.stream("payments", spout)
    stream.group_by("n").persistent_aggregate(SqliteState("counts"), total=Count())
    options = RunOptions(max_tries=1, give_up_after=timedelta(seconds=5))
    source = spout.open("payments")
    try:
        frame = source.read(spark, edges_of(source.bounds()), 1)
        frame.explain(True)
        frame.count()
        topology.run(spark, ledger=SqliteLedger(Path(folder, "ledger.db")), until="caught_up", options=options)
    finally:
        source.close()
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
