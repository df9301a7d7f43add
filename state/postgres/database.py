"""One PostgreSQL database: where its connections are made and its transactions run."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from datetime import timedelta

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Engine, create_engine

from trident.base.errors import ConfigurationError
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state.databases.base import SchemaTerms, SqlTransaction
from trident.state.databases.transactions import run_transaction
from trident.state.postgres.errors import classify, is_lost
from trident.state.postgres.schema import POSTGRES_TERMS

# Plans: small batches must find their rows by the index, large ones by a hash of the staged rows in memory;
# the statistics target makes ANALYZE of a temporary table take a millisecond;
# a plan made for a batch of ten rows must not be used for one of a hundred thousand.
_SETTINGS = """
SELECT set_config('lock_timeout', %(lock)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       set_config('client_connection_check_interval', %(check)s, false),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('random_page_cost', '1.1', false),
       set_config('default_statistics_target', '1', false),
       set_config('work_mem', greatest(32768, (SELECT setting::int FROM pg_settings WHERE name = 'work_mem')) || 'kB',
                  false),
       set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('client_min_messages', 'warning', false)
"""


class PostgresDatabase:
    """A PostgreSQL database with a small pool of connections; satisfies `SqlDatabase`.

    May be used from several threads. It connects when first used, so making one never fails for a
    server that is away. A stopped owner can't hold locks beyond its lease: waiting for a lock, idling
    in a transaction and a client that is gone all end on the server's side before the lease does.
    """

    def __init__(self, dsn: str, *, pool_size: int = 4, lease: timedelta = DEFAULT_TIMEOUTS.lease) -> None:
        if pool_size < 1:
            raise ConfigurationError(f"pool_size must be at least 1, not {pool_size}")
        if lease <= timedelta(0):
            raise ConfigurationError(f"the lease must be positive, not {lease}")
        self._dsn = normal_dsn(dsn)
        self._pool_size = pool_size
        self._lock = threading.Lock()
        self._is_open = False
        self._lease = lease
        self._engine = self._new_engine()

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

    def follow(self, lease: timedelta) -> None:
        """Keep every connection's limits below this lease from now on, until `close` below the shortest one given.

        A block that is at work keeps the connection that it has.
        """
        with self._lock:
            lease = min(lease, self._lease) if self._is_open else lease
            self._is_open = True
            if lease == self._lease:
                return
            before, self._lease = self._engine, lease
            self._engine = self._new_engine()
        before.dispose()

    def transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Run a block in one READ COMMITTED transaction; see `SqlDatabase.transaction`."""
        return run_transaction(self._engine, psycopg.Error, classify, is_lost)

    def close(self) -> None:
        """Dispose of the pool; may be called again."""
        self._is_open = False
        self._engine.dispose()

    def _new_engine(self) -> Engine:
        return create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            isolation_level="READ COMMITTED",
            pool_size=self._pool_size,
            max_overflow=0,
            pool_timeout=self.lease_seconds,
            pool_pre_ping=True,
            hide_parameters=True,
        )

    def _connect(self) -> psycopg.Connection:
        return connect(self._dsn, self.lease_seconds)

    def __repr__(self) -> str:
        return f"PostgresDatabase({masked(self._dsn)})"


def connect(dsn: str, lease_seconds: float) -> psycopg.Connection:
    """Open one connection with the limits that keep a stopped process from blocking its successor."""
    half = f"{max(1, int(lease_seconds * 500))}ms"
    connection = psycopg.connect(
        dsn,
        connect_timeout=10,
        keepalives=1,
        keepalives_idle=max(1, int(lease_seconds / 6)),
        keepalives_interval=max(1, int(lease_seconds / 12)),
        keepalives_count=3,
        application_name=conninfo_to_dict(dsn).get("application_name", "trident"),
    )
    check = f"{max(1, min(2000, int(lease_seconds * 250)))}ms"
    connection.execute(_SETTINGS, {"lock": half, "idle": half, "check": check})
    connection.commit()
    return connection


def normal_dsn(dsn: str) -> str:
    """Return a libpq connection string; raises ConfigurationError that shows no part of an unreadable one."""
    plain = dsn.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        return make_conninfo("", **conninfo_to_dict(plain))
    except psycopg.ProgrammingError:
        text = "the Postgres DSN can't be read; write postgresql://user:password@host:5432/database"
        raise ConfigurationError(text) from None


def masked(dsn: str) -> str:
    """Return where a DSN points to, without password or options."""
    parts = conninfo_to_dict(dsn)
    shown = [f"{key}={parts[key]}" for key in ("host", "port", "dbname", "user") if parts.get(key)]
    return " ".join(shown) or "the default server"
