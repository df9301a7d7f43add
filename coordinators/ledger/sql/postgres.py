"""The ledger in PostgreSQL, beside the states that share its database."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing

import psycopg

from trident.base.errors import RetryableError, TridentError
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.opening import refuse_timeouts
from trident.coordinators.ledger.sql.presence import PresenceMark
from trident.state.databases.base import SqlTransaction
from trident.state.postgres.addresses import masked, normal_dsn
from trident.state.postgres.database import PostgresDatabase, connect
from trident.state.postgres.errors import classify

_log = logging.getLogger("trident.ledger")
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
        self._postgres = PostgresDatabase(dsn, pool_size=pool_size, whose="the ledger")
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
    """One connection per epoch that holds an advisory lock: the server lets go of it when the holder dies.

    What keeps it waits in threads of its own: a connection that is silent here never keeps a heartbeat waiting.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}
        """One for each epoch that is held."""

    def hold(self, topology: str, token: str) -> PresenceMark:
        """Open a connection and lock the epoch's key on it."""
        held = _Held(topology, _key(topology, token), self._connect)
        pid = held.begin()
        with self._lock:
            self._held[held.key] = held
        return PresenceMark(pid=pid)

    def is_gone(self, topology: str, token: str, mark: PresenceMark) -> bool:
        """Tell whether the key can be locked, which it can't be while its holder's connection is open."""
        key = _key(topology, token)
        with self._lock:
            if key in self._held:
                return False
        with closing(self._connect()) as connection:
            return _ask(connection, key)[0]

    def keep(self, topology: str, token: str) -> None:
        """See, in another thread, whether the epoch's connection is there, and lock its key on a new one if not."""
        with self._lock:
            held = self._held.get(_key(topology, token))
        if held is not None:
            held.keep()

    def end(self, topology: str, token: str) -> None:
        """Close the epoch's connection, as soon as nothing is asked on it."""
        with self._lock:
            held = self._held.pop(_key(topology, token), None)
        if held is not None:
            held.end()

    def close(self) -> None:
        """Close all connections; may be called again."""
        with self._lock:
            all_held = list(self._held.values())
            self._held.clear()
        for held in all_held:
            held.end()

    def _connect(self) -> psycopg.Connection:
        try:
            # the server ends a session that was cut off after half of what it is told: not before the lease's end
            connection = connect(self._database.dsn, 2 * self._database.lease_seconds)
            connection.autocommit = True
        except psycopg.Error as error:
            raise self._database.classified(error) from error
        return connection


class _Held:
    """One epoch's connection; it is used and closed by one thread at a time, and replaced when it was lost."""

    def __init__(self, topology: str, key: int, connect: Callable[[], psycopg.Connection]) -> None:
        self.key = key
        self._topology = topology
        self._connect = connect
        self._connection: psycopg.Connection | None = None
        self._is_given = False
        """Whether the key is locked: the server may still know the session before."""
        self._is_ended = False
        self._in_use = threading.Lock()

    def begin(self) -> int:
        """Open the connection and lock the key; returns the session's number."""
        self._connection = self._connect()
        try:
            return self._lock_key(self._connection)
        except BaseException:
            self.end()
            raise

    def keep(self) -> None:
        """Look after the connection in a thread, unless one is still at that."""
        if self._in_use.acquire(blocking=False):
            try:
                threading.Thread(target=self._look_after, name="trident-presence", daemon=True).start()
            except RuntimeError:  # no thread to be had now: the next heartbeat asks again
                self._in_use.release()

    def end(self) -> None:
        """Close the connection, or let the thread that uses it do so."""
        self._is_ended = True
        if self._in_use.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._in_use.release()

    def _look_after(self) -> None:
        try:
            self._renew()
        except (psycopg.Error, TridentError) as error:
            # the lease holds without it: its end would only be noticed later
            _log.warning("the presence of %r's owner was not renewed: %s; trying again", self._topology, error)
        finally:
            self._in_use.release()
            if self._is_ended:
                self.end()

    def _renew(self) -> None:
        if self._connection is not None:
            try:
                self._check(self._connection)
            except (psycopg.OperationalError, RetryableError):
                self._let_go()
        if self._connection is None and not self._is_ended:
            self._connection = self._connect()
            self._lock_key(self._connection)

    def _check(self, connection: psycopg.Connection) -> None:
        if not self._is_given:
            self._lock_key(connection)
        connection.execute("SELECT 1")

    def _lock_key(self, connection: psycopg.Connection) -> int:
        self._is_given = False
        self._is_given, pid = _ask(connection, self.key)
        return pid

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _ask(connection: psycopg.Connection, key: int) -> tuple[bool, int]:
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
