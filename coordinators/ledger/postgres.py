"""The ledger in PostgreSQL, beside the states that share its database."""

from __future__ import annotations

import hashlib
import threading

import psycopg

from trident.coordinators.ledger.sessions import SessionMark
from trident.coordinators.ledger.sql import SqlLedger
from trident.state.postgres.database import PostgresDatabase, connect, masked, normal_dsn
from trident.state.postgres.errors import classify

_TRY_LOCK = "SELECT pg_try_advisory_lock(%s), pg_backend_pid()"


class PostgresLedger(SqlLedger):
    """A ledger in a PostgreSQL database; states without a database of their own share its connections.

    Making one connects to nothing. `lease_seconds` bounds how long a stopped process can hold locks
    and should be the lease's duration; after `give_up_after` seconds without an answer `open` raises.
    Leases end at once with their process through a session lock, which a pooler in transaction mode
    (pgbouncer) takes away: connect to the server itself.
    """

    def __init__(
        self, dsn: str, *, pool_size: int = 4, lease_seconds: float = 10.0, give_up_after: float = 60.0
    ) -> None:
        database = PostgresDatabase(dsn, pool_size=pool_size, lease_seconds=lease_seconds)
        self._where = masked(normal_dsn(dsn))
        super().__init__(database, PostgresSessions(database.dsn, lease_seconds), self._where, give_up_after)

    def __repr__(self) -> str:
        return f"PostgresLedger({self._where})"


class PostgresSessions:
    """One connection per epoch that holds an advisory lock: the server lets go of it when the holder dies."""

    def __init__(self, dsn: str, lease_seconds: float) -> None:
        self._dsn = dsn
        self._lease_seconds = lease_seconds
        self._lock = threading.Lock()
        self._connections: dict[int, psycopg.Connection] = {}

    def hold(self, topology: str, token: str) -> SessionMark:
        """Open a connection and lock the epoch's key on it."""
        key = _key(topology, token)
        connection = self._connect()
        with self._lock:
            self._connections[key] = connection
        row = self._ask(connection, key)
        return SessionMark(pid=row[1])

    def is_gone(self, topology: str, token: str, mark: SessionMark) -> bool:
        """Tell whether the key can be locked, which it can't be while its holder's connection is open."""
        key = _key(topology, token)
        with self._lock:
            if key in self._connections:
                return False
        connection = self._connect()
        try:
            return self._ask(connection, key)[0]
        finally:
            connection.close()

    def keep(self, topology: str, token: str) -> None:
        """Lock the epoch's key on a new connection when the server has closed the old one."""
        with self._lock:
            connection = self._connections.get(_key(topology, token))
        if connection is None:
            return
        try:
            connection.execute("SELECT 1")
        except psycopg.OperationalError:
            self.end(topology, token)
            self.hold(topology, token)

    def end(self, topology: str, token: str) -> None:
        """Close the epoch's connection."""
        with self._lock:
            connection = self._connections.pop(_key(topology, token), None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close all connections; may be called again."""
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
        for connection in connections:
            connection.close()

    def _connect(self) -> psycopg.Connection:
        try:
            connection = connect(self._dsn, self._lease_seconds)
            connection.autocommit = True
        except psycopg.Error as error:
            raise classify(error) from error
        return connection

    def _ask(self, connection: psycopg.Connection, key: int) -> tuple[bool, int]:
        try:
            row = connection.execute(_TRY_LOCK, (key,)).fetchone()
        except psycopg.Error as error:
            raise classify(error) from error
        assert row is not None
        return bool(row[0]), int(row[1])


def _key(topology: str, token: str) -> int:
    """Return the 64-bit signed number that stands for an epoch among advisory locks."""
    digest = hashlib.blake2b(f"trident/{topology}/{token}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
