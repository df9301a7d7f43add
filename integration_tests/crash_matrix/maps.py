"""A user's durable key-value store."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from trident.state.maps.maps import BackingKey, BackingValue


@dataclass(frozen=True, slots=True)
class SqliteMap:
    """A user's durable key-value store: one row per key, no transaction over several of them."""

    path: Path

    def multi_get(self, keys: Sequence[BackingKey]) -> list[BackingValue | None]:
        """Return the values in the keys' order."""
        with self._open() as connection:
            return [_get(connection, key) for key in keys]

    def multi_put(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> None:
        """Store each item for itself."""
        for key, value in items:
            with self._open() as connection:
                _put(connection, key, value)

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[bool]:
        """Store each item whose key holds what is expected, each for itself."""
        stored = []
        for key, expected, new in changes:
            with self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                matches = _get(connection, key) == expected
                if matches:
                    _put(connection, key, new)
                stored.append(matches)
        return stored

    def multi_remove_if(self, changes: Sequence[tuple[BackingKey, BackingValue]]) -> list[bool]:
        """Delete each key that holds what is expected, each for itself."""
        removed = []
        for key, expected in changes:
            with self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                matches = _get(connection, key) == expected
                if matches:
                    connection.execute("DELETE FROM kv WHERE k = ?", (pickle.dumps(key, 4),))
                removed.append(matches)
        return removed

    def clear(self) -> None:
        """Delete every key."""
        with self._open() as connection:
            connection.execute("DELETE FROM kv")

    def items(self) -> list[tuple[BackingKey, BackingValue]]:
        """Return all that it holds."""
        with self._open() as connection:
            return [
                (pickle.loads(key), pickle.loads(value)) for key, value in connection.execute("SELECT k, v FROM kv")
            ]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=5)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")  # the machine stays up, only processes die
            connection.execute("CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB)")
            yield connection


def _get(connection: sqlite3.Connection, key: BackingKey) -> BackingValue | None:
    found = connection.execute("SELECT v FROM kv WHERE k = ?", (pickle.dumps(key, 4),)).fetchone()
    return pickle.loads(found[0]) if found else None


def _put(connection: sqlite3.Connection, key: BackingKey, value: BackingValue) -> None:
    connection.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (pickle.dumps(key, 4), pickle.dumps(value, 4)))
