"""An opened sink that writes rows to a table: as a state does, but the rows stay as they are and are nobody's."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlalchemy import Connection

from trident.base.identity import BatchId
from trident.base.order import ORDER
from trident.state.capabilities import Capabilities, Transaction, WritableByTasks
from trident.state.databases.base import EndsSessions, HasSchemas
from trident.state.row_tables.keeping import RowCounting, RowResetting, RowUndoing
from trident.state.row_tables.place import RowPlace
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.tables.counting import refuse_owned
from trident.state.tables.forgetting import TableForgetting
from trident.state.tables.place import TablePlacing, connection_of
from trident.state.tables.ready import ReadyHeld, ReadyWritten, unready
from trident.state.tables.sql_target import SqlTarget
from trident.state.tables.staging import Writes


class RowTarget(SqlTarget):
    """See `Target`; applied in the pin's transaction where its database is the ledger's."""

    def __init__(
        self,
        place: RowPlace,
        writing: WritableByTasks | None = None,
        let_write: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        super().__init__(place, let_write)
        # Known here rather than at the first batch: a type without a column is the topology's mistake.
        for field in place.schema:
            place.dialect.column_type(field.type)
        self._place = place
        database = place.database
        self._capabilities = Capabilities(
            beside=None if place.apart else self,
            undoing=RowUndoing(place),
            resetting=RowResetting(place),
            writing=writing,
            diverting=self,
            counting=RowCounting(place),
            forgetting=TableForgetting(place, keeps_rows=True),
            ending=database if place.apart and isinstance(database, EndsSessions) else None,
            placing=TablePlacing(place, database) if isinstance(database, HasSchemas) else None,
            keeps_what_left=True,
        )

    @property
    def capabilities(self) -> Capabilities:
        """It can't be queried, and can't go back."""
        return self._capabilities

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Turn held rows into the driver's values."""
        if not isinstance(updates, HeldUpdates):
            return ReadyWritten(updates.writes, None)
        rows = conform(updates.rows, self._place.schema)
        return ReadyHeld(rows, self._place.dialect.ready_rows(rows), None)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held rows into a table that only this transaction sees."""
        if isinstance(updates, ReadyHeld) and updates.count:
            self._place.create_copy(connection_of(transaction))
            self._place.copy_rows(connection_of(transaction), updates.ready)

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Move the position from txid - 1 to txid, then write; a batch that is in is skipped whole."""
        if not isinstance(updates, ReadyHeld | ReadyWritten):
            raise unready(self.name)
        connection, place = connection_of(transaction), self._place
        if not place.applied.move(connection, batch):
            place.check_already_in(connection, batch)
            return False
        if isinstance(updates, ReadyWritten) and updates.writes:
            place.create_copy(connection)
            place.load(connection, Writes(place.staging, batch, updates.writes))
        if updates.count:
            place.write(connection, batch.owner.topology, updates.count)
        return True

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: a row that a deferred trigger has changed since can't be told from others."""

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch, without what only orders them."""
        rows = super().staged_rows(batch, updates)
        return rows.drop_columns([ORDER]) if ORDER in rows.column_names else rows

    def _make(self, connection: Connection) -> None:
        self._place.prepare(connection)

    def _refuse_unowned(self, connection: Connection) -> None:
        refuse_owned(connection, self._place)

    def _note(self, connection: Connection, topology: str) -> None:
        self._place.note(connection, topology)

    def _check(self, rows: pa.Table) -> None:
        self._place.dialect.check_rows(rows)
