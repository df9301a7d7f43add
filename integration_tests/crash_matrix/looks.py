"""What a reader sees: by connections of its own, in one snapshot, by nothing of the library but its codecs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import psycopg
from psycopg import sql

from integration_tests.crash_matrix.maps import SqliteMap
from trident.state.folding import current
from trident.state.maps.maps import BackingPosition, TimedValue

Rows = Mapping[str, tuple[object, ...]]
"""By account: count and total in a state; of a sink, which records are there."""
NO_ROWS: Final[Rows] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Seen:
    """One look of a reader: the txid that the end says it holds (None: not registered, or it says none), and rows."""

    txid: int | None
    rows: Rows


NOTHING: Final = Seen(None, NO_ROWS)


def look(database: str, name: str, columns: str) -> tuple[int | None, list[tuple[object, ...]]] | None:
    """Return the position and the rows of a table in one snapshot, None where there is no table."""
    if not database.startswith("postgres"):
        with closing(sqlite3.connect(database, isolation_level=None)) as file:
            file.execute("BEGIN")
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                return None
            txid = _position_in_file(file, name)
            return txid, file.execute(f"SELECT {columns} FROM {name}").fetchall()
    with psycopg.connect(database) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if session.execute("SELECT to_regclass(%s)", (name,)).fetchone() == (None,):
            return None
        known = session.execute("SELECT to_regclass('trident_applied')").fetchone() != (None,)
        asked = "SELECT txid FROM trident_applied WHERE state = %s"
        row = session.execute(asked, (name,)).fetchone() if known else None
        query = sql.SQL(f"SELECT {columns} FROM {{}}").format(sql.Identifier(name))
        return row[0] if row else None, session.execute(query).fetchall()


def _position_in_file(file: sqlite3.Connection, name: str) -> int | None:
    if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'trident_applied'").fetchone():
        return None
    row = file.execute("SELECT txid FROM trident_applied WHERE state = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def look_in_map(given: SqliteMap) -> Seen:
    """Return the position and the rows of a map."""
    pairs = given.items()
    # the other one says whose map it is
    said = [value for _, value in pairs if isinstance(value, BackingPosition)]
    txid = next((each.txid for each in said if each.txid is not None), None)
    rows = ((key[0], current(value)) for key, value in pairs if not isinstance(value, BackingPosition | TimedValue))
    return Seen(txid, {str(account): tuple(values) for account, values in rows})
