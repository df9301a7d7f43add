"""What only PostgreSQL does: its tables, its staging by tasks, its locks and its errors."""

from __future__ import annotations

import pickle
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from integration_tests.fix_postgres import Postgres
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import (
    ConfigurationError,
    FatalError,
    FencedError,
    MismatchError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
)
from trident.base.writes import WriteManifest
from trident.state import PostgresState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.positions import Position
from trident.state.postgres.database import PostgresDatabase
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, NEWER, OWNER, batch_of, counts, held, writing


@pytest.fixture
def database(postgres: Postgres) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres.dsn)
    yield database
    database.close()


def open_beside(database: PostgresDatabase, layout: StateLayout = COUNTS, kind: StateKind = StateKind.OPAQUE) -> Any:
    store = PostgresState("balances", kind=kind).open(layout, database)
    store.prepare()
    store.register(OWNER, EPOCH, 0)
    return store


def commit(database: PostgresDatabase, store: Any, batch: Any, updates: Any) -> None:
    updates = store.ready(batch, updates)
    with database.transaction() as transaction:
        store.copy_in(transaction, batch, updates)
        store.apply_in(transaction, batch, updates)


def query(database: PostgresDatabase, statement: str) -> list[tuple[Any, ...]]:
    with database.transaction() as transaction:
        return [tuple(row) for row in transaction.connection.exec_driver_sql(statement)]


def execute(database: PostgresDatabase, statement: str) -> None:
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql(statement)


def test_the_table_is_plain_to_query(database):
    store = open_beside(database)
    for txid, row in enumerate([("ann", 1, 10), ("ann", 2, 5)], 1):
        commit(database, store, batch_of(txid), counts(row))
    assert query(database, "SELECT account, n, total FROM balances") == [("ann", 3, 15)]
    beside = "SELECT previous_n, previous_total, previous_txid, txid FROM balances"
    assert query(database, beside) == [(1, 10, 1, 2)]


def test_every_type_survives_the_way_in_and_out(database):
    types: dict[str, pa.DataType] = {
        "flag": pa.bool_(), "tiny": pa.int8(), "small": pa.int16(), "medium": pa.int32(), "large": pa.int64(),
        "single": pa.float32(), "double": pa.float64(), "money": pa.decimal128(38, 6), "name": pa.string(),
        "raw": pa.binary(), "day": pa.date32(), "moment": pa.timestamp("us"), "instant": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    layout = StateLayout(
        (KeyColumn("k", pa.int32()),), tuple(ValueColumn(name, type_, Merge.GREATEST) for name, type_ in types.items())
    )
    samples: dict[str, Any] = {
        "flag": True, "tiny": -128, "small": -(2**15), "medium": 2**31 - 1, "large": -(2**63), "single": 0.5,
        "double": 1e300, "money": Decimal("-12345678901234567890.123456"), "name": "Zoë\n\t\\.\"'", "raw": b"\0\xff",
        "day": 19_000, "moment": 1_700_000_000_123_456, "instant": 1_700_000_000_123_456,
    }  # fmt: skip
    arrays: list[pa.Array[Any]] = [pa.array([1, 2], pa.int32())]
    arrays += [pa.array([samples[name], None], type_) for name, type_ in types.items()]
    rows = pa.table(arrays, schema=layout.schema())
    store = open_beside(database, layout)
    commit(database, store, batch_of(1), store.stage(batch_of(1), HeldUpdates(rows)))
    found = query(database, f"SELECT k, {', '.join(types)} FROM balances ORDER BY k")
    assert [dict(zip(["k", *types], row, strict=True)) for row in found] == rows.to_pylist()


def test_a_large_batch_takes_the_analysed_way(database):
    store = open_beside(database)
    rows = [(f"account {number}", 1, number) for number in range(6_000)]
    for txid in (1, 2):
        commit(database, store, batch_of(txid), counts(*rows))
    commit(database, store, batch_of(3), counts(*rows[:5_500], *[(f"new {number}", 1, 1) for number in range(500)]))
    assert query(database, "SELECT count(*), sum(n), sum(total) FROM balances") == [
        (6_500, 18_000, 3 * sum(range(6_000)) - sum(range(5_500, 6_000)) + 500)
    ]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("account text PRIMARY KEY, n integer, total bigint, txid bigint", "'n' is integer, wanted bigint"),
        ("account text PRIMARY KEY, n bigint, txid bigint", "'total' is missing, wanted bigint"),
        ("account text, n bigint, total bigint, txid bigint", r"unique index over \(account\)"),
        ("account text PRIMARY KEY, n bigint, total bigint, txid bigint, x int NOT NULL", "'x' needs a value"),
    ],
)
def test_a_wrong_table_is_refused_by_column_and_type(database, table, problem):
    execute(database, f"CREATE TABLE balances ({table})")
    store = PostgresState("balances", kind=StateKind.TRANSACTIONAL).open(COUNTS, database)
    with pytest.raises(MismatchError, match=problem):
        store.prepare()


def test_a_table_of_the_users_own_is_taken_when_it_fits(database):
    execute(database, "CREATE SCHEMA report")
    columns = "account text PRIMARY KEY, n bigint, total bigint, txid bigint NOT NULL, note text DEFAULT 'x'"
    execute(database, f"CREATE TABLE report.sums ({columns})")
    state = PostgresState("balances", table="report.sums", kind=StateKind.TRANSACTIONAL)
    store = state.open(COUNTS, database)
    store.prepare()
    store.register(OWNER, EPOCH, 0)
    commit(database, store, batch_of(1), counts(("ann", 1, 10)))
    assert query(database, "SELECT * FROM report.sums") == [("ann", 1, 10, 1, "x")]


@pytest.mark.parametrize("written", ["balances", "public.balances"])
def test_two_states_never_share_a_table(database, written):
    open_beside(database)
    other = PostgresState("sums", table=written).open(COUNTS, database)
    with pytest.raises(MismatchError, match="belongs to state 'balances'"):
        other.prepare()
    with pytest.raises(MismatchError, match="belongs to state 'balances'"):
        other.register(OWNER, EPOCH, 0)


def test_names_of_any_allowed_length_and_script_stay_apart(postgres, database):
    """PostgreSQL cuts what is longer than 63 bytes, so that two tables, or two staging tables, would become one."""
    names = ["x" * 63, "x" * 62 + "y", "x" * 62, "é" * 31, "it's a `name`", "a-b", "$1", "select", "a.b"]
    execute(database, "CREATE SCHEMA a")
    stores = {}
    for name in names:
        key, value = ("k" * 63, "v" * 54) if name == names[0] else (f"k {name}"[:20], f"v {name}"[:20])
        layout = StateLayout((KeyColumn(key, pa.string()),), (ValueColumn(value, pa.int64(), Merge.ADD),))
        store = stores[name] = PostgresState(name, dsn=postgres.dsn).open(layout, database)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        store.register(OWNER, EPOCH, 0)
        staged = store.stage(batch_of(1), held(layout, (name, len(stores))))
        store.apply(batch_of(1), staged)
    for number, (name, store) in enumerate(stores.items(), 1):
        quoted = name.replace(".", '"."')
        key, value = store.layout.schema().names
        assert query(database, f'SELECT "{key}", "{value}", txid FROM "{quoted}"') == [(name, number, 1)]
        store.close()


def test_tables_that_only_look_alike_are_two(database):
    open_beside(database)
    execute(database, "CREATE SCHEMA report")
    for table in ("report.balances", "Balances", "balance"):
        other = PostgresState(f"other {table}", table=table).open(COUNTS, database)
        other.prepare()
        other.register(OWNER, EPOCH, 0)


def test_two_tables_never_share_a_staging_table(database):
    """Cleaning up after one of them would take away what the other has pinned."""
    execute(database, "CREATE SCHEMA report")
    first = PostgresState("first", table="report.sums").open(COUNTS, database)
    first.prepare()
    first.register(OWNER, EPOCH, 0)
    other = PostgresState("other", table="report_sums").open(COUNTS, database)
    with pytest.raises(MismatchError, match="would have the staging table 'trident_staging_report_sums'"):
        other.prepare()
    assert query(database, "SELECT to_regclass('report_sums')") == [(None,)]


def test_tasks_stage_under_ids_of_their_own_and_late_ones_add_nothing(database):
    store = open_beside(database)
    writer = pickle.loads(pickle.dumps(writing(store).writer(batch_of(1))))
    batches = [pa.RecordBatch.from_pylist([{"account": name, "n": 1, "total": 2}], COUNTS.schema()) for name in "ab"]
    words = [decode(text) for _ in range(3) for text in writer(iter(batches))]
    writes = [word for word in words if isinstance(word, WriteManifest)]
    assert [write.rows for write in writes] == [2, 2, 2]
    assert len({write.write_id for write in writes}) == len(words) == 3
    commit(database, store, batch_of(1), WrittenUpdates((writes[1],)))
    assert sorted(query(database, "SELECT account, n, total FROM balances")) == [("a", 1, 2), ("b", 1, 2)]
    store.clean_up(OWNER, EPOCH, 1)
    assert query(database, "SELECT count(*) FROM trident_staging_balances") == [(0,)]


def test_a_task_without_rows_says_nothing(database):
    store = open_beside(database)
    assert list(writing(store).writer(batch_of(1))(iter([]))) == []


def test_a_writer_shows_no_password():
    state = PostgresState("balances", dsn="postgresql://ann:hunter2@localhost/payments")
    store = state.open(COUNTS, MemoryDatabase())
    assert "hunter2" not in repr(writing(store).writer(batch_of(1))) + repr(state) + str(state.description())
    store.close()


def test_staging_is_logged_unless_the_state_is_beside_the_ledger(database, postgres):
    persistence = "SELECT relpersistence FROM pg_class WHERE relname = 'trident_staging_balances'"
    open_beside(database)
    assert query(database, persistence) == [("u",)]
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    store.prepare()
    assert query(database, persistence) == [("p",)]
    store.close()


def test_staging_of_a_state_apart_is_logged_from_its_first_moment(database, postgres):
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    store.prepare()
    persistence = "SELECT relpersistence FROM pg_class WHERE relname = 'trident_staging_balances'"
    assert query(database, persistence) == [("p",)]
    store.close()


def test_a_position_is_read_when_the_batch_at_work_has_ended(database):
    store = open_beside(database)
    found: list[Position | None] = []
    reading = threading.Thread(target=lambda: found.append(store.position("orders")))
    staged = store.ready(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 10))))
    with database.transaction() as transaction:
        store.copy_in(transaction, batch_of(1), staged)
        store.apply_in(transaction, batch_of(1), staged)
        reading.start()
        reading.join(0.3)
        assert reading.is_alive()
    reading.join(10)
    assert [position.txid for position in found if position] == [1]


def test_raising_a_fence_waits_for_a_batch_that_has_passed_it(database, postgres):
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    successor = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    store.prepare()
    successor.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    raising = threading.Thread(target=successor.raise_fence, args=(OWNER, NEWER))
    waited: list[bool] = []

    def raise_it_now(point: CrashPoint, _: int) -> None:
        if point is CrashPoint.IN_APPLY:
            raising.start()
            raising.join(0.3)
            waited.append(raising.is_alive())

    with armed(raise_it_now):
        store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 10))))
    raising.join(10)
    assert waited == [True]
    assert query(database, "SELECT n, total FROM balances") == [(1, 10)]
    with pytest.raises(FencedError):
        store.apply(batch_of(2), store.stage(batch_of(2), counts(("ann", 1, 10))))
    store.close()
    successor.close()


def test_a_batch_at_work_is_waited_for_and_found(database, postgres):
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
    started, finish = threading.Event(), threading.Event()

    def first() -> None:
        with database.transaction() as transaction:
            store.apply_in(transaction, batch_of(1), store.ready(batch_of(1), staged))
            started.set()
            finish.wait(10)

    at_work = threading.Thread(target=first)
    at_work.start()
    assert started.wait(10)
    again = threading.Thread(target=store.apply, args=(batch_of(1), staged))
    again.start()
    again.join(0.3)
    assert again.is_alive()
    finish.set()
    again.join(10)
    at_work.join(10)
    assert query(database, "SELECT n, total FROM balances") == [(1, 10)]
    store.close()


def test_a_fence_raised_while_a_batch_is_merged_rolls_it_back(database, postgres):
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    successor = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, database)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    original = store.apply_in

    def merge_slowly(transaction: Any, batch: Any, updates: Any) -> bool:
        applied = original(transaction, batch, updates)
        successor.raise_fence(OWNER, NEWER)
        return applied

    store.apply_in = merge_slowly
    with pytest.raises(FencedError):
        store.apply(batch_of(1), counts(("ann", 1, 10)))
    assert query(database, "SELECT * FROM balances") == []
    position = successor.position("orders")
    assert position is not None
    assert position.txid == 0
    store.close()
    successor.close()


def test_what_the_server_refuses_is_named_without_its_value(database):
    store = open_beside(database)
    execute(database, "ALTER TABLE balances ADD CONSTRAINT never_thirteen CHECK (n <> 13)")
    with pytest.raises(RefusedError, match="never_thirteen") as refusal:
        commit(database, store, batch_of(1), counts(("sesame", 13, 10)))
    assert "sesame" not in str(refusal.value)
    assert refusal.value.__suppress_context__
    assert query(database, "SELECT * FROM balances") == []


@pytest.mark.parametrize(
    ("values", "where"),
    [
        (
            (ValueColumn("n", pa.int64(), Merge.GREATEST), ValueColumn("total", pa.int64(), Merge.ADD)),
            "column 'total' of",
        ),
        (
            (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("total", pa.int64(), Merge.ADD)),
            "one of the columns 'n', 'total' of",
        ),
    ],
)
def test_a_sum_that_is_too_large_is_named_by_its_column(database, values, where):
    layout = StateLayout(COUNTS.keys, values)
    store = open_beside(database, layout)
    top = 2**63 - 1
    commit(database, store, batch_of(1), held(layout, ("sesame", 1, top)))
    with pytest.raises(RefusedError, match=f"a sum in {where} table 'balances' would leave the range") as refusal:
        commit(database, store, batch_of(2), held(layout, ("sesame", 1, 1)))
    assert not re.search("sesame|9223", str(refusal.value))
    assert refusal.value.__suppress_context__
    assert query(database, "SELECT total FROM balances") == [(top,)]


def test_a_range_that_a_function_of_the_table_leaves_is_no_sum(database):
    store = open_beside(database)
    execute(
        database,
        "CREATE FUNCTION leaves() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.n := 9223372036854775807 + NEW.n; RETURN NEW; END $$",
    )
    execute(database, "CREATE TRIGGER leaves BEFORE UPDATE ON balances FOR EACH ROW EXECUTE FUNCTION leaves()")
    commit(database, store, batch_of(1), counts(("ann", 1, 1)))
    with pytest.raises(RefusedError, match="NumericValueOutOfRange"):
        commit(database, store, batch_of(2), counts(("ann", 1, 1)))


def test_a_nul_character_is_refused_while_staging(database):
    store = open_beside(database)
    with pytest.raises(RefusedError, match="column 'account'"):
        store.stage(batch_of(1), counts(("a\0b", 1, 1)))


def test_a_state_without_dsn_needs_a_ledger_in_postgres():
    with pytest.raises(ConfigurationError, match="no dsn and the ledger is not in Postgres"):
        PostgresState("balances").open(COUNTS, MemoryDatabase())


def test_a_field_that_clashes_with_what_is_stored_beside_it_is_refused(database):
    for name in ("txid", "previous_n", "PREVIOUS_TXID", "trident_digest"):
        layout = StateLayout((KeyColumn(name, pa.string()),), COUNTS.values)
        with pytest.raises(ConfigurationError, match="rename the field"):
            PostgresState("balances").open(layout, database)


def test_a_type_without_a_column_is_refused(database):
    layout = StateLayout((KeyColumn("k", pa.list_(pa.int32())),), COUNTS.values)
    with pytest.raises(ConfigurationError, match="cast it"):
        PostgresState("balances").open(layout, database)


def test_a_custom_combiner_works_on_staging_of_tasks(database):
    join = ValueColumn("names", pa.string(), Merge.COMBINE, lambda stored, staged: f"{stored},{staged}")
    layout = StateLayout((KeyColumn("k", pa.int32()),), (join,))
    store = open_beside(database, layout)
    commit(database, store, batch_of(1), held(layout, (1, "a"), (None, "n")))
    batch = pa.RecordBatch.from_pylist([{"k": k, "names": name} for k, name in ((1, "b"), (2, "c"), (None, "m"))])
    writer = writing(store).writer(batch_of(2))
    writes = [word for word in map(decode, writer(iter([batch]))) if isinstance(word, WriteManifest)]
    commit(database, store, batch_of(2), WrittenUpdates(tuple(writes)))
    assert sorted(query(database, "SELECT k, names FROM balances WHERE k IS NOT NULL")) == [(1, "a,b"), (2, "c")]
    assert query(database, "SELECT names FROM balances WHERE k IS NULL") == [("n,m",)]


class TestErrors:
    def test_a_connection_that_dies_before_commit_may_be_tried_again(self, database):
        with pytest.raises(RetryableError):
            self.die(database, before_commit=True)

    def test_a_connection_that_dies_at_commit_leaves_the_outcome_open(self, database):
        with pytest.raises(OutcomeUnknownError):
            self.die(database, before_commit=False)

    def test_a_lock_that_is_held_too_long_may_be_tried_again(self, postgres, database):
        short = PostgresDatabase(postgres.dsn, lease=timedelta(seconds=0.2))
        execute(database, "CREATE TABLE t (n int)")
        with database.transaction() as holder:
            holder.connection.exec_driver_sql("LOCK TABLE t")
            with pytest.raises(RetryableError, match="lock"), short.transaction() as transaction:
                transaction.connection.exec_driver_sql("SELECT * FROM t")
        short.close()

    @pytest.mark.parametrize("part", ["dbname=nowhere", "user=nobody password=hunter2"])
    def test_a_wrong_dsn_is_fatal_and_shows_no_password(self, postgres, part):
        database = PostgresDatabase(psycopg.conninfo.make_conninfo(postgres.dsn, **dict(
            item.split("=") for item in part.split()
        )))  # fmt: skip
        with pytest.raises(FatalError, match="DSN") as failure, database.transaction():
            pass
        assert "hunter2" not in f"{failure.value}{database!r}"
        database.close()

    def test_an_unreadable_dsn_is_not_shown(self):
        with pytest.raises(ConfigurationError) as failure:
            PostgresDatabase("hunter2 is no dsn")
        assert "hunter2" not in str(failure.value)
        assert failure.value.__suppress_context__

    @staticmethod
    def die(database: PostgresDatabase, before_commit: bool) -> None:
        with database.transaction() as victim:
            victim.connection.exec_driver_sql("SELECT 1")
            driver = victim.connection.connection.driver_connection
            assert driver is not None
            pid = driver.info.backend_pid
            execute(database, f"SELECT pg_terminate_backend({pid}, 5000)")
            if before_commit:
                victim.connection.exec_driver_sql("SELECT 1")
