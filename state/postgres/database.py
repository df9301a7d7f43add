"""One PostgreSQL database: where its connections are made and its transactions run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, Engine, create_engine

from trident.base.checks import check_count, check_duration, check_text
from trident.base.errors import ConfigurationError, FatalError, RetryableError, TridentError
from trident.base.identity import Epoch
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state.databases.base import Elsewhere, SchemaTerms, SqlTransaction, Work
from trident.state.databases.transactions import run_transaction
from trident.state.postgres.addresses import masked, normal_dsn
from trident.state.postgres.errors import classify, is_lock_timeout, is_lost, is_read_only, may_quote_a_row
from trident.state.postgres.looking import LOGIN_SECONDS
from trident.state.postgres.paths import (
    SearchPath,
    asked_path,
    found_path,
    home_of,
    pin_own,
    pin_path,
    place_of,
    schemas_with,
)
from trident.state.postgres.patience import PatientConnection
from trident.state.postgres.schema import POSTGRES_TERMS
from trident.state.postgres.sessions import end_older, end_stuck, long_open, mark_of, show_mark

# Plans: small batches must find their rows by the index, large ones by a hash of the staged rows in memory;
# the statistics target makes ANALYZE of a temporary table take a millisecond;
# a plan made for a batch of ten rows must not be used for one of a hundred thousand.
# Limits that a role or database sets for its other sessions: a merge may take long, and a session that shows that its
# owner is alive is idle most of the time; what a stopped process can hold is limited above.
# A client of which nothing more is heard (a line that was cut without a word): its session ends, with its locks, about
# when it gives up itself, and not after the two hours of the system's.
# How values are read and written: as every other session of this library does, whatever server, role or DSN say.
# Instants in a zone with summer time can't even be compared in the hour that comes twice.
_SETTINGS = """
SELECT set_config('lock_timeout', %(lock)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       set_config('client_connection_check_interval', %(check)s, false),
       set_config('tcp_keepalives_idle', %(probe)s, false),
       set_config('tcp_keepalives_interval', %(probe)s, false),
       set_config('tcp_keepalives_count', '3', false),
       set_config('tcp_user_timeout', %(lock)s, false),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('random_page_cost', '1.1', false),
       set_config('default_statistics_target', '1', false),
       set_config('work_mem', greatest(32768, (SELECT setting::int FROM pg_settings WHERE name = 'work_mem')) || 'kB',
                  false),
       set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('client_min_messages', 'warning', false),
       set_config('TimeZone', 'UTC', false),
       set_config('DateStyle', 'ISO, YMD', false),
       set_config('IntervalStyle', 'postgres', false),
       set_config('extra_float_digits', '1', false),
       set_config('bytea_output', 'hex', false),
       set_config('standard_conforming_strings', 'on', false),
       (SELECT count(set_config(name, '0', false)) FROM pg_settings
        WHERE name IN ('statement_timeout', 'idle_session_timeout', 'transaction_timeout')),
       extract(epoch FROM pg_postmaster_start_time())::text,
       (SELECT extract(epoch FROM backend_start)::text FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()),
       pg_backend_pid(), current_setting('server_encoding')
"""
_KEPT_ASIDE = 8
"""Heartbeats of as many topologies at once log in no more than once each; a connection is made when it is needed."""
_FROM_THE_START = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c lock_timeout=0"
"""Else a role's own limits could end the statement that replaces them."""


class PostgresDatabase:
    """A PostgreSQL database with a small pool of connections; satisfies `SqlDatabase`.

    May be used from several threads. It connects when first used, so making one never fails for a
    server that is away. A stopped owner can't hold locks beyond its lease: waiting for a lock, idling
    in a transaction and a client that is gone all end on the server's side before the lease does.
    """

    def __init__(
        self, dsn: str, *, pool_size: int = 4, lease: timedelta = DEFAULT_TIMEOUTS.lease, whose: str = ""
    ) -> None:
        check_count("pool_size", pool_size)
        check_duration("lease", lease)
        self._dsn = normal_dsn(check_text("dsn", dsn, allowed="the address of a database", secret=True))
        self._pool_size = pool_size
        self._whose = whose
        self._lock = threading.Lock()
        self._is_open = False
        self._lease = lease
        self._works: dict[str, Work] = {}
        self._raising: dict[str, str] = {}
        self._path: SearchPath | None = None
        self._engine, self._aside = self._new_engines()

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine, for DDL and the ledger's own statements."""
        return self._engine

    @property
    def schema_terms(self) -> SchemaTerms:
        """What its numbered tables are made with."""
        return POSTGRES_TERMS

    @property
    def dsn(self) -> str:
        """The DSN with its password, for tasks that connect on their own; never to be shown."""
        return self._dsn

    @property
    def lease_seconds(self) -> float:
        """What the limits of each connection stay below."""
        return self._lease.total_seconds()

    @property
    def path(self) -> SearchPath | None:
        """Where names are looked up in every session: what the first one found, None before it."""
        return self._path

    def follow(self, lease: timedelta) -> None:
        """Keep every connection's limits below this lease from now on, until `close` below the shortest one given.

        A block that is at work keeps the connection that it has.
        """
        with self._lock:
            lease = min(lease, self._lease) if self._is_open else lease
            self._is_open = True
            if lease == self._lease:
                return
            before, self._lease = (self._engine, self._aside), lease
            self._engine, self._aside = self._new_engines()
        for engine in before:
            engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Run a block in one READ COMMITTED transaction; see `SqlDatabase.transaction`.

        One that waited too long for a lock ends what older epochs of its topologies have left open, so that it
        succeeds when it is repeated; the error says who else has been in a transaction all that time.
        """
        with self._on(self._engine) as transaction:
            yield transaction

    @contextmanager
    def aside(self) -> Iterator[SqlTransaction]:
        """Run a block like `transaction`, on a connection for which nothing else that is at work is waited for."""
        with self._on(self._aside) as transaction:
            yield transaction

    @contextmanager
    def _on(self, engine: Engine) -> Iterator[SqlTransaction]:
        try:
            with run_transaction(engine, psycopg.Error, classify, is_lost, self._marked) as transaction:
                yield transaction
        except RetryableError as error:
            if is_read_only(error.__cause__):
                engine.dispose()  # sessions that began while the database was read-only stay so
            way = self._clear_the_way() if is_lock_timeout(error.__cause__) else ""
            # the driver's text may quote a row, or a statement that a function has made of one
            cause = None if may_quote_a_row(error.__cause__) else error.__cause__
            raise RetryableError(f"{error}{way}") from cause

    def end_older(self, topology: str, epoch: Epoch) -> None:
        """End every session at work here for the topology under an older epoch; see `EndsSessions`."""
        work = Work(topology, epoch)
        with self._lock:
            self._works[topology] = work  # also where a ledger that was put back gives out a lower one again
        with self._alone() as connection:
            end_older(connection, work, self.lease_seconds / 4)
            self._end_stuck(connection)

    def end_stuck(self) -> None:
        """End sessions that stopped while they made tables or took a lease; see `EndsSessions`."""
        with self._alone() as connection:
            self._end_stuck(connection)

    def place_of(self, connection: Connection, table: str) -> str:
        """Return what names a table's place; see `HasSchemas`."""
        return place_of(connection, table)

    def home(self, connection: Connection) -> str:
        """Return the running server, database, role and schemas; see `KnowsItsHome`."""
        return home_of(connection)

    def elsewhere(
        self, connection: Connection, table: str, column: str, value: str, *, begins: bool = False
    ) -> Elsewhere:
        """Return which schemas that no name leads to have such a row; see `HasSchemas`."""
        assert self._path is not None, "a connection is open"
        found = schemas_with(connection, table, column, value, begins=begins)
        return Elsewhere(found, self._path.schemas[:1], self._path.is_addressed)

    def close(self) -> None:
        """Dispose of the pool; may be called again."""
        self._is_open = False
        self._engine.dispose()
        self._aside.dispose()

    def _new_engines(self) -> tuple[Engine, Engine]:
        """Return the pool, and one that makes another connection whenever all that it keeps are in use."""
        made = partial(
            create_engine,
            "postgresql+psycopg://",
            creator=self._connect,
            isolation_level="READ COMMITTED",
            pool_timeout=self.lease_seconds,
            pool_pre_ping=True,
            hide_parameters=True,
        )
        return made(pool_size=self._pool_size, max_overflow=0), made(pool_size=_KEPT_ASIDE, max_overflow=-1)

    def _marked(self, connection: Connection) -> SqlTransaction:
        return SqlTransaction(connection, self._mark)

    def _mark(self, connection: Connection, work: Work) -> None:
        with self._lock:
            known = self._works.get(work.topology)
            if work.raises:
                self._raising[mark_of(work)] = work.topology
            elif work.epoch is None:
                work = known or work
            elif known is None or not _is_later(known.epoch, work.epoch):
                self._works[work.topology] = work
        if work.epoch is not None:
            show_mark(connection, work)

    def _clear_the_way(self) -> str:
        """End what older epochs hold; returns what else may be in the way, in words."""
        with self._lock:
            works = list(self._works.values())
        left: list[str] = []
        try:
            with self._alone() as connection:
                for work in works:
                    left += end_older(connection, work, self.lease_seconds / 4)
                left += self._end_stuck(connection)
                left = left or long_open(connection, self.lease_seconds / 2)
        except TridentError as error:
            return f". Who holds it could not be asked: {error}"
        return f". In a transaction all that time: {'; '.join(left)}" if left else ""

    def _end_stuck(self, connection: psycopg.Connection) -> list[str]:
        with self._lock:
            raising = dict(self._raising)
        return end_stuck(connection, raising, self.lease_seconds / 2, self.lease_seconds / 4)

    @contextmanager
    def _alone(self) -> Iterator[psycopg.Connection]:
        """Give a connection of no pool, on which each statement is a transaction."""
        try:
            with closing(self._connect()) as connection:
                connection.autocommit = True
                yield connection
        except psycopg.Error as error:
            raise classify(error) from error

    def _connect(self) -> psycopg.Connection:
        try:
            return connect(self._dsn, self.lease_seconds, pin=self._pin)
        except psycopg.OperationalError as error:
            found = self.classified(error)
            if type(found) is FatalError:
                raise found from error
            raise

    def classified(self, error: psycopg.Error) -> TridentError:
        """Return the error to raise instead of one that came while a connection was made.

        A login that is refused says whose address it is, and where that leads to: a topology has several.
        """
        found = classify(error)
        if type(found) is not FatalError:
            return found
        where = masked(self._dsn)
        return FatalError(f"{self._whose} ({where}): {found}" if self._whose else f"{where}: {found}")

    def _pin(self, connection: psycopg.Connection) -> None:
        with self._lock:
            path = self._path if self._path is not None and self._path.schemas else found_path(connection)
            if path.is_addressed and not path.schemas:
                raise ConfigurationError(_no_schema(self._dsn, asked_path(connection)))
            self._path = path  # of a schema that was not there yet the next session may find it
        pin_path(connection, path)

    def __repr__(self) -> str:
        return f"PostgresDatabase({masked(self._dsn)})"


def connect(
    dsn: str, lease_seconds: float, work: Work | None = None, pin: Callable[[psycopg.Connection], None] = pin_own
) -> psycopg.Connection:
    """Open one connection with the limits that keep a stopped process from blocking its successor.

    One that is at work for a topology all the time says so. `pin` says where it looks names up.
    """
    half = f"{max(1, int(lease_seconds * 500))}ms"
    parts = conninfo_to_dict(dsn)
    connection = PatientConnection.connect(
        make_conninfo(dsn, **_options(parts)),
        connect_timeout=LOGIN_SECONDS,
        keepalives=1,
        keepalives_idle=max(1, int(lease_seconds / 6)),
        keepalives_interval=max(1, int(lease_seconds / 12)),
        keepalives_count=3,
        # a statement whose bytes nobody acknowledges: keepalives are not sent then
        tcp_user_timeout=int(lease_seconds * 500),
        client_encoding="UTF8",
        application_name=mark_of(work) if work else parts.get("application_name", "trident"),
    )
    check = f"{max(1, min(2000, int(lease_seconds * 250)))}ms"
    connection.be_patient(dsn, lease_seconds)
    try:
        pin(connection)  # before any other statement, whose words might mean something else
        limits = {"lock": half, "idle": half, "check": check, "probe": str(max(1, int(lease_seconds / 12)))}
        row = connection.execute(_SETTINGS, limits).fetchone()
        connection.commit()
        assert row is not None
        connection.is_of(row[-4], row[-3] or "")
        _refuse_pooler(dsn, connection.info.backend_pid, row[-2])
        _refuse_encoding(dsn, row[-1])
    except BaseException:
        connection.close()
        raise
    return connection


def _no_schema(dsn: str, asked: str) -> str:
    return (
        f"the address of the database at {masked(dsn)} names the search_path {asked}, and no schema of it is there, or "
        "this role may use none (GRANT USAGE). Nothing was written: correct the name, or CREATE SCHEMA"
    )


def _options(parts: Mapping[str, object]) -> dict[str, str]:
    """Return the limits from the first statement on, beside the options that the address gives.

    A service may have options of its own, which any given here would replace: it goes without.
    """
    if parts.get("service") or os.environ.get("PGSERVICE"):
        return {}
    return {"options": f"{parts.get('options') or os.environ.get('PGOPTIONS', '')} {_FROM_THE_START}".strip()}


def _refuse_pooler(dsn: str, named: int, at_work: int) -> None:
    """Raise ConfigurationError where each transaction may run on another session than the one before.

    Settings, session locks and prepared statements would be another client's; a pooler gives itself away by naming
    another backend at login than the one that answers.
    """
    if named != at_work:
        raise ConfigurationError(
            f"a pooler (pgbouncer or the like) stands between this process and PostgreSQL at {masked(dsn)}: the "
            "session's settings and locks can't be relied on there. Nothing was written; connect to the server itself."
        )


def _refuse_encoding(dsn: str, encoding: str) -> None:
    """Raise ConfigurationError where the database keeps texts in another encoding than UTF-8.

    Texts would be ordered by the bytes of that one, so that a least or greatest text would depend on how batches were
    cut; those that it can't hold could be stored nowhere, not even as what a person diverts. SQL_ASCII checks no text.
    """
    if encoding != "UTF8":
        raise ConfigurationError(
            f"the database at {masked(dsn)} keeps texts as {encoding}, which has another order than UTF-8 and can't "
            "hold every text. Nothing was written; use a database that was made with CREATE DATABASE … ENCODING 'UTF8' "
            "TEMPLATE template0 (pg_dump and pg_restore bring into it what is here)."
        )


def _is_later(epoch: Epoch | None, other: Epoch) -> bool:
    """Tell whether one is known to be later: an older run may share the database with its successor."""
    return epoch is not None and epoch.line == other.line and epoch.number > other.number
