"""`TopologyTest`: topologies that were built for servers, run on lists, with deaths and replays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from examples.alerts import alerts_topology
from examples.overdrawn import overdrawn
from trident import ConfigurationError, Count, Max, Mean, Sum, Topology, TridentError, batch_time
from trident.spouts import FixedBatchSpout, Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state import (
    BackingKey,
    BackingMapState,
    BackingValue,
    KafkaSink,
    OpaqueValue,
    PostgresState,
    PostgresTable,
    SqliteState,
    StateKind,
)
from trident.testing import CrashPoint, Death, TopologyTest, check_exactly_once
from trident.testing.playing import Rows

NOWHERE = "127.0.0.1:9"
DSN = "postgresql://nobody@127.0.0.1:9/none"
LARGE = 999_999


def payment(number: int, account: str, amount: int) -> dict[str, object]:
    return {"id": number, "account": account, "amount": amount}


def sums(kind: str = "opaque", state: PostgresState | None = None) -> Topology:
    """What each account has in all, in a table that is somewhere else unless another state is given."""
    made = Topology("sums")
    spout = FixedBatchSpout("account string, amount bigint", [], kind=kind)
    grouped = made.stream("payments", spout).group_by("account")
    grouped.persistent_aggregate(state or PostgresState("sums", dsn=DSN), n=Count(), total=Sum("amount"))
    return made


def test_a_topology_of_servers_runs_on_lists(spark: SparkSession) -> None:
    with TopologyTest(alerts_topology(NOWHERE, "payments", 1_000), spark) as test:
        done = test.batch({"payments": [payment(1, "bob", 5), payment(2, "ann", LARGE), payment(3, "bob", -1)]})
        assert (done.txid, done.tries) == (1, 1)
        done = test.batch(
            {"payments": [(4, "ann", 1)]}, dies_at=[CrashPoint.AFTER_PROCESSING, "after the pin is written"]
        )
        assert (done.txid, done.tries) == (2, 2)
        assert test.rows("balances") == [
            {"account": "ann", "n": 2, "total": LARGE + 1},
            {"account": "bob", "n": 1, "total": 5},
        ]
        assert test.rows("suspicious") == [payment(3, "bob", -1)]
        (alert,) = test.sent("alerts")
        assert (alert.topic, alert.key, json.loads(alert.value or b"")) == ("alerts", b"ann", payment(2, "ann", LARGE))
        assert dict(alert.headers)["trident-source"] == b"payments[0]@1"


DEATHS = [
    *(Death(CrashPoint.AFTER_STAGING, time=number) for number in (1, 2)),
    *(
        Death(point)
        for point in (
            CrashPoint.AFTER_LEASE,
            CrashPoint.BEFORE_PLAN,
            CrashPoint.AFTER_PLAN,
            CrashPoint.READING,
            CrashPoint.AFTER_PROCESSING,
            CrashPoint.AFTER_ACK,
            CrashPoint.BEFORE_TURN_WORK,
            CrashPoint.AFTER_TURN_WORK,
            CrashPoint.IN_TURN,
            CrashPoint.BEFORE_PIN,
            CrashPoint.IN_PIN_TRANSACTION,
            CrashPoint.AFTER_PIN,
            CrashPoint.AFTER_SESSION,
            CrashPoint.SENDING,
            CrashPoint.BEFORE_END_OF_TRANSACTION,
            CrashPoint.AFTER_END_OF_TRANSACTION,
            CrashPoint.AFTER_APPLY,
            CrashPoint.BEFORE_DONE,
            CrashPoint.AFTER_DONE,
        )
    ),
]


@pytest.mark.drawn(one_in=4)
@pytest.mark.parametrize("death", DEATHS, ids=str)
def test_an_alert_of_new_values_leaves_once_wherever_a_coordinator_dies(spark: SparkSession, death: Death) -> None:
    with TopologyTest(overdrawn(NOWHERE, "bookings", "alerts"), spark) as test:
        test.batch({"bookings": [("ann", -60), ("bob", 5)]})
        test.batch({"bookings": [("ann", -60), ("bob", 5)]}, dies_at=death)
        test.batch({"bookings": [("ann", -60)]}, dies_at=[CrashPoint.AFTER_PLAN, CrashPoint.IN_TURN])
        assert test.rows("balances") == [{"account": "ann", "balance": -180}, {"account": "bob", "balance": 10}]
        assert [json.loads(record.value or b"") for record in test.sent("alerts")] == [
            {"account": "ann", "balance": -120}
        ]


def test_every_border_of_a_batch_is_played(spark: SparkSession) -> None:
    deaths = check_exactly_once(sums(), spark, [{"payments": [("ann", 5)]}])
    assert set(deaths) >= {Death(CrashPoint.AFTER_PLAN), Death(CrashPoint.AFTER_PIN), Death(CrashPoint.BEFORE_DONE)}


def test_every_border_is_played_with_other_rows_too(spark: SparkSession) -> None:
    batches: list[Rows] = [{"payments": [("ann", 5)]}]
    others: list[Rows] = [{"payments": [("ann", 5), ("bob", 1)]}]
    assert len(check_exactly_once(sums(), spark, batches, retried_with=others)) > 8
    with pytest.raises(ConfigurationError, match="retried_with needs rows for each of the batches"):
        check_exactly_once(sums(), spark, batches, retried_with=[*others, {}])


def test_what_depends_on_more_than_its_records_is_found(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "calls"

    def numbered(row: dict[str, object]) -> tuple[int]:
        with file.open("a") as calls:
            calls.write(".")
        return (file.stat().st_size,)

    made = Topology("numbered")
    stream = made.stream("in", FixedBatchSpout("n int", [])).each_row(numbered, "call int")
    stream.persistent_aggregate(PostgresState("calls"), last=Max("call"), n=Count())
    with pytest.raises(AssertionError, match=r"'calls' does not hold the same after a death .* 1 rows are there"):
        check_exactly_once(made, spark, [{"in": [(1,)]}])


@pytest.mark.parametrize(
    ("dies_at", "holds"),
    [(CrashPoint.AFTER_PLAN, "other"), (CrashPoint.BEFORE_PIN, "other"), (CrashPoint.AFTER_PIN, "given")],
)
def test_a_batch_that_is_not_decided_may_be_retried_with_other_rows(
    spark: SparkSession, dies_at: CrashPoint, holds: str
) -> None:
    rows = {"given": [("ann", 1), ("bob", 2)], "other": [("bob", 2), ("cid", 30), ("cid", 4)]}
    with TopologyTest(sums(), spark) as test:
        done = test.batch({"payments": rows["given"]}, dies_at=dies_at, retried_with={"payments": rows["other"]})
        assert done.records == {"payments": tuple(rows[holds])}
        assert {(row["account"], row["total"]) for row in test.rows("sums")} == (
            {("ann", 1), ("bob", 2)} if holds == "given" else {("bob", 2), ("cid", 34)}
        )
        test.batch({"payments": [("cid", 1)]})
        assert sum(int(str(row["n"])) for row in test.rows("sums")) == len(rows[holds]) + 1


def test_a_batch_that_is_retried_with_nothing_takes_no_txid(spark: SparkSession) -> None:
    with TopologyTest(sums(), spark) as test:
        done = test.batch({"payments": [("ann", 1)]}, dies_at=CrashPoint.BEFORE_PIN, retried_with={"payments": []})
        assert (done.txid, done.tries, test.rows("sums")) == (None, 0, [])
        assert test.batch({}).txid is None
        assert test.batch({"payments": [("ann", 1)]}).txid == 1


def test_what_would_become_two_txids_is_refused_and_each_alone_is_one(spark: SparkSession) -> None:
    made = Topology("two")
    free, fixed = (
        made.stream(kind, FixedBatchSpout("k string", [], kind=kind)) for kind in ("opaque", "transactional")
    )
    free.merge(fixed).aggregate(n=Count()).to_table(PostgresTable("sizes"))
    both: Rows = {"opaque": [("a",), ("b",)], "transactional": [("z",)]}
    nothing: Rows = {"opaque": []}
    for first in both:
        with TopologyTest(made, spark) as test:
            test.batch({"opaque": [("a",)]}, dies_at=CrashPoint.AFTER_PROCESSING, retried_with=nothing)
            with pytest.raises(ConfigurationError, match=r"would become two txids.*nothing was run"):
                test.batch(both)
            with pytest.raises(ConfigurationError, match="would become two txids"):
                test.batch(
                    {"transactional": [("z",)]}, dies_at=CrashPoint.AFTER_PLAN, retried_with={"opaque": [("a",)]}
                )
            assert test.rows("sizes") == []
            test.batch({first: both[first]})
            test.batch(both)
            assert [row["n"] for row in test.rows("sizes") if row["n"]] == [len(both[first]), 3]
    with TopologyTest(made, spark) as test:
        test.batch({"opaque": [("a",)]}, dies_at=CrashPoint.BEFORE_PLAN, retried_with=nothing)
        test.batch(both)
        assert [row["n"] for row in test.rows("sizes")] == [3]


def test_a_death_that_the_batch_does_not_come_to_is_told(spark: SparkSession) -> None:
    with TopologyTest(sums(state=PostgresState("sums")), spark) as test:
        with pytest.raises(ConfigurationError, match="did not come to 'before the pin is written', and is done"):
            test.batch({"payments": [("ann", 1)]}, dies_at="before the pin is written")
        assert test.rows("sums") == [{"account": "ann", "n": 1, "total": 1}]


def test_tables_hold_what_was_there_and_are_written_in_their_way(spark: SparkSession) -> None:
    made = Topology("tables")
    stream = made.stream("in", FixedBatchSpout("k string, price decimal(10,2), at timestamp, gone boolean", []))
    stream.project("k", "price", "gone").to_table(PostgresTable("latest"), write="upsert", key="k", deleted="gone")
    stream.filter(F.col("gone")).to_table(PostgresTable("open", table="shop.open"), write="delete", key="k")
    versions = stream.project("k", "price", "at")
    versions.to_table(PostgresTable("prices"), write="versions", key="k", valid_from="at", valid_to="until")
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, tzinfo=UTC)
    there: Rows = {"latest": [("c", Decimal("3.00"))], "open": [("a",), ("b",)]}
    with TopologyTest(made, spark, tables=there) as test:
        assert test.rows("prices") == []
        test.batch({"in": [("a", Decimal("1.10"), first, False), ("b", Decimal("2.20"), first, False)]})
        test.batch(
            {"in": [("a", Decimal("1.30"), second, False), ("b", None, second, True)]}, dies_at=CrashPoint.IN_APPLY
        )
        assert test.rows("latest") == [{"k": "c", "price": Decimal("3.00")}, {"k": "a", "price": Decimal("1.30")}]
        assert test.rows("open") == [{"k": "a"}]
        assert test.rows("prices")[:2] == [
            {"k": "a", "price": Decimal("1.10"), "at": first, "until": second},
            {"k": "b", "price": Decimal("2.20"), "at": first, "until": second},
        ]


def test_a_batch_has_the_time_that_it_is_given_and_a_replay_the_same(spark: SparkSession) -> None:
    made = Topology("times")
    made.stream("in", FixedBatchSpout("n int", [])).each(at=batch_time()).to_table(PostgresTable("seen"))
    moment = datetime(2020, 2, 29, 12, tzinfo=UTC)
    with TopologyTest(made, spark) as test:
        test.batch({"in": [(1,)]}, at=moment, dies_at=CrashPoint.AFTER_PROCESSING)
        test.batch({"in": [(2,)]})
        with pytest.raises(ConfigurationError, match="at must be a moment with a time zone, not before"):
            test.batch({"in": [(3,)]}, at=moment)
        assert [row["at"] for row in test.rows("seen")] == [moment, moment + timedelta(seconds=1)]


def test_an_attempt_that_fails_is_raised_or_tried_again_as_was_said(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "failed"

    def fail_once(row: dict[str, object]) -> bool:
        if not file.exists():
            file.touch()
            raise OSError("once")
        return True

    made = Topology("failing")
    made.stream("in", FixedBatchSpout("n int", [])).filter_row(fail_once).persistent_aggregate(
        PostgresState("counts"), n=Count()
    )
    with TopologyTest(made, spark) as test:
        with pytest.raises(TridentError, match="OSError"):
            test.batch({"in": [(1,)]})
        with pytest.raises(ConfigurationError, match="runs no more batches: its topology stopped"):
            test.batch({"in": [(1,)]})
        assert test.rows("counts") == []
    file.unlink()
    with TopologyTest(made, spark, max_tries=2) as test:
        assert test.batch({"in": [(1,), (2,)]}).tries == 2
        assert test.rows("counts") == [{"n": 2}]


class Kept:
    """A user's own store."""

    def __init__(self) -> None:
        self.values: dict[BackingKey, BackingValue] = {}

    def multi_get(self, keys: Sequence[BackingKey]) -> list[BackingValue | None]:
        return [self.values.get(key) for key in keys]

    def multi_put(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> None:
        self.values.update(items)


def test_a_store_of_ones_own_is_kept_where_it_is_named(spark: SparkSession) -> None:
    store = Kept()
    made = Topology("own")
    stream = made.stream("in", FixedBatchSpout("k string, n bigint", [])).group_by("k")
    stream.persistent_aggregate(BackingMapState("mine", store), total=Sum("n"))
    stream.persistent_aggregate(PostgresState("means", kind=StateKind.TRANSACTIONAL), mean=Mean("n"))
    with TopologyTest(made, spark, keep=["mine"]) as test:
        test.batch({"in": [("a", 1), ("b", 2)]}, dies_at=["after a per-key store's chunks, before its position"])
        found = store.values[("a",)]
        assert isinstance(found, OpaqueValue)
        assert found.current == (1,)
        assert test.rows("means")[1] == {"k": "b", "mean_sum": 2, "mean_count": 1}
        with pytest.raises(ConfigurationError, match="name must be the name of a state or table \\('means'\\)"):
            test.rows("mine")


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("death", [None, CrashPoint.BEFORE_PIN, CrashPoint.AFTER_PIN, CrashPoint.BEFORE_POSITION])
def test_keys_expire_by_the_times_of_the_batches(spark: SparkSession, death: CrashPoint | None) -> None:
    store = Kept()
    made = Topology("visits")
    stream = made.stream("in", FixedBatchSpout("k string, n bigint", [], kind="opaque")).group_by("k")
    state = BackingMapState("sums", store, expire_after=timedelta(hours=1))
    stream.persistent_aggregate(state, total=Sum("n")).new_values(previous=True).to_table(PostgresTable("said"))
    dies_at = () if death is None else death
    with TopologyTest(made, spark) as test:
        test.batch({"in": [("a", 1), ("b", 2)]}, at=NOON, dies_at=dies_at)
        test.batch({"in": [("a", 1)]}, at=NOON + timedelta(minutes=59), dies_at=dies_at)
        assert test.rows("sums") == [{"k": "a", "total": 2}, {"k": "b", "total": 2}]
        test.batch({"in": [("c", 1), ("b", 5)]}, at=NOON + timedelta(minutes=60), dies_at=dies_at)
        assert test.rows("sums") == [{"k": "a", "total": 2}, {"k": "b", "total": 5}, {"k": "c", "total": 1}]
        test.batch({"in": [("c", 1)]}, at=NOON + timedelta(minutes=119), dies_at=dies_at)
        assert test.rows("sums") == [{"k": "b", "total": 5}, {"k": "c", "total": 2}], "a is over"
        said = [(row["k"], row["total"], row["previous_total"]) for row in test.rows("said")]
    assert sorted(said, key=repr) == sorted(
        [("a", 1, None), ("b", 2, None), ("a", 2, 1), ("c", 1, None), ("b", 5, None), ("c", 2, 1)], key=repr
    )
    assert not store.values, "what production keeps is left alone"


def test_what_lives_beside_a_ledger_can_not_be_kept(spark: SparkSession, tmp_path: Path) -> None:
    made = Topology("kept")
    stream = made.stream("in", FixedBatchSpout("k string", [])).group_by("k")
    stream.persistent_aggregate(SqliteState("beside"), n=Count())
    stream.persistent_aggregate(SqliteState("apart", path=tmp_path / "own.sqlite"), n=Count())
    with pytest.raises(ConfigurationError, match=r"keep: 'beside' lives in its ledger's database.*Leave it out"):
        TopologyTest(made, spark, keep=["beside"])
    with TopologyTest(made, spark, keep=["apart"]) as test:
        test.batch({"in": [("a",), ("a",)]})
        assert test.rows("beside") == [{"k": "a", "n": 2}]
    with closing(sqlite3.connect(tmp_path / "own.sqlite")) as connection:
        assert connection.execute("SELECT k, n FROM apart").fetchall() == [("a", 2)]


@pytest.mark.parametrize("lineage", [True, False])
def test_records_of_a_key_in_another_order_are_found(spark: SparkSession, tmp_path: Path, lineage: bool) -> None:
    """A function that gives the rows of a record in an order of its own: as from a set, or from threads."""
    file = tmp_path / "calls"

    def turned(row: dict[str, object]) -> list[tuple[str]]:
        with file.open("a") as calls:
            calls.write(".")
        rows = [("first",), ("second",)]
        return rows[:: -1 if file.stat().st_size % 2 else 1]

    def topology(function: Callable[[dict[str, object]], object]) -> Topology:
        made = Topology("turned")
        stream = made.stream("in", FixedBatchSpout("k string", [])).flat_map_row(function, "k string, word string")
        sink = KafkaSink("out", bootstrap_servers=NOWHERE, lineage=lineage)
        stream.to_kafka("out", key="k", value="word", sink=sink)
        return made

    def straight(row: dict[str, object]) -> list[tuple[object, str]]:
        return [(row["k"], "first"), (row["k"], "second")]

    def crooked(row: dict[str, object]) -> list[tuple[object, str]]:
        return [(row["k"], word) for (word,) in turned(row)]

    assert check_exactly_once(topology(straight), spark, [{"in": [("a",)]}])
    if lineage:
        with pytest.raises(AssertionError, match=r"'out' has the same records .* of 1 keys in another order"):
            check_exactly_once(topology(crooked), spark, [{"in": [("a",)]}])


def test_what_was_given_wrongly_is_refused_and_nothing_is_run(spark: SparkSession) -> None:
    made = Topology("kafka")
    plain = TransactionalKafkaSpout("a", bootstrap_servers=NOWHERE, value=Json("k string"))
    stream = made.stream("fixed", plain).merge(
        made.stream("free", OpaqueKafkaSpout("b", bootstrap_servers=NOWHERE, value=Json("k string")))
    )
    stream.persistent_aggregate(PostgresState("counts"), n=Count())
    with TopologyTest(made, spark) as test:
        for call, said in (
            (lambda: test.batch({"fixd": []}), "rows must be names out of 'fixed', 'free', not 'fixd'"),
            (lambda: test.batch({"free": [("x",)]}, retried_with={}), "retried_with needs dies_at"),
            (
                lambda: test.batch({}, dies_at=CrashPoint.AFTER_PIN, retried_with={"fixed": []}),
                "stream 'fixed' is transactional",
            ),
            (lambda: test.batch({}, dies_at="tomorrow"), "dies_at must be one of"),
            (
                lambda: test.batch({}, dies_at=5),  # type: ignore[arg-type]
                "dies_at must be a CrashPoint, .* the points are .*'after the pin is written', ",
            ),
            (lambda: test.sent("counts"), "name must be the name of a Kafka sink \\(there is none\\)"),
            (lambda: TopologyTest(made, spark, keep=["count"]), "keep must be names out of 'counts', not 'count'"),
            (
                lambda: TopologyTest(made, spark, tables={"counts": []}),
                "tables must be rows by the name of a sink's table",
            ),
        ):
            with pytest.raises(ConfigurationError, match=said):
                call()
        assert test.rows("counts") == []
    with pytest.raises(ConfigurationError, match="runs no more batches: it is closed"):
        test.batch({})
