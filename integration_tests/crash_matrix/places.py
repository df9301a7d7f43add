"""Where a case's ledger and states live: only names and addresses, so that every life finds the same ones."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg import sql

from integration_tests.crash_matrix.cases import Case, Site
from trident.coordinators.ledger import PostgresLedger, SqliteLedger
from trident.state import BackingMapState, PostgresState, SqliteState
from trident.state.folding import current
from trident.state.maps.maps import BackingKey, BackingPosition, BackingValue
from trident.state.target import State

Rows = dict[str, tuple[int, int]]
"""Count and total by account."""

LEASE = timedelta(seconds=1)
"""Long enough for connections of a loaded machine, which may be silent for half of it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look of a reader: the txid that the state says it holds (None: not registered), and its rows."""

    txid: int | None
    rows: Rows


NOTHING = Seen(None, {})


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the run offers: three databases of one server, and a folder for files."""

    databases: tuple[str, str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class Place:
    """One case's ledger and states; `key` tells it from the other cases in the same databases."""

    case: Case
    addresses: Addresses
    key: str

    @property
    def topology(self) -> str:
        """The topology's name, of this case only."""
        return f"topology_{self.key}"

    def ledger(self) -> SqliteLedger | PostgresLedger:
        """Return a new ledger object."""
        if self.case.site in (Site.SQLITE, Site.PER_KEY):
            return SqliteLedger(self._file("ledger"), busy_seconds=2 * LEASE.total_seconds())
        return PostgresLedger(self.addresses.databases[0], pool_size=3)

    def states(self) -> tuple[State, ...]:
        """Return the case's states."""
        kind, name = self.case.state, f"balances_{self.key}"
        match self.case.site:
            case Site.SQLITE:
                return (SqliteState(name, kind=kind),)
            case Site.POSTGRES:
                return (PostgresState(name, kind=kind),)
            case Site.APART:
                return (PostgresState(name, kind=kind, dsn=self.addresses.databases[1]),)
            case Site.TWO_DATABASES:
                first, second = self.addresses.databases[1:]
                names = (f"{name}_first", f"{name}_second")
                return (PostgresState(names[0], kind=kind, dsn=first), PostgresState(names[1], kind=kind, dsn=second))
            case Site.BESIDE_AND_APART:
                names = (f"{name}_beside", f"{name}_apart")
                apart = PostgresState(names[1], kind=kind, dsn=self.addresses.databases[1])
                return (PostgresState(names[0], kind=kind), apart)
            case Site.PER_KEY:
                return (BackingMapState(name, SqliteMap(self._file("map")), kind=kind, chunk_rows=3),)

    def added(self) -> State:
        """Return the state that a newer version has: beside the ledger, or apart where one is beside it already."""
        name = f"added_{self.key}"
        match self.case.site:
            case Site.SQLITE | Site.PER_KEY:
                return SqliteState(name, kind=self.case.state)
            case Site.BESIDE_AND_APART:
                return PostgresState(name, kind=self.case.state, dsn=self.addresses.databases[2])
            case _:
                return PostgresState(name, kind=self.case.state)

    def occupy(self) -> None:
        """Put a table of somebody else where the added state would live."""
        state = self.added()
        columns = "(account TEXT, wrong TEXT NOT NULL)"
        if isinstance(state, PostgresState):
            with psycopg.connect(state.dsn or self.addresses.databases[0]) as session:
                session.execute(sql.SQL("CREATE TABLE {} " + columns).format(sql.Identifier(state.name)))
            return
        with closing(sqlite3.connect(self._file("ledger"))) as file, file:
            file.execute(f"CREATE TABLE {state.name} {columns}")

    def ledger_rows(self, *queries: str) -> list[list[tuple[object, ...]]]:
        """Return what each query finds of this topology in the ledger; all in one snapshot, empty before its tables."""
        if self.case.site in (Site.SQLITE, Site.PER_KEY):
            with closing(sqlite3.connect(self._file("ledger"), isolation_level=None)) as connection:
                connection.execute("BEGIN")
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trident_pin'").fetchone():
                    return [[] for _ in queries]
                return [
                    connection.execute(f"{query} WHERE topology = ?", (self.topology,)).fetchall() for query in queries
                ]
        with psycopg.connect(self.addresses.databases[0]) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            if connection.execute("SELECT to_regclass('trident_pin')").fetchone() == (None,):
                return [[] for _ in queries]
            return [
                connection.execute(f"{query} WHERE topology = %s", (self.topology,)).fetchall() for query in queries
            ]

    def seen(self, state: State) -> Seen:
        """Return what a reader sees now, in one snapshot of a connection of its own."""
        match state:
            case SqliteState(name):
                return self._seen_in_sqlite(name)
            case PostgresState(name, dsn=dsn):
                return self._seen_in_postgres(name, dsn or self.addresses.databases[0])
            case BackingMapState(_, backing_map) if isinstance(backing_map, SqliteMap):
                return backing_map.seen()
        raise TypeError(f"no way to read a {type(state).__name__}")

    def _file(self, name: str) -> Path:
        return Path(self.addresses.folder) / f"{name}-{self.key}.sqlite"

    def _seen_in_sqlite(self, name: str) -> Seen:
        with closing(sqlite3.connect(self._file("ledger"), isolation_level=None)) as connection:
            connection.execute("BEGIN")
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                return NOTHING
            txid = connection.execute("SELECT txid FROM trident_applied WHERE state = ?", (name,)).fetchone()
            return Seen(
                txid[0] if txid else None, _by_account(connection.execute(f"SELECT account, n, total FROM {name}"))
            )

    def _seen_in_postgres(self, name: str, dsn: str) -> Seen:
        with psycopg.connect(dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() == (None,):
                return NOTHING
            txid = connection.execute("SELECT txid FROM trident_applied WHERE state = %s", (name,)).fetchone()
            query = sql.SQL("SELECT account, n, total FROM {}").format(sql.Identifier(name))
            return Seen(txid[0] if txid else None, _by_account(connection.execute(query)))


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

    def seen(self) -> Seen:
        """Return the position and the rows."""
        with self._open() as connection:
            pairs = [
                (pickle.loads(key), pickle.loads(value)) for key, value in connection.execute("SELECT k, v FROM kv")
            ]
        # the other one says whose map it is
        said = [value for _, value in pairs if isinstance(value, BackingPosition)]
        txid = next((each.txid for each in said if each.txid is not None), None)
        rows = ((key[0], *current(value)) for key, value in pairs if not isinstance(value, BackingPosition))
        return Seen(txid, _by_account(rows))

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


def _by_account(rows: Iterable[tuple[str, int, int]]) -> Rows:
    return {account: (n, total) for account, n, total in rows}
