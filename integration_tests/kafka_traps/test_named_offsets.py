"""A topology over a real topic begins at offsets that a person names, also beside a ledger that was lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from integration_tests.conftest import Kafka, Postgres
from integration_tests.spouts.logs import produce
from trident import PostgresLedger, RunOptions
from trident.base.errors import ConfigurationError
from trident.cli.app import app
from trident.cli.loading import load_topology
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.base import Source

OPTIONS = RunOptions(max_pending=1)
MODULE = """
from trident import Count, Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState


def payments():
    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        "TOPIC", bootstrap_servers="SERVERS", value=Json("account string"), max_records_per_batch=3
    )
    state = PostgresState("balances", dsn="STATE")
    topology.stream("payments", spout).group_by("account").persistent_aggregate(state, n=Count())
    return topology
"""


def sent(kafka: Kafka, topic: str, names: str, partition: int) -> None:
    produce(kafka.bootstrap_servers, topic, [json.dumps({"account": name}).encode() for name in names], partition)


def counts(dsn: str) -> dict[str, int]:
    with psycopg.connect(dsn) as connection:
        return dict(connection.execute("SELECT account, n FROM balances").fetchall())


def newest(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT max(txid) FROM balances").fetchone()
    assert row is not None
    return int(row[0])


class Job:
    """A module on disk, its topic, its state and the ledger of the day."""

    def __init__(self, kafka: Kafka, postgres: Postgres, spark: SparkSession, folder: Path) -> None:
        self.topic, self.state, self.spark = kafka.create_topic(partitions=2), postgres.new_dsn(), spark
        self.postgres, self.ledger = postgres, postgres.new_dsn()
        text = MODULE.replace("TOPIC", self.topic).replace("SERVERS", kafka.bootstrap_servers)
        (folder / "job.py").write_text(text.replace("STATE", self.state))
        self.named = f"{folder / 'job.py'}:payments"

    def go_on(self) -> dict[str, int]:
        topology = load_topology(self.named)
        topology.run(self.spark, ledger=PostgresLedger(self.ledger), until="caught_up", options=OPTIONS)
        return counts(self.state)

    def reset(self, *words: str, answer: str = "y\n") -> tuple[int, str]:
        command = ["reset", self.named, *words, "--ledger", self.ledger]
        done = CliRunner().invoke(app, command, input=answer)
        return done.exit_code, " ".join(f"{done.stdout} {done.exception}".split())


@pytest.fixture
def job(kafka: Kafka, postgres: Postgres, spark: SparkSession, tmp_path: Path) -> Job:
    made = Job(kafka, postgres, spark, tmp_path)
    sent(kafka, made.topic, "aabbc", 0)
    sent(kafka, made.topic, "xyz", 1)
    return made


def test_a_reset_says_how_many_are_counted_twice_and_that_is_what_is(job: Job, kafka: Kafka) -> None:
    assert job.go_on() == Counter("aabbcxyz")
    sent(kafka, job.topic, "qr", 1)
    named = f"{job.topic}:0=3,{job.topic}:1=4"
    code, said = job.reset("--states", "adopt", "--start", named, answer="n\n")
    assert code == 4
    assert "at most 2 records are counted twice and at most 1 skipped" in said
    assert f"{job.topic}[0] stood at 5 and begins at 3 (2 twice)" in said
    assert f"{job.topic}[1] stood at 3 and begins at 4 (1 skipped)" in said
    code, said = job.reset("--states", "adopt", "--start", f"{job.topic}:0=3,{job.topic}:1=9", "--yes")
    assert code != 0
    assert f"{job.topic}[1]: offset 9 is above the log's end" in said
    code, _ = job.reset("--states", "adopt", "--start", named)
    assert code == 0
    assert job.go_on() == Counter("aabbcxyz") + Counter("bc") + Counter("r")


def test_beside_a_lost_ledger_rows_go_on_where_a_person_says(job: Job, kafka: Kafka) -> None:
    job.go_on()
    before = newest(job.state)
    job.ledger = job.postgres.new_dsn()
    sent(kafka, job.topic, "qr", 1)
    code, said = job.reset("--ledger-lost", "--states", "adopt", "--yes")
    assert code != 0
    assert "trident reset MODULE:TOPOLOGY --ledger-lost --states adopt --start MOMENT" in said
    named = f"{job.topic}:0=5,{job.topic}:1=3"
    code, said = job.reset("--ledger-lost", "--states", "adopt", "--start", named)
    assert code == 0
    assert "Nobody knows up to where the rows had been read" in said
    assert job.go_on() == Counter("aabbcxyzqr")
    assert newest(job.state) > before
    code, _ = job.reset("--states", "clear", "--start", "earliest")
    assert code == 0
    assert job.go_on() == Counter("aabbcxyzqr")


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({0: 6, 1: 0}, r"\[0\]: offset 6 is above the log's end \(its log holds 0 to 5\)"),
        ({0: 5}, r"\[1\] has no offset"),
        ({0: 5, 1: 3, 2: 0}, r"\[2\] is not there"),
    ],
)
def test_a_spout_refuses_offsets_that_are_not_there(offsets: dict[int, int], said: str, job: Job, kafka: Kafka) -> None:
    source = opened(job, kafka, offsets)
    with pytest.raises(ConfigurationError, match=said):
        source.starts()
    source.close()


def test_a_spout_begins_at_offsets(job: Job, kafka: Kafka) -> None:
    source = opened(job, kafka, {0: 5, 1: 2})
    assert [(item.earliest, item.stop) for item in source.starts()] == [(5, 5), (2, 3)]
    source.close()


def opened(job: Job, kafka: Kafka, offsets: dict[int, int]) -> Source:
    spout = OpaqueKafkaSpout(job.topic, bootstrap_servers=kafka.bootstrap_servers, start={job.topic: offsets})
    return spout.open("s")
