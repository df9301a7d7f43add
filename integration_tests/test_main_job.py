"""The main job on real servers: payments from Kafka through Spark into Postgres, exactly once."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from pyspark.sql import functions as F

from integration_tests.records import balances, expected, payments, produce
from trident import (
    Combiner,
    Count,
    FatalError,
    FencedError,
    Max,
    MemoryLedger,
    Min,
    PostgresLedger,
    RunOptions,
    SqliteLedger,
    Staging,
    Sum,
    Topology,
)
from trident.spouts import BadRecord, FixedBatchSpout, Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state import MemoryState, PostgresState, SqliteState, StateKind

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))


def build(kafka, topic, *states, spout=OpaqueKafkaSpout, limit=700, **spout_options):
    topology = Topology("payments")
    source = spout(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=limit,
        **spout_options,
    )
    stream = topology.stream("payments", source).filter(F.col("amount") > 0)
    for state in states:
        stream.group_by("account").persistent_aggregate(state, n=Count(), total=Sum("amount"))
    return topology


def run(topology, spark, ledger, staging=Staging.AUTO, options=OPTIONS):
    return topology.run(spark, ledger=ledger, until="caught_up", options=options, staging=staging)


@pytest.fixture
def topic(kafka):
    return kafka.create_topic(4, name="payments")


@pytest.mark.parametrize("staging", [Staging.DRIVER, Staging.EXECUTORS])
@pytest.mark.parametrize("spout", [OpaqueKafkaSpout, TransactionalKafkaSpout])
@pytest.mark.drawn(one_in=2)
def test_beside_the_ledger(spark, kafka, postgres, topic, spout, staging):
    records = payments(2000)
    produce(kafka.bootstrap_servers, topic, records)
    topology = build(kafka, topic, PostgresState("balances"), spout=spout)
    summary = run(topology, spark, PostgresLedger(postgres.dsn), staging)
    assert summary.batches == 3
    assert balances(postgres.dsn) == expected(records)


@pytest.mark.parametrize("staging", [Staging.DRIVER, Staging.EXECUTORS])
@pytest.mark.drawn(one_in=2)
def test_in_a_database_apart_from_the_ledger(spark, kafka, postgres, topic, staging):
    records = payments(2000)
    produce(kafka.bootstrap_servers, topic, records)
    apart = postgres.new_dsn()
    topology = build(kafka, topic, PostgresState("balances", dsn=apart), PostgresState("mirror"))
    run(topology, spark, PostgresLedger(postgres.dsn), staging)
    assert balances(apart) == balances(postgres.dsn, "mirror") == expected(records)
    with psycopg.connect(apart) as connection:
        assert connection.execute("SELECT txid FROM trident_applied").fetchall() == [(3,)]


def test_runs_follow_on_each_other(spark, kafka, postgres, topic):
    first, second = payments(1000), payments(1000, first=1000)
    produce(kafka.bootstrap_servers, topic, first)
    topology = build(kafka, topic, PostgresState("balances", kind=StateKind.TRANSACTIONAL))
    run(topology, spark, PostgresLedger(postgres.dsn))
    produce(kafka.bootstrap_servers, topic, second)
    again = build(kafka, topic, PostgresState("balances", kind=StateKind.TRANSACTIONAL))
    summary = run(again, spark, PostgresLedger(postgres.dsn))
    assert summary.first_done == 2
    assert balances(postgres.dsn) == expected([*first, *second])


def test_sqlite_is_the_embedded_ledger(spark, kafka, topic, tmp_path):
    records = payments(1500)
    produce(kafka.bootstrap_servers, topic, records)
    topology = build(kafka, topic, SqliteState("balances"))
    file = tmp_path / "ledger.sqlite"
    run(topology, spark, SqliteLedger(file))
    import sqlite3

    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert {account: (n, total) for account, n, total in rows} == expected(records)


def test_stop_drains_and_logs_a_line_per_batch(spark, kafka, postgres, topic, caplog):
    records = payments(3000)
    produce(kafka.bootstrap_servers, topic, records)
    topology = build(kafka, topic, PostgresState("balances"), limit=100)
    caplog.set_level(logging.INFO, "trident.batch")
    ledger = PostgresLedger(postgres.dsn)
    thread = threading.Thread(target=lambda: topology.run(spark, ledger=ledger, options=OPTIONS))
    thread.start()

    def lines():
        """Return what is said of batches; Kafka's client speaks too, where the machine is slow."""
        return [record for record in caplog.records if record.name == "trident.batch"]

    while not lines():
        thread.join(0.05)
        assert thread.is_alive()
    topology.stop()
    thread.join(60)
    assert not thread.is_alive()
    done = lines()[-1].batch["txid"]
    assert len(lines()) == done
    assert 0 < sum(n for n, _ in balances(postgres.dsn).values()) <= done * 100
    run(build(kafka, topic, PostgresState("balances"), limit=1000), spark, PostgresLedger(postgres.dsn))
    assert balances(postgres.dsn) == expected(records)


def test_a_user_function_that_fails_is_tried_again(spark, kafka, postgres, topic, tmp_path):
    records = payments(1500)
    produce(kafka.bootstrap_servers, topic, records)
    marker = tmp_path / "failed once"

    def fragile(batch):
        if not marker.exists():
            marker.touch()
            raise ConnectionError("a service was away")
        return batch

    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        topic, bootstrap_servers=kafka.bootstrap_servers, value=Json("account string, amount bigint")
    )
    stream = topology.stream("payments", spout).map(fragile, "account string, amount bigint")
    counted = stream.filter(F.col("amount") > 0).group_by("account")
    counted.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    run(topology, spark, PostgresLedger(postgres.dsn))
    assert balances(postgres.dsn) == expected(records)
    with psycopg.connect(postgres.dsn) as connection:
        found = connection.execute("SELECT count(*), max(tries), max(attempt) FROM trident_commit").fetchone()
    assert found is not None
    txids, tries, attempt = found
    assert (txids, tries) == (1, 2)
    assert attempt in (2, 3), "a plan that was asked for when it failed is dropped with it, and its number is gone"


def test_a_bad_record_stops_with_its_place_or_is_kept(spark, kafka, postgres, topic):
    records = payments(300)
    produce(kafka.bootstrap_servers, topic, records)
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b'{"account": "secret-payload", "amou', partition=2)
    assert producer.flush(30) == 0
    with pytest.raises(FatalError, match=f"offset 75 of partition 2 of topic '{topic}'") as error:
        run(build(kafka, topic, PostgresState("balances")), spark, PostgresLedger(postgres.dsn))
    assert "secret-payload" not in str(error.value)
    assert balances(postgres.dsn) == {}
    kept = build(kafka, topic, PostgresState("balances"), on_bad_record=BadRecord.DEAD_LETTER)
    run(kept, spark, PostgresLedger(postgres.dsn))
    assert balances(postgres.dsn) == expected(records)
    with psycopg.connect(postgres.dsn) as connection:
        query = "SELECT partition, record_offset, record_value FROM trident_dead_letter"
        letters = connection.execute(query).fetchall()
    assert letters == [(2, 75, b'{"account": "secret-payload", "amou')]


def test_records_that_only_spark_can_decode_are_counted_too(spark, kafka, postgres, topic):
    """Single quotes are for Spark's own parser; the batches with them, and those after them, take the careful way."""
    records = payments(600)
    produce(kafka.bootstrap_servers, topic, records)
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b"{'account': 'quoted', 'amount': 7}", partition=1)
    assert producer.flush(30) == 0
    more = payments(600, first=600)
    produce(kafka.bootstrap_servers, topic, more)
    run(build(kafka, topic, PostgresState("balances"), limit=500), spark, PostgresLedger(postgres.dsn))
    assert balances(postgres.dsn) == expected([*records, ("quoted", 7), *more])


def test_an_overflow_is_refused_and_nothing_is_lost(spark, kafka, postgres, topic):
    produce(kafka.bootstrap_servers, topic, [("rich", 2**62), ("rich", 2**62 - 1), ("poor", 5)])
    topology = build(kafka, topic, PostgresState("balances"))
    run(topology, spark, PostgresLedger(postgres.dsn))
    before = balances(postgres.dsn)
    produce(kafka.bootstrap_servers, topic, [("rich", 5), ("poor", 5)])
    with pytest.raises(FatalError, match="Nothing of this txid was applied"):
        run(build(kafka, topic, PostgresState("balances")), spark, PostgresLedger(postgres.dsn))
    assert balances(postgres.dsn) == before


def test_a_zombie_is_fenced(spark, kafka, postgres, topic):
    """An owner that is held up while another takes over ends with a fencing error and has written nothing."""
    records = payments(1500)
    produce(kafka.bootstrap_servers, topic, records)
    held, go_on = threading.Event(), threading.Event()
    errors = []
    old_ledger = PostgresLedger(postgres.dsn)
    commit = old_ledger.commit_together

    def held_up(owner, epoch, *rest):
        held.set()
        go_on.wait(60)
        commit(owner, epoch, *rest)

    old_ledger.commit_together = held_up
    old_ledger.renew = lambda *_: False

    def run_old():
        try:
            run(build(kafka, topic, PostgresState("balances")), spark, old_ledger)
        except FencedError as error:
            errors.append(error)

    old = threading.Thread(target=run_old)
    old.start()
    assert held.wait(60)
    new = build(kafka, topic, PostgresState("balances"))
    run(new, spark, PostgresLedger(postgres.dsn), options=replace(OPTIONS, lease=timedelta(seconds=2)))
    assert balances(postgres.dsn) == expected(records)
    go_on.set()
    old.join(60)
    assert len(errors) == 1
    assert balances(postgres.dsn) == expected(records)


def test_every_aggregator_over_rows_in_memory(spark):
    class Longest(Combiner[str]):
        """The longest word, the later in the alphabet among equals: a combiner in Python."""

        result_type = "string"

        def init(self, *values):
            return values[0]

        def combine(self, left, right):
            return max(left, right, key=lambda word: (len(word), word))

    rows = [(f"k{n % 3}", n, "x" * (n % 7)) for n in range(50)] + [(None, 7, "null key")]
    topology = Topology("words")
    ledger = MemoryLedger()
    state = MemoryState("facts")
    stream = topology.stream("rows", FixedBatchSpout("k string, v bigint, word string", rows, max_records_per_batch=8))
    stream.group_by("k").persistent_aggregate(
        state, n=Count(), total=Sum("v"), least=Min("v"), most=Max("v"), longest=Longest("word")
    )
    run(topology, spark, ledger)
    found = {row["k"]: tuple(row.values())[1:] for row in state.rows(ledger.database)}
    for key in ("k0", "k1", "k2", None):
        mine = [row for row in rows if row[0] == key]
        values = [row[1] for row in mine]
        words = max((row[2] for row in mine), key=lambda word: (len(word), word))
        assert found[key] == (len(mine), sum(values), min(values), max(values), words)
