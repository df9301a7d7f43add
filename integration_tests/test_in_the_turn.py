"""Work in the commit turn on real servers: rows that tasks staged, refusals, every type, alerts to Kafka."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.records import Payment, payments, produce
from integration_tests.sinks.reading import values
from trident import (
    DecisionNeededError,
    MapGet,
    Max,
    MaxBy,
    PostgresLedger,
    RunOptions,
    Staging,
    Sum,
    Topology,
    divert,
)
from trident.spouts import FixedBatchSpout, Json, OpaqueKafkaSpout
from trident.state import PostgresState, PostgresTable

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
LIMIT = 3_000
TOP = 2**63 - 1


def alerts(kafka: Kafka, source: str, target: str, dsn: str | None) -> Topology:
    """Accounts whose total has just come above the limit."""
    topology = Topology(f"alerts of {source}")
    servers = kafka.bootstrap_servers
    spout = OpaqueKafkaSpout(
        source, bootstrap_servers=servers, value=Json("account string, amount bigint"), max_records_per_batch=300
    )
    stream = topology.stream("payments", spout).filter(F.col("amount") > 0)
    totals = stream.group_by("account").persistent_aggregate(PostgresState("totals", dsn=dsn), total=Sum("amount"))
    crossed = totals.new_values(previous=True).filter(
        (F.col("total") > LIMIT) & (F.coalesce(F.col("previous_total"), F.lit(0)) <= LIMIT)
    )
    crossed.to_kafka(target, key="account", value=F.to_json(F.struct("account", "total")))
    stream.state_query(totals, MapGet()).filter(F.col("total") > LIMIT).to_table(PostgresTable("late"))
    return topology


def expected_of(batches: list[list[Payment]]) -> tuple[list[tuple[str, int]], list[tuple[str, int, int]]]:
    totals: dict[str, int] = defaultdict(int)
    crossed: list[tuple[str, int]] = []
    late: list[tuple[str, int, int]] = []
    for batch in batches:
        before = dict(totals)
        good = [(account, amount) for account, amount in batch if amount > 0]
        for account, amount in good:
            totals[account] += amount
        late += [(account, amount, before[account]) for account, amount in good if before.get(account, 0) > LIMIT]
        changed = {account for account, _ in good}
        crossed += [(each, totals[each]) for each in changed if totals[each] > LIMIT and before.get(each, 0) <= LIMIT]
    return crossed, late


@pytest.mark.parametrize("staging", [Staging.AUTO, Staging.EXECUTORS])
@pytest.mark.parametrize("is_apart", [False, True])
def test_alerts_of_new_values_leave_once_each(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, staging: Staging, is_apart: bool
) -> None:
    source, target = kafka.create_topic(1), kafka.create_topic(2)
    records = payments(1_500, accounts=20)
    produce(kafka.bootstrap_servers, source, records, 1)
    topology = alerts(kafka, source, target, postgres.new_dsn() if is_apart else None)
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=OPTIONS, staging=staging)
    crossed, late = expected_of([records[start : start + 300] for start in range(0, 1_500, 300)])
    found = [json.loads(text) for text in values(kafka.bootstrap_servers, target)]
    assert sorted((each["account"], each["total"]) for each in found) == sorted(crossed)
    with psycopg.connect(postgres.dsn) as connection:
        rows = connection.execute("SELECT account, amount, total FROM late").fetchall()
    assert sorted(rows) == sorted(late)


ROWS = [("a", TOP), ("b", 1), ("a", 1), ("b", 2)]


def test_new_values_that_the_state_would_refuse_are_its_refusal_and_can_be_diverted(
    spark: SparkSession, postgres: Postgres
) -> None:
    ledger = PostgresLedger(postgres.dsn)

    def topology() -> Topology:
        made = Topology("sums")
        spout = FixedBatchSpout("k string, v bigint", ROWS, max_records_per_batch=2, kind="opaque")
        sums = made.stream("rows", spout).group_by("k").persistent_aggregate(PostgresState("sums"), total=Sum("v"))
        sums.new_values().to_table(PostgresTable("changes"))
        return made

    with pytest.raises(DecisionNeededError, match="'sums'"):
        topology().run(spark, ledger=ledger, until="caught_up", options=OPTIONS)
    divert(topology(), ledger, txid=2, state="sums", options=OPTIONS)
    topology().run(spark, ledger=ledger, until="caught_up", options=OPTIONS)
    with psycopg.connect(postgres.dsn) as connection:
        assert sorted(connection.execute("SELECT k, total FROM sums").fetchall()) == [("a", TOP), ("b", 1)]
        assert sorted(connection.execute("SELECT k, total FROM changes").fetchall()) == [("a", TOP), ("b", 1)]
        assert connection.execute("SELECT count(*) FROM trident_diverted").fetchone() != (0,)


MOMENT = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
FIELDS = (
    "k string, i int, l bigint, d decimal(20,4), f float, g double, s string, b binary, y date, t timestamp, o boolean"
)
FIRST = ("a", 1, 2**62, Decimal("1.2345"), 1.5, float("nan"), "é", b"\x00\xff", date(2026, 1, 1), MOMENT, True)
SECOND = ("a", 2, 1, Decimal("-9.9999"), 0.25, 1.0, "z", b"", date(2027, 1, 1), MOMENT + timedelta(hours=1), False)


def test_every_type_goes_through_new_values_and_queries_as_it_is(spark: SparkSession, postgres: Postgres) -> None:
    topology = Topology("types")
    names = [part.split()[0] for part in FIELDS.split(", ")][1:]
    stream = topology.stream("s", FixedBatchSpout(FIELDS, [FIRST, SECOND], max_records_per_batch=1))
    kept = stream.group_by("k").persistent_aggregate(
        PostgresState("kept"), **{name: Max(name) if name != "b" else MaxBy("l", by="i") for name in names}
    )
    kept.new_values(previous=True).to_table(PostgresTable("changes"))
    stream.project("k").state_query(kept, MapGet()).to_table(PostgresTable("asked"))
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=OPTIONS)
    listed = ", ".join(names)
    with psycopg.connect(postgres.dsn) as connection:
        final = connection.execute(f"SELECT {listed} FROM kept").fetchall()
        changes = connection.execute(f"SELECT {listed} FROM changes ORDER BY previous_i NULLS FIRST").fetchall()
        before = connection.execute(
            f"SELECT {', '.join('previous_' + name for name in names)} FROM changes WHERE previous_i IS NOT NULL"
        ).fetchall()
        asked = connection.execute(f"SELECT {listed} FROM asked ORDER BY i NULLS FIRST").fetchall()
    assert repr(changes[1]) == repr(final[0])
    assert repr(before[0]) == repr(changes[0])
    assert asked[0] == (None,) * len(names)
    assert repr(asked[1]) == repr(changes[0])
    assert final[0][names.index("t")] == MOMENT + timedelta(hours=1)
    assert final[0][names.index("d")] == Decimal("1.2345")


def test_a_batch_of_which_nothing_reaches_the_state_has_no_new_values(spark: SparkSession, postgres: Postgres) -> None:
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout("k string, n bigint", [("a", -1), ("a", 2)], max_records_per_batch=1))
    sums = stream.filter(F.col("n") > 0).group_by("k").persistent_aggregate(PostgresState("sums"), total=Sum("n"))
    sums.new_values().to_table(PostgresTable("changes"))
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=OPTIONS)
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT k, total FROM changes").fetchall() == [("a", 2)]
        assert connection.execute("SELECT count(*) FROM trident_commit").fetchone() == (2,)
