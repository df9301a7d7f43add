"""One SQLite file: where its connections are made and its transactions run."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from trident.base.checks import check_path, check_seconds
from trident.base.errors import ConfigurationError
from trident.state.databases.base import SchemaTerms, SqlTransaction
from trident.state.databases.transactions import run_transaction
from trident.state.sqlite.errors import classify, is_busy, is_lost
from trident.state.sqlite.functions import register
from trident.state.sqlite.schema import SQLITE_TERMS

_PAUSE_SECONDS = 0.01


class SqliteDatabase:
    """A SQLite file with a small pool of connections; satisfies `SqlDatabase`.

    May be used from several threads and processes of one machine. Every transaction starts with
    BEGIN IMMEDIATE, so that what it reads can't change before it writes; it waits at most
    `busy_seconds` for another writer. The log is synced at each commit.
    """

    def __init__(self, path: str | Path, *, busy_seconds: float = 10.0) -> None:
        if str(path) in ("", ":memory:"):
            raise ConfigurationError(
                "path: a SQLite database needs a file; in memory there are MemoryLedger and MemoryState"
            )
        check_path("path", path)
        check_seconds("busy_seconds", busy_seconds, may_be_zero=True)
        self._path = Path(path)
        self._busy_seconds = busy_seconds
        self._engine = create_engine(
            "sqlite+pysqlite://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=0,
            hide_parameters=True,
        )
        event.listen(self._engine, "begin", _begin_immediate)
        event.listen(self._engine, "invalidate", _give_the_file_back)

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine, for DDL and the ledger's own statements."""
        return self._engine

    @property
    def schema_terms(self) -> SchemaTerms:
        """What its numbered tables are made with."""
        return SQLITE_TERMS

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    def place_of(self, connection: Connection, table: str) -> str:
        """Return file and table; of a file by its number: links, and names in another case, may lead to it too."""
        found = self._path.stat()
        folded = "".join(letter.lower() if letter.isascii() else letter for letter in table)
        return f"{found.st_dev}:{found.st_ino} {folded}"

    def home(self, connection: Connection) -> str:
        """Return the file; see `KnowsItsHome`."""
        return str(self._path.resolve())

    def transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Run a block in one BEGIN IMMEDIATE transaction; see `SqlDatabase.transaction`."""
        return run_transaction(self._engine, sqlite3.Error, classify, is_lost)

    def close(self) -> None:
        """Dispose of the pool; may be called again."""
        self._engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        # isolation_level None: the driver opens no transaction of its own, `_begin_immediate` does.
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        self._turn_to_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # Users' tables may refer to a state's, with what is done to these rows then: our statements act on one table.
        connection.execute("PRAGMA foreign_keys = OFF")
        register(connection)
        return connection

    def _turn_to_wal(self, connection: sqlite3.Connection) -> None:
        """Wait for others: SQLite refuses without its own wait while another connection turns a new file to WAL."""
        again = Retrying(
            retry=retry_if_exception(is_busy),
            wait=wait_fixed(_PAUSE_SECONDS),
            stop=stop_after_delay(self._busy_seconds),
            reraise=True,
        )
        # fetched: a statement that is still open would get in the way of what follows
        again(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())

    def __repr__(self) -> str:
        return f"SqliteDatabase({str(self._path)!r})"


def _give_the_file_back(dbapi_connection: sqlite3.Connection, *_: object) -> None:
    """Roll back before a connection is thrown away, as after a Ctrl-C in the middle of a statement.

    Its file stays locked for everybody as long as a traceback keeps a cursor of it, whether it was closed or not.
    """
    with suppress(sqlite3.Error):
        dbapi_connection.rollback()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
