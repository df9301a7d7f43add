"""A SQL state at one of the weaker levels: a row per key, without a txid; whose it is stands in a table beside."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.errors import RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import WritableByTasks
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.plainly import Holds, PlainFound, PlainTarget
from trident.state.rows import conform
from trident.state.tables.counting import check_stored_plainly
from trident.state.tables.dialect import Dialect
from trident.state.tables.names import copy_table
from trident.state.tables.place import plain_placing
from trident.state.tables.plain_marks import PlainMarks
from trident.state.tables.plain_trying import PlainTrying, empty_table
from trident.state.tables.shape import TableShape
from trident.state.tables.staged import StagedTable
from trident.state.tables.tables import prepare_values

Lock = Callable[[Connection, str], None]
"""Lets one transaction at a time go on that writes to this table, until it ends."""


def database_locks(connection: Connection, table: str) -> None:
    """Do nothing: the database has one writer at a time by itself."""


class PlainTable(PlainTarget):
    """See `PlainTarget`; merges by the same statements as a state that is exactly once.

    Those look a key up and then change or make it, so two transactions that do it at once would make a new key twice,
    and which columns are null decides how keys are compared: one goes after the other.
    """

    def __init__(
        self,
        database: SqlDatabase,
        dialect: Dialect,
        name: str,
        shape: TableShape,
        *,
        shared: bool,
        lock: Lock = database_locks,
        writing: WritableByTasks | None = None,
        by_task: bool = False,
    ) -> None:
        shape.columns(dialect.column_type)  # a type without a column is the topology's mistake
        super().__init__(
            name,
            writing,
            beside=shared,
            placing=plain_placing(database, shape.table),
            trying=PlainTrying(database, dialect, shape),
        )
        self._database = database
        self._dialect = dialect
        self._shape = shape
        self._shared = shared
        self._lock = lock
        self._staged = StagedTable(dialect, shape, copy_table(shape.table, shape.layout.schema()))
        self._marks = PlainMarks(database, dialect, name, shape.table)
        self._by_task = by_task

    @property
    def database(self) -> SqlDatabase:
        """Where the table is."""
        return self._database

    def check(self) -> None:
        """Make what is missing, and roll that back."""
        rolled_back(self._database.transaction(), self._prepare)

    def prepare(self) -> None:
        """Make the table, or check the one that is there."""
        with self._database.transaction() as transaction:
            self._prepare(transaction)

    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """Merge the rows in one transaction."""
        rows = conform(rows, self._shape.layout.schema())
        self._dialect.check_rows(rows)
        ready = self._dialect.ready_rows(rows)
        no_nulls = all(rows.column(key.name).null_count == 0 for key in self._shape.keys)
        with self._database.transaction() as transaction:
            transaction.work_for(batch.owner.topology, batch.epoch)
            connection = transaction.connection
            self._staged.create(connection)
            self._staged.copy(connection, ready)
            self._lock(connection, self._shape.quoted)
            merged = self._staged.merge(
                connection, 0, rows.num_rows, no_null_keys=no_nulls, new_keys=True, stored=lambda: None
            )
            if merged.changed + merged.made != rows.num_rows:
                raise RefusedError(
                    f"{rows.num_rows - merged.changed - merged.made} rows were not written to {self._shape.table!r}: a "
                    "trigger or rule of the table kept them out; nothing was written"
                )
            check_stored_plainly(connection, self._staged, rows.num_rows)
            self._marks.note_rows(connection, batch, by_task=self._by_task)
            self._marks.hold(connection, batch)
            if self._shared and holds is not None:
                holds(transaction)  # last: who takes the topology over waits for this lock

    def found(self, topology: str) -> PlainFound | None:
        """Look for the table, for whose it is noted to be, and for one row."""
        with self._database.transaction() as transaction:
            connection = transaction.connection
            mark = self._marks.find(connection, topology)
            if self._dialect.find_columns(connection, self._shape.table) is None:
                return PlainFound(mark, is_missing=True, has_rows=False)
            return PlainFound(mark, has_rows=self._has_rows(connection))

    def own(self, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        """Make the table ready, empty it if that is asked for, and note whose it is, in one transaction."""
        with self._database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            connection = transaction.connection
            self._prepare(transaction, owner.topology)
            # before anything is deleted: whoever comes late is refused by it
            self._marks.put(connection, owner, epoch, had_rows=not emptied and self._has_rows(connection))
            if emptied:
                empty_table(connection, self._dialect, self._shape, owner.topology)
            if self._shared and holds is not None:
                holds(transaction)  # last: who takes the topology over waits for this lock

    def leave(self, owner: Owner, epoch: Epoch) -> None:
        """Say in the note that others may have the table."""
        with self._database.transaction() as transaction:
            self._marks.leave(transaction.connection, owner, epoch)

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if not self._shared:
            self._database.close()

    def _has_rows(self, connection: Connection) -> bool:
        return connection.execute(text(f"SELECT 1 FROM {self._shape.quoted} LIMIT 1")).first() is not None

    def _prepare(self, transaction: SqlTransaction, topology: str | None = None) -> None:
        self._dialect.check_server(transaction.connection)
        self._marks.prepare(transaction.connection)
        if topology is not None:
            self._marks.take(transaction.connection, topology)
        prepare_values(transaction.connection, self._dialect, self._shape)
