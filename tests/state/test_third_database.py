"""A table database that the library does not know is one folder: here, SQLite's engine under another name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from tests.state.harnesses import ConditionalMap
from trident.base.identity import BatchId
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.capabilities import beside_of
from trident.state.databases.base import SchemaTerms, SqlDatabase, SqlTransaction
from trident.state.databases.transactions import run_transaction
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.state import BackingMapState
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.sqlite.errors import classify, is_lost
from trident.state.sqlite.functions import register
from trident.state.staged import StagedUpdates
from trident.state.tables.dialect import Dialect
from trident.state.tables.shape import table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase, Target
from trident.testing import StateHarness
from trident.testing.position_contract import PositionContract
from trident.testing.state_harness import COUNTS, apart, batch_of, counts, put, ready, seen
from trident.testing.undo_contract import UndoContract

NAME = "third"
MADE = ["trident_applied", "trident_state_fence", "trident_state_schema"]


class ThirdSqlDialect(SQLiteDialect_pysqlite):
    """What SQLAlchemy knows the database by: nothing that asks for a known name finds one."""

    name = NAME
    supports_statement_cache = True


registry.register(NAME, __name__, ThirdSqlDialect.__name__)


class ThirdDatabase:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables_at_lock: list[list[str]] = []
        self.engine: Engine = create_engine(f"{NAME}://", creator=self._connect)
        event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))

    @property
    def schema_terms(self) -> SchemaTerms:
        return SchemaTerms("moment_of_day", "float_64", "byte_string", "julianday('now')", self._lock)

    def transaction(self) -> AbstractContextManager[SqlTransaction]:
        return run_transaction(self.engine, sqlite3.Error, classify, is_lost)

    def close(self) -> None:
        self.engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        register(connection)
        return connection

    def _lock(self, connection: Connection) -> None:
        self.tables_at_lock.append(inspect(connection).get_table_names())


class ThirdDialect(SqliteDialect):
    def column_type(self, type_: pa.DataType) -> str:
        return "string" if type_ == pa.string() else super().column_type(type_)


@dataclass(frozen=True)
class ThirdState:
    name: str
    kind: StateKind
    path: Path | None = None

    def description(self) -> dict[str, str]:
        return {"store": NAME}

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> Target:
        shape = table_shape(self.name, self.name, self.kind, layout)
        if self.path is not None:
            return TableTarget(ThirdDatabase(self.path), ThirdDialect(), self.name, shape, False, timeouts)
        assert isinstance(ledger_database, ThirdDatabase)
        return TableTarget(ledger_database, ThirdDialect(), self.name, shape, True, timeouts)


class ThirdHarness(StateHarness):
    def __init__(self, path: Path) -> None:
        self.database = ThirdDatabase(path)
        self.stores: list[Target] = []

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._opened(ThirdState("counts", kind).open(layout, self.database))

    def open_apart(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._opened(ThirdState("counts", kind, self.database.path).open(layout, self.database))

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        with self.database.transaction() as transaction:
            found = [dict(row) for row in transaction.connection.exec_driver_sql("SELECT * FROM counts").mappings()]
        decimals = [field.name for field in layout.schema() if pa.types.is_decimal(field.type)]
        return [{**row, **{name: Decimal(str(row[name])) for name in decimals}} for row in found]

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        if store.capabilities.beside is None:
            store.apply(batch, updates)
            return
        updates = beside_of(store).ready(batch, updates)
        with self.database.transaction() as transaction:
            beside_of(store).copy_in(transaction, batch, updates)
            beside_of(store).apply_in(transaction, batch, updates)

    def close(self) -> None:
        for store in self.stores:
            store.close()
        self.database.close()

    def _opened(self, store: Target) -> Target:
        self.stores.append(store)
        return store


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ThirdHarness]:
    harness = ThirdHarness(tmp_path / "third.db")
    yield harness
    harness.close()


class TestThirdPositions(PositionContract):
    """Tables are made, batches applied once, old epochs fenced."""


class TestThirdUndo(UndoContract):
    """What was applied is undone, and staged rows are read back."""


def declared(database: ThirdDatabase, table: str, column: str) -> str:
    with database.transaction() as transaction:
        statement = f"SELECT type FROM pragma_table_info('{table}') WHERE name = '{column}'"
        return str(transaction.connection.exec_driver_sql(statement).scalar_one())


def test_what_it_brings_satisfies_the_protocols(harness: ThirdHarness) -> None:
    database: SqlDatabase = harness.database
    dialect: Dialect = ThirdDialect()
    assert isinstance(database, SqlDatabase)
    assert dialect.column_type(pa.string()) == "string"
    assert database.engine.dialect.name == NAME


def test_tables_are_made_in_its_own_types_under_one_lock(harness: ThirdHarness) -> None:
    store = ready(harness)
    first, at_birth = harness.database.tables_at_lock
    assert (first, set(MADE) < set(at_birth)) == ([], True)
    with harness.database.transaction() as transaction:
        assert set(MADE) < set(inspect(transaction.connection).get_table_names())
        stored = "SELECT version, applied_at > 2400000 FROM trident_state_schema"
        assert transaction.connection.exec_driver_sql(stored).all() == [(1, 1), (2, 1), (3, 1)]
    assert declared(harness.database, "trident_state_schema", "applied_at") == "moment_of_day"
    assert declared(harness.database, "counts", "account") == "string"
    store.prepare()
    assert len(harness.database.tables_at_lock) == 3


def test_a_state_beside_a_ledger_there_and_one_apart_hold_the_same(harness: ThirdHarness) -> None:
    put(harness, ready(harness), batch_of(1), counts(("ann", 1, 10)))
    put(harness, apart(harness), batch_of(2), counts(("ann", 2, 20)))
    assert seen(harness) == {"ann": (3, 30)}


def test_it_keeps_the_staged_updates_of_a_map(harness: ThirdHarness) -> None:
    store = BackingMapState("sums", ConditionalMap()).open(COUNTS, harness.database)
    made = StoreOf(store)
    put(made, ready(made), batch_of(1), counts(("ann", 1, 10)))
    assert harness.database.tables_at_lock == [[]]
    assert declared(harness.database, "trident_staged_blob", "payload") == "byte_string"
    found = store.capabilities.querying
    assert found is not None
    assert found.find("orders", pa.table({"account": ["ann"]})).rows.to_pylist() == [
        {"account": "ann", "n": 1, "total": 10}
    ]


class StoreOf(StateHarness):
    """One store that is open already."""

    def __init__(self, store: Target) -> None:
        self.store = store

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        return self.store

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        return []
