"""One topology, five outputs: sums, rows beside the ledger, rows in another database, versions, and a Kafka topic."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from datetime import timedelta

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.records import Payment, payments, produce
from integration_tests.sinks.reading import committed
from trident import (
    Count,
    DecisionNeededError,
    FatalError,
    PostgresLedger,
    RunOptions,
    Staging,
    Sum,
    Topology,
    batch_time,
    divert,
    reset,
    undo,
)
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState, PostgresTable

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
JSON = Json("account string, amount bigint")
LIMIT = 100
"""Payments above it are suspicious."""


class Scene:
    """Payments in; sums, suspicious payments, the last and the largest ones, and alerts out."""

    def __init__(self, kafka: Kafka, postgres: Postgres) -> None:
        self.kafka = kafka
        self.dsn = postgres.dsn
        self.other = postgres.new_dsn()
        self.source = kafka.create_topic(4, name="payments")
        self.alerts = kafka.create_topic(3, name="alerts")

    @property
    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.dsn)

    def topology(self, limit: int = 400) -> Topology:
        topology = Topology(f"outputs of {self.source}")
        servers = self.kafka.bootstrap_servers
        spout = OpaqueKafkaSpout(self.source, bootstrap_servers=servers, value=JSON, max_records_per_batch=limit)
        stream = topology.stream("payments", spout)
        suspicious = stream.filter(F.abs(F.col("amount")) > LIMIT)
        stream.group_by("account").persistent_aggregate(PostgresState("totals"), n=Count(), total=Sum("amount"))
        suspicious.to_table(PostgresTable("suspicious"))
        stream.to_table(PostgresTable("latest", dsn=self.other), write="upsert", key="account")
        stream.each(since=batch_time()).to_table(
            PostgresTable("history", dsn=self.other),
            write="versions",
            key="account",
            valid_from="since",
            valid_to="until",
        )
        suspicious.to_kafka(
            self.alerts,
            key="account",
            value=F.to_json(F.struct("account", "amount")),
            sink=KafkaSink("alerts", bootstrap_servers=servers),
        )
        return topology

    def run(self, spark: SparkSession, staging: Staging = Staging.AUTO) -> int:
        run = self.topology().run(spark, ledger=self.ledger, until="caught_up", options=OPTIONS, staging=staging)
        return run.batches

    def produce(self, records: list[Payment]) -> None:
        produce(self.kafka.bootstrap_servers, self.source, records)

    def query(self, dsn: str, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(dsn) as connection:
            return connection.execute(statement).fetchall()


def check(scene: Scene, records: list[Payment]) -> None:
    """Hold every output against what was produced."""
    counts: Counter[str] = Counter()
    sums: defaultdict[str, int] = defaultdict(int)
    for account, amount in records:
        counts[account] += 1
        sums[account] += amount
    found = scene.query(scene.dsn, "SELECT account, n, total FROM totals ORDER BY account")
    assert found == [(account, counts[account], sums[account]) for account in sorted(counts)]
    suspicious = sorted(pair for pair in records if abs(pair[1]) > LIMIT)
    assert scene.query(scene.dsn, "SELECT account, amount FROM suspicious ORDER BY account, amount") == suspicious
    accounts = [account for (account,) in scene.query(scene.other, "SELECT account FROM latest ORDER BY account")]
    assert accounts == sorted(counts)
    assert len(committed(scene.kafka.bootstrap_servers, scene.alerts)) == len(suspicious)
    last = "SELECT account, amount FROM {} ORDER BY account"
    assert scene.query(scene.other, last.format("latest")) == scene.query(
        scene.other, last.format("history WHERE until IS NULL")
    )
    gaps = (
        "SELECT count(*) FROM (SELECT until, lead(since) OVER (PARTITION BY account ORDER BY since) AS next "
        "FROM history) AS h WHERE until IS DISTINCT FROM next"
    )
    assert scene.query(scene.other, gaps) == [(0,)]


@pytest.fixture
def scene(kafka: Kafka, postgres: Postgres) -> Scene:
    return Scene(kafka, postgres)


@pytest.mark.parametrize("staging", [Staging.AUTO, pytest.param(Staging.EXECUTORS, marks=pytest.mark.verify)])
def test_every_output_has_every_record_once(spark: SparkSession, scene: Scene, staging: Staging) -> None:
    first, second = payments(1_000), payments(600, first=1_000)
    scene.produce(first)
    assert scene.run(spark, staging) == 3
    check(scene, first)
    scene.produce(second)
    assert scene.run(spark, staging) == 2
    check(scene, [*first, *second])


class _DeathError(Exception):
    pass


@pytest.mark.verify(short=True, one_in=4)
@pytest.mark.parametrize(
    "point",
    [CrashPoint.BEFORE_PIN, CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY, CrashPoint.BEFORE_END_OF_TRANSACTION],
)
def test_a_run_that_dies_between_two_outputs_is_finished_by_the_next(
    spark: SparkSession, scene: Scene, point: CrashPoint
) -> None:
    records = payments(1_000)
    scene.produce(records)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        scene.run(spark)
    scene.run(spark)
    check(scene, records)


def test_what_one_table_refuses_is_diverted_from_it_alone(spark: SparkSession, scene: Scene) -> None:
    with psycopg.connect(scene.other) as connection:
        connection.execute("CREATE TABLE latest (account text PRIMARY KEY, amount bigint CHECK (amount < 5000))")
    records = payments(100)
    scene.produce([*records, ("rich", 9_999)])
    with pytest.raises(DecisionNeededError, match="'latest'"):
        scene.run(spark)
    with pytest.raises(FatalError, match=r"has written 11 rows .* can.t be taken back"):
        undo(scene.topology(), scene.ledger, txid=1, options=OPTIONS)
    divert(scene.topology(), scene.ledger, txid=1, state="latest", options=OPTIONS)
    scene.run(spark)
    assert scene.query(scene.other, "SELECT count(*) FROM latest") == [(0,)]
    found = scene.query(scene.dsn, "SELECT n, total FROM totals WHERE account = 'rich'")
    assert found == [(1, 9_999)]
    assert scene.query(scene.dsn, "SELECT amount FROM suspicious WHERE account = 'rich'") == [(9_999,)]


def test_a_reset_says_that_rows_stay_and_writes_behind_them(spark: SparkSession, scene: Scene) -> None:
    records = payments(300)
    scene.produce(records)
    scene.run(spark)
    reset(scene.topology(), scene.ledger, states="clear", start="earliest", options=OPTIONS)
    scene.run(spark)
    suspicious = sorted(pair for pair in records if abs(pair[1]) > LIMIT)
    found = scene.query(scene.dsn, "SELECT account, amount FROM suspicious ORDER BY account, amount")
    assert found == sorted([*suspicious, *suspicious])
    assert scene.query(scene.dsn, "SELECT sum(n) FROM totals") == [(300,)]


def test_a_reset_that_would_take_rows_of_a_sink_along_is_refused(spark: SparkSession, scene: Scene) -> None:
    scene.produce(payments(300))
    scene.run(spark)
    with psycopg.connect(scene.dsn) as connection:
        connection.execute("CREATE UNIQUE INDEX one ON totals (account)")
        connection.execute(
            "ALTER TABLE suspicious ADD FOREIGN KEY (account) REFERENCES totals (account) ON DELETE CASCADE"
        )
    found = scene.query(scene.dsn, "SELECT count(*) FROM suspicious")
    with pytest.raises(FatalError, match="sink 'suspicious'"):
        reset(scene.topology(), scene.ledger, states="clear", options=OPTIONS)
    assert scene.query(scene.dsn, "SELECT count(*) FROM suspicious") == found


def test_a_table_that_was_dropped_stops_the_start(spark: SparkSession, scene: Scene) -> None:
    scene.produce(payments(300))
    scene.run(spark)
    with psycopg.connect(scene.dsn) as connection:
        connection.execute("DROP TABLE suspicious")
    with pytest.raises(FatalError, match="table 'suspicious' of sink 'suspicious' is not the one"):
        scene.run(spark)
    reset(scene.topology(), scene.ledger, states="adopt", options=OPTIONS)
    scene.produce([("late", 777)])
    scene.run(spark)
    assert scene.query(scene.dsn, "SELECT account, amount FROM suspicious") == [("late", 777)]


def test_records_that_can_never_be_sent_are_taken_out_of_what_waits(
    kafka: Kafka, spark: SparkSession, postgres: Postgres
) -> None:
    """How large a record is once it is compressed only the broker knows, when its txid is done."""
    source = kafka.create_topic(1, name="payments")
    alerts = kafka.create_topic(1, {"max.message.bytes": "1000"}, name="alerts")
    servers = kafka.bootstrap_servers
    sink = KafkaSink("alerts", bootstrap_servers=servers, client_options={"compression.type": "gzip"})

    def topology() -> Topology:
        made = Topology(f"outbox of {source}")
        spout = OpaqueKafkaSpout(source, bootstrap_servers=servers, value=JSON, max_records_per_batch=10)
        stream = made.stream("payments", spout)
        stream.to_kafka(alerts, key="account", value=F.col("amount").cast("string"), sink=sink)
        stream.persistent_aggregate(PostgresState("totals"), n=Count())
        return made

    def run() -> None:
        topology().run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=OPTIONS)

    large = "".join(secrets.token_hex(1) for _ in range(4_000))
    records = [*(("a", n) for n in range(10)), (large, 10), *(("b", n) for n in range(11, 30))]
    produce(servers, source, records, partitions=1)
    for _ in range(2):
        with pytest.raises(FatalError, match="trident divert MODULE:TOPOLOGY 2 --state alerts"):
            run()
    ledger = PostgresLedger(postgres.dsn)
    with pytest.raises(FatalError, match="nothing of txid 1 waits"):
        divert(topology(), ledger, txid=1, state="alerts", options=OPTIONS)
    for _ in range(2):
        divert(topology(), ledger, txid=2, state="alerts", options=OPTIONS)
    run()
    found = sorted(int(message.value() or b"") for message in committed(servers, alerts))
    assert found == [*range(10), *range(20, 30)]
    diverted = ledger.view().txid(f"outbox of {source}", 2).diverted
    assert len(diverted) == 10
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT n FROM totals").fetchall() == [(30,)]
        assert connection.execute("SELECT count(*) FROM trident_outbox").fetchall() == [(0,)]
