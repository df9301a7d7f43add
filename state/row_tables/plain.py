"""A table that records are appended to at one of the weaker levels: without a position."""

from __future__ import annotations

import pyarrow as pa

from trident.base.identity import BatchId
from trident.base.looking import rolled_back
from trident.state.capabilities import WritableByTasks
from trident.state.databases.base import SqlTransaction
from trident.state.plainly import Holds, PlainTarget, no_plain_form
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.rows import conform
from trident.state.tables.plain import refuse_placed


class PlainRows(PlainTarget):
    """See `PlainTarget`."""

    def __init__(self, place: RowPlace, writing: WritableByTasks | None = None) -> None:
        for field in place.schema:
            place.dialect.column_type(field.type)
        super().__init__(place.name, writing, beside=not place.apart, keeps_what_left=True)
        self._place = place

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
            if self.is_beside and holds is not None:
                holds(transaction)  # last: who takes the topology over waits for this lock

    def clear(self) -> None:
        """Do nothing: what was written is the table's."""

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if self._place.apart:
            self._place.database.close()

    def _prepare(self, transaction: SqlTransaction) -> None:
        place, connection = self._place, transaction.connection
        place.dialect.check_server(connection)
        refuse_placed(connection, place.dialect, place.name, place.table)
        place.make(connection)


def check_appends(sink: str, shape: RowShape) -> None:
    """Raise ConfigurationError for rows that are found again: what came last depends on the order of batches."""
    if shape.write is not RowWrite.APPEND:
        raise no_plain_form(
            f"sink {sink!r}: write={shape.write.value!r}, for which batches need an order,",
            "append the records, and let a view say which one came last",
        )
