"""Rows in SQLite: the contract of sinks, and each way of writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.state.row_sinks import Row, RowContract, RowHarness
from trident.state import SqliteTable
from trident.state.memory.database import MemoryDatabase
from trident.state.row_tables.shape import RowShape
from trident.state.row_tables.target import RowTarget
from trident.testing import SinkContract


class SqliteRowHarness(RowHarness):
    """A file of its own."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def make(self, shape: RowShape, name: str = "words") -> RowTarget:
        return SqliteTable(name, path=self.path, table=shape.table).open(shape, MemoryDatabase())

    def query(self, statement: str) -> list[Row]:
        with sqlite3.connect(self.path) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SqliteRowHarness]:
    found = SqliteRowHarness(tmp_path / "rows.db")
    yield found
    found.close()


class TestContract(SinkContract):
    """The contract."""


class TestRows(RowContract):
    """Each way of writing."""

    def leave_out(self, harness: RowHarness) -> None:
        harness.query("CREATE TABLE t (account text PRIMARY KEY, owner text, amount bigint)")
        harness.query(
            "CREATE TRIGGER left_out BEFORE INSERT ON t WHEN NEW.owner = 'nobody' BEGIN SELECT RAISE(IGNORE); END"
        )
