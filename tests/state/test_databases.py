"""Transactions of the databases that need no server: all or nothing, and errors by what to do next."""

from __future__ import annotations

import sqlite3
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

import pytest
from sqlalchemy import event

from trident.base.errors import ConfigurationError, FatalError, MismatchError, RefusedError, RetryableError
from trident.state import MemoryState, SqliteState, StateKind
from trident.state.memory.database import MemoryDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts


@pytest.fixture
def database(tmp_path):
    database = SqliteDatabase(tmp_path / "x.db", busy_seconds=0.1)
    yield database
    database.close()


def execute(database: SqliteDatabase, *statements: str) -> list[tuple[object, ...]]:
    with database.transaction() as transaction:
        for statement in statements:
            found = transaction.connection.exec_driver_sql(statement)
        return [tuple(row) for row in found] if found.returns_rows else []


@pytest.mark.parametrize("how", ["ABORT", "FAIL", "ROLLBACK"])
def test_what_a_trigger_refuses_is_a_refusal_without_its_words(database: SqliteDatabase, how: str) -> None:
    small = f"CREATE TRIGGER small BEFORE INSERT ON t WHEN NEW.n > 1 BEGIN SELECT RAISE({how}, 'row of ann'); END"
    execute(database, "CREATE TABLE t (n int)", small)
    with pytest.raises(RefusedError) as refused:
        execute(database, "INSERT INTO t VALUES (1), (2)")
    assert "ann" not in "".join(traceback.format_exception(refused.value))
    assert execute(database, "SELECT n FROM t") == []


def test_sqlite_waits_for_the_disk_at_each_commit(database):
    assert execute(database, "PRAGMA journal_mode") == [("wal",)]
    assert execute(database, "PRAGMA synchronous") == [(2,)]


def test_a_sqlite_transaction_holds_the_file_from_its_first_statement(database):
    with database.transaction(), pytest.raises(RetryableError, match="another writer"):
        execute(database, "SELECT 1")
    assert execute(database, "SELECT 1") == [(1,)]


def test_a_new_sqlite_file_may_be_opened_by_many_at_once(tmp_path):
    for number in range(10):
        databases = [SqliteDatabase(tmp_path / f"{number}.db") for _ in range(4)]
        together = threading.Barrier(len(databases))

        def open_one(database, together=together):
            together.wait(10)
            with database.transaction() as transaction:
                transaction.connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS seen (x int)")

        with ThreadPoolExecutor(len(databases)) as pool:
            list(pool.map(open_one, databases))
        for database in databases:
            database.close()


class BusyAtFirst(sqlite3.Connection):
    """Answers at once that it is busy, as SQLite does while another connection turns the same new file to WAL."""

    refusals: ClassVar[int] = 2

    def execute(self, sql, *values):
        if "journal_mode" in sql and BusyAtFirst.refusals > 0:
            BusyAtFirst.refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, *values)


def test_a_new_sqlite_file_that_another_is_making_is_waited_for(database, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(BusyAtFirst, "refusals", 2)
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=BusyAtFirst))
    assert execute(database, "PRAGMA journal_mode") == [("wal",)]
    assert BusyAtFirst.refusals == 0


def test_a_new_sqlite_file_that_another_never_lets_go_of_is_told(database, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(BusyAtFirst, "refusals", 1_000_000)
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=BusyAtFirst))
    with pytest.raises(RetryableError, match="another writer"):
        execute(database, "SELECT 1")


def test_a_sqlite_transaction_is_undone_by_any_exception(database):
    execute(database, "CREATE TABLE t (n)")
    with pytest.raises(KeyboardInterrupt):
        interrupted(database)
    assert execute(database, "SELECT * FROM t") == []


def interrupted(database: SqliteDatabase) -> None:
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        raise KeyboardInterrupt


def test_sqlite_errors_say_what_to_do(database, tmp_path):
    with pytest.raises(RefusedError, match="constraint"):
        execute(database, "CREATE TABLE u (n PRIMARY KEY)", "INSERT INTO u VALUES (1), (1)")
    (tmp_path / "text.db").write_text("no database at all, but long enough for a header" * 10)
    with pytest.raises(FatalError, match="no SQLite database"):
        execute(SqliteDatabase(tmp_path / "text.db"), "SELECT 1")
    with pytest.raises(FatalError, match="can't be opened"):
        execute(SqliteDatabase(tmp_path / "no" / "folder.db"), "SELECT 1")


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_sqlite_needs_a_file(path):
    with pytest.raises(ConfigurationError, match="MemoryState"):
        SqliteDatabase(path)


def test_a_wrong_sqlite_table_is_refused_by_column_and_type(database):
    execute(database, "CREATE TABLE counts (account text PRIMARY KEY, n bigint, total text, txid bigint NOT NULL)")
    store = SqliteState("counts", kind=StateKind.TRANSACTIONAL).open(COUNTS, database)
    with pytest.raises(MismatchError, match="'total' is text, wanted bigint"):
        store.prepare()


def test_states_without_a_place_are_refused():
    with pytest.raises(ConfigurationError, match="no path and the ledger is not in SQLite"):
        SqliteState("counts").open(COUNTS, MemoryDatabase())
    with pytest.raises(ConfigurationError, match="MemoryLedger"):
        MemoryState("counts").open(COUNTS, SqliteDatabase("unused.db"))


def test_an_integer_that_overflows_never_becomes_a_float(database):
    store = SqliteState("counts").open(COUNTS, database)
    store.prepare()
    with pytest.raises(RefusedError):
        execute(database, "INSERT INTO counts (account, n, txid) VALUES ('a', 9223372036854775807 + 1, 1)")


def test_a_memory_transaction_is_undone_by_any_exception():
    database = MemoryDatabase()
    with database.transaction() as transaction:
        transaction.table("t")["kept"] = 1
    with pytest.raises(KeyboardInterrupt):
        spoiled(database)
    with database.transaction() as transaction:
        assert transaction.table("t") == {"kept": 1}
        assert transaction.table("new") == {}


def spoiled(database: MemoryDatabase) -> None:
    with database.transaction() as transaction:
        transaction.table("t").clear()
        transaction.table("new")["x"] = 1
        raise KeyboardInterrupt


def test_memory_transactions_wait_for_each_other():
    database = MemoryDatabase()
    with database.transaction() as transaction:
        transaction.table("t")["n"] = 0

    def add() -> None:
        for _ in range(200):
            with database.transaction() as transaction:
                transaction.table("t")["n"] = cast("int", transaction.table("t")["n"]) + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.transaction() as transaction:
        assert transaction.table("t")["n"] == 800


def test_a_memory_state_shows_its_rows():
    database = MemoryDatabase()
    state = MemoryState("counts")
    store = state.open(COUNTS, database)
    assert state.rows(database) == []
    store.prepare()
    store.register(OWNER, EPOCH, 0)
    store.apply(batch_of(1), counts(("ann", 1, 10)))
    assert state.rows(database) == [{"account": "ann", "n": 1, "total": 10}]


def test_sqlite_is_new_enough_for_update_from():
    assert sqlite3.sqlite_version_info >= (3, 33)


def test_who_is_interrupted_in_a_statement_locks_nobody_out(database: SqliteDatabase, tmp_path: Path) -> None:
    """A notebook keeps the traceback of a Ctrl-C, and with it the cursor that was at work."""
    execute(database, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1), (2)")
    cursors = []

    def interrupt(_: object, cursor: object, statement: str, *__: object) -> None:
        if statement.startswith("SELECT n"):
            cursors.append(cursor)
            raise KeyboardInterrupt

    event.listen(database.engine, "after_cursor_execute", interrupt)
    with pytest.raises(KeyboardInterrupt) as kept:
        execute(database, "INSERT INTO t VALUES (3)", "SELECT n FROM t")
    event.remove(database.engine, "after_cursor_execute", interrupt)
    with closing(sqlite3.connect(tmp_path / "x.db", timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert other.execute("SELECT n FROM t").fetchall() == [(1,), (2,)]
    assert cursors
    assert kept.value is not None
