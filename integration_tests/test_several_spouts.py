"""Several spouts of one topology share a txid sequence: merged, joined, one of them idle, one topic twice."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.records import Payment, payments, produce
from trident import Count, SqliteLedger, Sum, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state import SqliteState

PAYMENTS = "account string, amount bigint"
Sums = dict[str, tuple[int, int]]


def spouts_of(topology: Topology, kafka: Kafka, left: str, right: str, most: int) -> Topology:
    one = OpaqueKafkaSpout(
        left, bootstrap_servers=kafka.bootstrap_servers, value=Json(PAYMENTS), max_records_per_batch=most
    )
    other = TransactionalKafkaSpout(
        right, bootstrap_servers=kafka.bootstrap_servers, value=Json(PAYMENTS), max_records_per_batch=most
    )
    merged = topology.merge(topology.stream("left", one), topology.stream("right", other))
    merged.group_by("account").persistent_aggregate(SqliteState("sums"), n=Count(), total=Sum("amount"))
    return topology


def sums_of(records: Iterable[Payment]) -> Sums:
    found: Sums = defaultdict(lambda: (0, 0))
    for account, amount in records:
        n, total = found[account]
        found[account] = (n + 1, total + amount)
    return dict(found)


def stored(ledger: Path) -> Sums:
    with sqlite3.connect(ledger) as connection:
        rows = connection.execute("SELECT account, n, total FROM sums").fetchall()
    return {account: (n, int(total)) for account, n, total in rows}


def test_spouts_of_two_kinds_of_which_one_is_idle(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    left, right = (kafka.create_topic(4), kafka.create_topic(2))
    ledger = tmp_path / "ledger.sqlite"
    sent: list[Payment] = []
    for topic, partitions, first in ((left, 4, 0), (right, 2, 300), (left, 4, 500)):
        records = payments(200, first=first)
        produce(kafka.bootstrap_servers, topic, records, partitions)
        sent += records
        topology = spouts_of(Topology("two"), kafka, left, right, most=70)
        topology.run(spark, ledger=SqliteLedger(ledger), until="caught_up")
        assert stored(ledger) == sums_of(sent)


def test_one_topic_twice_counts_each_record_twice(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic, ledger = kafka.create_topic(3), tmp_path / "ledger.sqlite"
    records = payments(300)
    produce(kafka.bootstrap_servers, topic, records, 3)
    spouts_of(Topology("twice"), kafka, topic, topic, most=80).run(
        spark, ledger=SqliteLedger(ledger), until="caught_up"
    )
    assert stored(ledger) == sums_of([*records, *records])


class _DeathError(Exception):
    pass


@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_STAGING, CrashPoint.IN_PIN_TRANSACTION])
def test_a_run_that_dies_goes_on_where_both_stood(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, point: CrashPoint
) -> None:
    left, right = (kafka.create_topic(4), kafka.create_topic(2))
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    sent = [payments(300), payments(200, first=300)]
    for topic, partitions, records in zip((left, right), (4, 2), sent, strict=True):
        produce(kafka.bootstrap_servers, topic, records, partitions)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        spouts_of(Topology("two"), kafka, left, right, most=70).run(spark, ledger=ledger, until="caught_up")
    spouts_of(Topology("two"), kafka, left, right, most=70).run(spark, ledger=ledger, until="caught_up")
    assert stored(tmp_path / "ledger.sqlite") == sums_of([*sent[0], *sent[1]])
