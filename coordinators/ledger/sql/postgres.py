"""The ledger in PostgreSQL, beside the states that share its database."""

from __future__ import annotations

import hashlib
import threading
from contextlib import AbstractContextManager

import psycopg

from trident.base.errors import RetryableError
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.opening import refuse_timeouts
from trident.coordinators.ledger.sql.presence import PresenceMark
from trident.state.databases.base import SqlTransaction
from trident.state.postgres.addresses import masked, normal_dsn
from trident.state.postgres.database import PostgresDatabase, connect
from trident.state.postgres.errors import classify

_TRY_LOCK = "SELECT pg_try_advisory_lock(%s), pg_backend_pid()"


class PostgresLedger(SqlLedger):
    """A ledger in a PostgreSQL database; states without a database of their own share its connections.

    Making one connects to nothing. How long a stopped process can hold locks follows from the lease of
    the run that opens it; of runs that share the object at the same time the shortest lease counts.
    Leases end at once with their process through a session lock, which a pooler in transaction mode
    (pgbouncer) takes away: connect to the server itself.
    """

    def __init__(self, dsn: str, *, pool_size: int = 4, lease_seconds: None = None, give_up_after: None = None) -> None:
        refuse_timeouts(lease_seconds=lease_seconds, give_up_after=give_up_after)
        self._postgres = PostgresDatabase(dsn, pool_size=pool_size)
        self._where = masked(normal_dsn(dsn))
        super().__init__(self._postgres, PostgresPresence(self._postgres), self._where)

    def open(self, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        """Connect within the lease's limits, and make or migrate the tables; may be called again."""
        self._postgres.follow(timeouts.lease)
        super().open(timeouts)

    def _beating(self) -> AbstractContextManager[SqlTransaction]:
        return self._postgres.aside()

    def __repr__(self) -> str:
        return f"PostgresLedger({self._where})"


class PostgresPresence:
    """One connection per epoch that holds an advisory lock: the server lets go of it when the holder dies."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._connections: dict[int, psycopg.Connection | None] = {}
        """One for each epoch that is held; None while a lost one could not be replaced."""
        self._not_given: set[int] = set()

    def hold(self, topology: str, token: str) -> PresenceMark:
        """Open a connection and lock the epoch's key on it."""
        key, connection = _key(topology, token), self._connect()
        with self._lock:
            self._connections[key] = connection
        return PresenceMark(pid=self._lock_on(connection, key))

    def is_gone(self, topology: str, token: str, mark: PresenceMark) -> bool:
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
        """Lock the epoch's key on a new connection when the server has closed the old one, again and again."""
        key = _key(topology, token)
        with self._lock:
            if key not in self._connections:
                return
            connection = self._connections[key]
        try:
            if connection is not None:
                self._check(connection, key)
                return
        except (psycopg.OperationalError, RetryableError):
            self._let_go(key, None)
        connection = self._connect()
        if self._let_go(key, connection):
            self._lock_on(connection, key)
        else:  # it was ended meanwhile
            connection.close()

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
            if connection is not None:
                connection.close()

    def _let_go(self, key: int, instead: psycopg.Connection | None) -> bool:
        """Put another connection in the place of an epoch's; returns whether that is still held."""
        with self._lock:
            if key not in self._connections:
                return False
            before, self._connections[key] = self._connections[key], instead
        if before is not None:
            before.close()
        return True

    def _check(self, connection: psycopg.Connection, key: int) -> None:
        if key in self._not_given:  # the session before was still there, for the server
            self._lock_on(connection, key)
        connection.execute("SELECT 1")

    def _lock_on(self, connection: psycopg.Connection, key: int) -> int:
        """Lock the key, or note that it has to be asked for again; returns the session's number."""
        self._not_given.add(key)
        is_given, pid = self._ask(connection, key)
        if is_given:
            self._not_given.discard(key)
        return pid

    def _connect(self) -> psycopg.Connection:
        try:
            connection = connect(self._database.dsn, self._database.lease_seconds)
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
