"""Tools that show lag see how far a topology is, and nothing depends on it."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.records import payments, produce
from trident import Count, RunOptions, SqliteLedger, Topology
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts import Json, OpaqueKafkaSpout
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.reporting import PositionReporter, group_of
from trident.state import SqliteState

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))


def offsets_of(servers: str, group: str) -> dict[int, int]:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        found = admin.list_group_offsets([group])[group]
        return {each.partition: told.offset for each, told in found.items()}
    finally:
        admin.close()


@pytest.mark.parametrize("report_lag", [True, False])
@pytest.mark.drawn(one_in=2)
def test_the_group_of_a_stream_is_where_its_topology_is(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, report_lag: bool
) -> None:
    source = kafka.create_topic(4, name="payments")
    servers = kafka.bootstrap_servers
    name = f"lag of {source}"

    def run() -> None:
        topology = Topology(name)
        spout = OpaqueKafkaSpout(
            source,
            bootstrap_servers=servers,
            value=Json("account string, amount bigint"),
            max_records_per_batch=40,
            report_lag=report_lag,
        )
        topology.stream("in", spout).persistent_aggregate(SqliteState("counts"), n=Count())
        topology.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up", options=OPTIONS)

    for records in (100, 60):
        produce(servers, source, payments(records))
        run()
    assert offsets_of(servers, group_of(name, "in")) == (dict.fromkeys(range(4), 40) if report_lag else {})


def test_the_lag_that_a_run_logs_is_what_kafka_says(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle of a backlog as well, of which all may be planned already."""
    source, servers = kafka.create_topic(4, name="behind"), kafka.bootstrap_servers
    produce(servers, source, payments(200))
    consumer = KafkaConsumer(bootstrap_servers=servers)
    end = sum(consumer.end_offsets([TopicPartition(source, number) for number in range(4)]).values())
    consumer.close()
    topology = Topology(f"behind {source}")
    value = Json("account string, amount bigint")
    spout = OpaqueKafkaSpout(source, bootstrap_servers=servers, value=value, max_records_per_batch=40)
    topology.stream("in", spout).persistent_aggregate(SqliteState("counts"), n=Count())
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with caplog.at_level(logging.INFO, "trident.batch"):
        topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS)
    lines = [record.__dict__["batch"] for record in caplog.records if record.name == "trident.batch"]
    behind = [end - 40 * done for done in range(1, 6)]
    assert ([line["lag"] for line in lines], behind[-1]) == (behind, 0)


def test_a_group_that_can_not_be_told_is_said_once_and_held_against_nobody(caplog: pytest.LogCaptureFixture) -> None:
    options = KafkaOptions("127.0.0.1:1", client_options={"socket.timeout.ms": "100"})
    with caplog.at_level(logging.WARNING, "trident.kafka"):
        reporter = PositionReporter("trident.t.s", options)
        for offset in range(3):
            reporter.report([OffsetRange(PartitionId("none", 0), "id", 0, offset)])
        reporter.close()
        reporter.close()
    assert len([record for record in caplog.records if "'trident.t.s' is not told" in record.message]) <= 1
