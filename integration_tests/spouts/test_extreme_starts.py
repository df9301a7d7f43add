"""Where a start begins at the ends of time, of zones and of a millisecond: by a spout, and by the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.spouts.logs import FOREVER, produce
from trident import RunOptions, SqliteLedger
from trident.cli.app import run
from trident.cli.loading import load_topology
from trident.coordinators.holding.starts import start_policy
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.base import Source

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EAST, WEST = (timezone(timedelta(hours=hours)) for hours in (14, -12))
NOON = datetime(2026, 10, 9, 8, 53, 20, tzinfo=UTC)
MILLISECONDS = int(NOON.timestamp()) * 1000
STAMPS = (MILLISECONDS + 1, MILLISECONDS, 4, MILLISECONDS + 1)
"""What is counted from its start on is all behind the first record of that time."""
STARTS = {
    **{EPOCH + timedelta(milliseconds=number): 0 for number in range(-5, 6)},
    datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=1))): 0,
    **{datetime.min.replace(tzinfo=zone): 0 for zone in (UTC, EAST, WEST)},
    **{datetime.max.replace(tzinfo=zone): 4 for zone in (UTC, EAST, WEST)},
    NOON + timedelta(microseconds=1000): 0,
    NOON + timedelta(microseconds=1001): 4,
}
MODULE = """
from trident import Count, Topology
from trident.spouts import OpaqueKafkaSpout
from trident.state import SqliteState


def records():
    topology = Topology("records")
    spout = OpaqueKafkaSpout("{topic}", bootstrap_servers="{servers}")
    grouped = topology.stream("raw", spout).group_by("topic")
    grouped.persistent_aggregate(SqliteState("counts", path="{folder}/counts.sqlite"), n=Count())
    return topology
"""
OPTIONS = RunOptions(retry_pause=timedelta(milliseconds=10), max_pending=1, max_tries=2)


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    name = kafka.create_topic(configs=FOREVER)
    for stamp in STAMPS:
        produce(kafka.bootstrap_servers, name, [b"x"], timestamp=stamp)
    return name


@pytest.fixture(scope="module")
def source(kafka: Kafka, topic: str) -> Iterator[Source]:
    opened = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers).open("raw")
    yield opened
    opened.close()


def begins(source: Source, text: str) -> int:
    (start,) = source.starts(start_policy(text))
    assert start.stop == len(STAMPS)
    return start.earliest


@pytest.mark.parametrize(("moment", "offset"), STARTS.items(), ids=map(str, STARTS))
def test_a_spout_begins_at_the_first_record_that_is_not_before(source: Source, moment: datetime, offset: int) -> None:
    (start,) = source.starts(moment)
    assert (start.earliest, start.stop) == (offset, len(STAMPS))


def test_a_part_of_a_millisecond_does_not_begin_before_itself(kafka: Kafka) -> None:
    topic = kafka.create_topic(configs=FOREVER)
    for later in (0, 1, 2):
        produce(kafka.bootstrap_servers, topic, [b"x"], timestamp=MILLISECONDS + later)
    source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers).open("raw")
    try:
        found = [source.starts(NOON + timedelta(microseconds=each))[0].earliest for each in (0, 1, 500, 1000, 1500)]
    finally:
        source.close()
    assert found == [0, 1, 1, 1, 2]


def test_a_reset_begins_where_a_spout_would(
    spark: SparkSession,
    kafka: Kafka,
    topic: str,
    source: Source,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers = kafka.bootstrap_servers
    (tmp_path / "job.py").write_text(MODULE.format(topic=topic, servers=servers, folder=tmp_path))
    named, ledger = f"{tmp_path / 'job.py'}:records", tmp_path / "ledger.sqlite"
    monkeypatch.setenv("TRIDENT_LEDGER", str(ledger))

    def count() -> int:
        load_topology(named).run(spark, ledger=SqliteLedger(ledger), until="caught_up", options=OPTIONS)
        with sqlite3.connect(tmp_path / "counts.sqlite") as connection:
            return int(connection.execute("SELECT n FROM counts").fetchone()[0])

    assert count() == len(STAMPS)
    latest, highest = (EPOCH - timedelta(milliseconds=number) for number in (1, 3))
    ends = (datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST))
    for moment in (*ends, NOON + timedelta(microseconds=1001), highest, latest):
        capsys.readouterr()
        assert run(["reset", named, "--states", "clear", "--start", moment.isoformat(), "--yes", "--json"]) == 0
        assert begins(source, json.loads(capsys.readouterr().out)["start"]) == STARTS[moment]
    assert count() == len(STAMPS)  # not as one that begins with the latest, which -1 is to a broker
