"""A place in a SQL database that is written by txid: who may write it, where it stands, where its rows are staged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlalchemy import Connection

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.user_code import UsersCode
from trident.state.capabilities import Transaction
from trident.state.databases.base import HasSchemas, KnowsPlaces, SqlDatabase, SqlTransaction
from trident.state.evolving import HeldColumns, coming_columns, held_layout
from trident.state.layout import ValueColumn
from trident.state.positions import is_in
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import Applied, AppliedRow, check_fence
from trident.state.tables.names import STAGING, copy_table, helper_table
from trident.state.tables.owning import Ownership
from trident.state.tables.shape import TableShape
from trident.state.tables.staged import StagedTable


class SqlPlace:
    """What all parts of a target in a SQL database share; every method runs inside the caller's transaction."""

    def __init__(
        self,
        database: SqlDatabase,
        dialect: Dialect,
        name: str,
        table: str,
        schema: pa.Schema,
        apart: bool,
        is_sink: bool = False,
    ) -> None:
        self.database = database
        self.dialect = dialect
        self.name = name
        self.table = table
        self.schema = schema
        """The columns of its staged rows."""
        self.apart = apart
        """Whether it has a fence of its own and stages durably, as a target not beside the ledger must."""
        self.was_missing = False
        """Whether the table was not there when it was looked for last."""
        self.was_made = False
        """Whether an empty one was made in its place then, and stays."""
        self.applied = Applied(dialect, name, table, is_sink)
        self.ownership = Ownership(database, dialect, table)
        self.staging = helper_table(STAGING, table)
        self.copy = copy_table(table, schema)
        """The table with one batch's rows that only a transaction sees."""

    @contextmanager
    def working(self, owner: Owner, epoch: Epoch) -> Iterator[SqlTransaction]:
        """Run a transaction that shows for whom it works before it takes its first lock."""
        with self.database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            yield transaction

    def owned(self, connection: Connection, owner: Owner, epoch: Epoch) -> AppliedRow | None:
        """Return the locked row after checking that no newer epoch holds the topology."""
        self.check_fence(connection, owner, epoch)
        row = self.applied.read(connection, owner.topology)
        if row is not None and row.epoch.number > epoch.number:
            raise FencedError(f"epoch {row.epoch.number} wrote state {self.name!r} after {epoch.number}; nothing done")
        return row

    def check_fence(self, connection: Connection, owner: Owner, epoch: Epoch) -> None:
        """Hold the fence; the ledger's own serves a state beside it."""
        if self.apart:
            check_fence(connection, self.dialect, owner.topology, epoch)

    def check_already_in(self, connection: Connection, batch: BatchId) -> None:
        """Raise MismatchError unless the position could not move because the batch is in."""
        row = self.applied.read(connection, batch.owner.topology)
        if not is_in(row.position if row else None, batch, self.name):
            raise MismatchError(f"{batch}: state {self.name!r} moved while it was read; nothing was applied")


class TablePlace(SqlPlace):
    """One state's place."""

    def __init__(
        self, database: SqlDatabase, dialect: Dialect, name: str, shape: TableShape, apart: bool, users_code: UsersCode
    ) -> None:
        super().__init__(database, dialect, name, shape.table, shape.layout.schema(), apart)
        self.shape = shape
        self.users_code = users_code
        self.staged = StagedTable(dialect, shape, self.copy)
        self.coming: tuple[ValueColumn, ...] = ()
        """Columns that this version adds once the ledger has recorded it."""
        self.empty: frozenset[str] = frozenset()
        """Columns that may be there or not, since nothing can be in them."""
        self._opened_with = shape.layout
        self.had_new_keys = True
        """Whether the last merge made rows, so that the next one may too."""

    def keep(self, columns: HeldColumns) -> None:
        """See `Evolves`: tables go by names, so an order changes nothing."""
        layout = held_layout(self._opened_with, columns)
        self.coming, self.empty = coming_columns(self._opened_with, columns), columns.empty
        self.shape, self.schema = replace(self.shape, layout=layout), layout.schema()
        self.copy = copy_table(self.table, self.schema)
        self.staged = StagedTable(self.dialect, self.shape, self.copy)


class TablePlacing:
    """See `KnowsItsPlace`; asks the server."""

    def __init__(self, place: SqlPlace, schemas: HasSchemas) -> None:
        self._place = place
        self._schemas = schemas

    def place(self) -> str:
        """Return server, database, schema and table."""
        with self._place.database.transaction() as transaction:
            return self._schemas.place_of(transaction.connection, self._place.table)


@dataclass(frozen=True, slots=True)
class PlainPlacing:
    """See `KnowsItsPlace`; of a table without a position, which no other state's position shows to be one with it."""

    database: SqlDatabase
    places: KnowsPlaces
    table: str

    def place(self) -> str:
        """Return database and table."""
        with self.database.transaction() as transaction:
            return self.places.place_of(transaction.connection, self.table)


def plain_placing(database: SqlDatabase, table: str) -> PlainPlacing | None:
    """Return what says where a plain table is, None of a database that can't."""
    return PlainPlacing(database, database, table) if isinstance(database, KnowsPlaces) else None


def connection_of(transaction: Transaction) -> Connection:
    """Return the open connection; a table takes part in SQL transactions only."""
    if not isinstance(transaction, SqlTransaction):
        raise TypeError(f"a SQL state needs a SQL transaction, not {type(transaction).__name__}")
    return transaction.connection
