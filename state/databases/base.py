"""Database objects: the one place where connections are made, transactions run and driver errors classified."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlalchemy import Connection, Engine


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """An open SQL transaction; `connection.connection.driver_connection` is the driver's own (psycopg, sqlite3)."""

    connection: Connection


@dataclass(frozen=True, slots=True)
class SchemaTerms:
    """What a database has for the tables that are made by numbered steps: SQL texts, and a lock."""

    moment: str
    """The type of a point in time with its zone."""
    double: str
    """The type of a float of 64 bits."""
    binary: str
    """The type of bytes of any length."""
    now: str
    """The database's clock at this moment, also inside a long transaction; fits a column of type `moment`."""
    lock: Callable[[Connection], None]
    """Keeps every other process from making tables until the transaction ends."""


@runtime_checkable
class SqlDatabase(Protocol):
    """One database with a small pool of connections; shared by a ledger and the states beside it."""

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine, for DDL and the ledger's own statements."""

    @property
    def schema_terms(self) -> SchemaTerms:
        """What its numbered tables are made with."""

    def transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Run a transaction: committed at the end of the block, rolled back by any exception.

        Driver errors leave it as RetryableError (rolled back: serialization, lock timeout, connection lost
        before COMMIT was sent), OutcomeUnknownError (connection lost while COMMIT was on its way), RefusedError
        (constraint, overflow, size) or FatalError. READ COMMITTED on Postgres; BEGIN IMMEDIATE on SQLite.
        """

    def close(self) -> None:
        """Dispose of the pool; may be called again."""
