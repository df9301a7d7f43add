"""Database objects: the one place where connections are made, transactions run and driver errors classified."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlalchemy import Connection, Engine

from trident.base.identity import Epoch


@dataclass(frozen=True, slots=True)
class Work:
    """For whom a session is at work: a topology, under that epoch."""

    topology: str
    epoch: Epoch | None
    """None: the one that this process worked under last."""
    raises: str = ""
    """The place of the fence that it is about to raise to this epoch, which nobody has until then."""


def _unmarked(_: Connection, __: Work) -> None:
    """Do nothing: nobody could see a mark."""


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """An open SQL transaction; `connection.connection.driver_connection` is the driver's own (psycopg, sqlite3)."""

    connection: Connection
    mark: Callable[[Connection, Work], None] = _unmarked
    """Shows a server's other sessions for whom this one is at work, up to the transaction's end."""

    def work_for(self, topology: str, epoch: Epoch) -> None:
        """Say for whom this is, before the first lock: a successor may end what older epochs have left open."""
        self.mark(self.connection, Work(topology, epoch))

    def take(self, topology: str, epoch: Epoch, fence: str) -> None:
        """Say that this raises the topology's epoch in that fence: another one's number may be the same until then."""
        self.mark(self.connection, Work(topology, epoch, fence))

    def work_on(self, topology: str) -> None:
        """Say the same where the epoch is not at hand: it is that of the last `work_for`, if there was one."""
        self.mark(self.connection, Work(topology, None))


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
class EndsSessions(Protocol):
    """A database whose server can end the sessions of a process that has stopped."""

    def end_older(self, topology: str, epoch: Epoch) -> None:
        """End every session that is at work for the topology under an older epoch of this line, and no other.

        What they had not committed is rolled back. One that this role may not end is left, and told.
        """

    def end_stuck(self) -> None:
        """End every session that has waited long for a client that is gone, and works under no epoch yet."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What else there is in a database, where a name without a schema does not lead to."""

    schemas: tuple[str, ...]
    """These have what was asked for."""
    here: tuple[str, ...]
    """The schema that such a name leads to, if there is any."""
    is_addressed: bool
    """Whether the address says so itself, and not a setting of role or database, which may change unnoticed."""


@runtime_checkable
class HasSchemas(Protocol):
    """A database in which a name without a schema means what the session's settings make of it."""

    def place_of(self, connection: Connection, table: str) -> str:
        """Return what names a table's place, there or not yet, equal through whatever address it is asked.

        Of two that are equal the server has said that they are one; a restart in between makes one differ.
        """

    def elsewhere(
        self, connection: Connection, table: str, column: str, value: str, *, begins: bool = False
    ) -> Elsewhere:
        """Return where else there is a table of this name with such a row, as far as may be read.

        The column's text is the value, or `begins` with it.
        """


@runtime_checkable
class KnowsPlaces(Protocol):
    """A database that can say where a table is, whatever address led to it."""

    def place_of(self, connection: Connection, table: str) -> str:
        """Return what names a table's place, there or not yet; see `HasSchemas.place_of`."""


@runtime_checkable
class KnowsItsHome(Protocol):
    """A database that can be told from others whatever address led to it."""

    def home(self, connection: Connection) -> str:
        """Return what is equal for two objects only if a transaction of one can do all that one of the other can."""


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
