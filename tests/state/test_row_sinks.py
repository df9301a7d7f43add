"""Rows in SQLite: the contract of sinks, and each way of writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.state.row_sinks import Row, RowContract, RowHarness, at, schema, seen_versions, versions, write
from trident.state import SqliteTable
from trident.state.memory.database import MemoryDatabase
from trident.state.row_tables.shape import RowShape, RowWrite, row_shape
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

    def leave_out(self, harness: RowHarness, event: str) -> None:
        when = "WHEN NEW.owner = 'nobody'" if event == "INSERT" else ""
        harness.query(f"CREATE TRIGGER left_out BEFORE {event} ON t {when} BEGIN SELECT RAISE(IGNORE); END")


def test_a_numbered_row_needs_no_number(harness: SqliteRowHarness) -> None:
    harness.query("CREATE TABLE words (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, n bigint, word text)")
    sink = harness.began(harness.shape)
    write(sink, harness.shape, 1, (1, "a"), (2, "b"))
    assert harness.query("SELECT id, n FROM words") == [(1, 1), (2, 2)]


def test_keys_are_compared_by_their_bytes_whatever_the_column_says(harness: SqliteRowHarness) -> None:
    harness.query("CREATE TABLE t (account text COLLATE NOCASE)")
    harness.query("INSERT INTO t VALUES ('Ann'), ('ann')")
    shape = row_shape("t", "t", schema(account=pa.string()), RowWrite.DELETE, ("account",))
    write(harness.began(shape), shape, 1, ("ann",))
    assert harness.query("SELECT account FROM t") == [("Ann",)]


@pytest.mark.parametrize(("collation", "words"), [("NOCASE", ("ann", "Ann")), ("RTRIM", ("ann", "ann "))])
def test_a_change_is_one_by_its_bytes_whatever_the_column_says(
    harness: SqliteRowHarness, collation: str, words: tuple[str, str]
) -> None:
    moments = "since timestamp_utc NOT NULL, until timestamp_utc, UNIQUE (account, since)"
    harness.query(f"CREATE TABLE t (account text NOT NULL, owner text COLLATE {collation}, {moments})")
    shape = versions(skip_unchanged=True)
    sink = harness.began(shape)
    for txid, word in enumerate(words, 1):
        write(sink, shape, txid, ("a", word, at(txid)))
    assert seen_versions(harness) == [("a", words[0], 1, 2), ("a", words[1], 2, None)]
