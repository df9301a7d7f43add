"""A table that records are appended to at one of the weaker levels: without a position."""

from __future__ import annotations

import pyarrow as pa

from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import WritableByTasks
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.plainly import Holds, PlainFound, PlainTarget, no_plain_form
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.rows import conform
from trident.state.tables.place import plain_placing
from trident.state.tables.plain_marks import PlainMarks


class PlainRows(PlainTarget):
    """See `PlainTarget`."""

    def __init__(self, place: RowPlace, writing: WritableByTasks | None = None, *, by_task: bool = False) -> None:
        for field in place.schema:
            place.dialect.column_type(field.type)
        super().__init__(
            place.name,
            writing,
            beside=not place.apart,
            keeps_what_left=True,
            placing=plain_placing(place.database, place.table),
        )
        self._place = place
        self._by_task = by_task
        self._marks = PlainMarks(place.database, place.dialect, place.name, place.table, may_share=True)

    @property
    def database(self) -> SqlDatabase:
        """Where the table is."""
        return self._place.database

    def check(self) -> None:
        """Make what is missing, and roll that back."""
        rolled_back(self._place.database.transaction(), self._prepare)

    def prepare(self) -> None:
        """Make the table, or check that rows fit into the one that is there."""
        with self._place.database.transaction() as transaction:
            self._prepare(transaction)

    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """Append the rows in one transaction."""
        place = self._place
        rows = conform(rows, place.schema)
        place.dialect.check_rows(rows)
        ready = place.dialect.ready_rows(rows)
        with place.working(batch.owner, batch.epoch) as transaction:
            place.create_copy(transaction.connection)
            place.copy_rows(transaction.connection, ready)
            place.write_rows(transaction.connection, rows.num_rows)
            if not self._by_task:
                self._marks.note_rows(transaction.connection, batch, by_task=False)
            self._marks.hold(transaction.connection, batch)
            if self.is_beside and holds is not None:
                holds(transaction)  # last: who takes the topology over waits for this lock

    def found(self, topology: str) -> PlainFound:
        """Look for the table and for whose it is noted to be; whoever reads its rows may take them away."""
        place = self._place
        with place.database.transaction() as transaction:
            connection = transaction.connection
            is_missing = place.dialect.find_columns(connection, place.table) is None
            return PlainFound(self._marks.find(connection, topology), is_missing)

    def own(self, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        """Make the table ready and note whose it is; what was written stays."""
        place = self._place
        with place.working(owner, epoch) as transaction:
            self._prepare(transaction, owner.topology)
            self._marks.put(transaction.connection, owner, epoch, had_rows=False)

    def leave(self, owner: Owner, epoch: Epoch) -> None:
        """Say in the note that others may have the table."""
        with self._place.working(owner, epoch) as transaction:
            self._marks.leave(transaction.connection, owner, epoch)

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if self._place.apart:
            self._place.database.close()

    def _prepare(self, transaction: SqlTransaction, topology: str | None = None) -> None:
        place, connection = self._place, transaction.connection
        place.dialect.check_server(connection)
        self._marks.prepare(connection)
        if topology is not None:
            self._marks.take(connection, topology)
        place.make(connection)


def check_appends(sink: str, shape: RowShape) -> None:
    """Raise ConfigurationError for rows that are found again: what came last depends on the order of batches."""
    if shape.write is not RowWrite.APPEND:
        raise no_plain_form(
            f"sink {sink!r}: write={shape.write.value!r}, for which batches need an order,",
            "append the records, and let a view say which one came last",
        )
