"""The examples of the language, run and compared with plain Python, in batches of any size."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from examples import devices, enrichment, overdrawn, reach, refunds, word_count
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.records import payments, produce
from integration_tests.sinks.reading import values
from trident import PostgresLedger, SqliteLedger, Topology

Row = tuple[object, ...]


def rows(spark: SparkSession, topology: Topology, folder: Path, query: str) -> list[Row]:
    file = folder / "ledger.sqlite"
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("batch", [1, 5])
def test_word_count(spark: SparkSession, tmp_path: Path, batch: int) -> None:
    found = rows(spark, word_count.word_count(batch=batch), tmp_path, "SELECT word, n FROM words")
    words = (word for sentence in word_count.SENTENCES for word in sentence.split())
    assert sorted(found) == sorted(Counter(words).items())


def test_refunds(spark: SparkSession, tmp_path: Path) -> None:
    found = rows(spark, refunds.refunds(), tmp_path, "SELECT customer, paid, payments FROM customers")
    assert {name: (Decimal(str(paid)), n) for name, paid, n in found} == {
        "ann": (Decimal("0.10"), 1),
        "bob": (Decimal("0.20"), 1),
    }


@pytest.mark.parametrize("batch", [1, 6])
def test_devices(spark: SparkSession, tmp_path: Path, batch: int) -> None:
    query = "SELECT coolest, least, warmest, most FROM extremes"
    assert rows(spark, devices.devices(batch=batch), tmp_path, query) == [("cellar", 9.5, "roof", 33.5)]
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        latest = dict(connection.execute("SELECT device, degrees FROM latest").fetchall())
    assert latest == {"door": 17.0, "roof": 33.5, "cellar": 9.5}


def test_enrichment(spark: SparkSession, tmp_path: Path) -> None:
    found = rows(spark, enrichment.enrichment(spark), tmp_path, "SELECT number, total FROM priced ORDER BY number")
    totals = [(number, None if total is None else Decimal(str(total))) for number, total in found]
    assert totals == [(1, Decimal("3.60")), (2, Decimal("4.99")), (3, None), (4, Decimal("1.20"))]


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_reach(spark: SparkSession, tmp_path: Path, batch: int) -> None:
    topology = reach.reach(spark, batch=batch)
    found = rows(spark, topology, tmp_path, "SELECT number, link, reach FROM reach ORDER BY number")
    expected = []
    for number, link in enumerate(reach.QUESTIONS, 1):
        people = [person for shared, person in reach.SHARED if shared == link]
        expected.append((number, link, len({each for person in people for each in reach.FOLLOWERS.get(person, [])})))
    assert found == expected
    assert [people for *_, people in expected] == [6, 2, 0, 0, 6]


def test_overdrawn(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> None:
    source, target = kafka.create_topic(1), kafka.create_topic(1)
    bookings = [(account, amount // 10 - 60) for account, amount in payments(600, accounts=7)]
    produce(kafka.bootstrap_servers, source, bookings, 1)
    topology = overdrawn.overdrawn(kafka.bootstrap_servers, source, target, max_records=50)
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up")
    balances: dict[str, int] = defaultdict(int)
    expected = []
    for start in range(0, 600, 50):
        before = dict(balances)
        for account, amount in bookings[start : start + 50]:
            balances[account] += amount
        fallen = [each for each in balances if balances[each] < overdrawn.LIMIT <= before.get(each, 0)]
        expected += [(each, balances[each]) for each in fallen]
    found = [json.loads(text) for text in values(kafka.bootstrap_servers, target)]
    assert sorted((each["account"], each["balance"]) for each in found) == sorted(expected)
    assert expected
    with psycopg.connect(postgres.dsn) as connection:
        kept = connection.execute("SELECT account, balance FROM balances").fetchall()
    assert {account: int(balance) for account, balance in kept} == dict(balances)
