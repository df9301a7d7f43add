"""A state in a SQL database: how its rows are merged; what every SQL target does is in `sql_target`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
from sqlalchemy import Connection

from trident.base.identity import BatchId
from trident.base.timeouts import Timeouts
from trident.base.user_code import UsersCode
from trident.state.capabilities import Capabilities, Transaction, WritableByTasks
from trident.state.databases.base import EndsSessions, HasSchemas, SqlDatabase
from trident.state.layout import StateLayout
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.tables.combining import copy_folded, fold, is_where_it_was_read, use_folded
from trident.state.tables.counting import (
    TableCounting,
    check_merged,
    check_still_stored,
    note_rows,
    refuse_unowned,
)
from trident.state.tables.dialect import Dialect
from trident.state.tables.forgetting import TableForgetting
from trident.state.tables.place import TablePlace, TablePlacing, connection_of
from trident.state.tables.querying import TableQuerying
from trident.state.tables.ready import ReadyHeld, ReadyWritten, unready
from trident.state.tables.renaming import TableRenaming
from trident.state.tables.resetting import TableResetting
from trident.state.tables.shape import TableShape
from trident.state.tables.sifting import TableSifting
from trident.state.tables.sql_target import SqlTarget
from trident.state.tables.staged import Merged
from trident.state.tables.staging import Writes
from trident.state.tables.tables import prepare_tables
from trident.state.tables.trying import TableTrying
from trident.state.tables.undoing import TableUndoing


class TableTarget(SqlTarget):
    """An opened SQL state; see `Target` for what holds of every method.

    `writing` is what lets tasks stage to it, `let_write` grants them what that needs once the tables are there;
    `shared` says that the database is the ledger's.
    """

    def __init__(
        self,
        database: SqlDatabase,
        dialect: Dialect,
        name: str,
        shape: TableShape,
        shared: bool,
        timeouts: Timeouts,
        writing: WritableByTasks | None = None,
        let_write: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        # Known here rather than at the first batch: a type without a column is the topology's mistake.
        shape.columns(dialect.column_type)
        self._place = place = TablePlace(database, dialect, name, shape, not shared, UsersCode(timeouts))
        super().__init__(place, let_write)

        def under(other: str) -> TableTarget:
            return TableTarget(database, dialect, other, shape, shared, timeouts, writing, let_write)

        sifting = TableSifting(place, self)
        self._capabilities = Capabilities(
            beside=self if shared else None,
            undoing=TableUndoing(place),
            resetting=TableResetting(place),
            trying=TableTrying(place),
            writing=writing,
            diverting=self,
            sifting=sifting,
            putting_back=sifting,
            querying=TableQuerying(place),
            counting=TableCounting(place),
            evolving=place,
            forgetting=TableForgetting(place),
            renaming=TableRenaming(place, under),
            ending=database if not shared and isinstance(database, EndsSessions) else None,
            placing=TablePlacing(place, database) if isinstance(database, HasSchemas) else None,
        )

    @property
    def layout(self) -> StateLayout:
        """The columns that the aggregation needs."""
        return self._place.shape.layout

    @property
    def capabilities(self) -> Capabilities:
        """All there are; beside the ledger if it is in its database."""
        return self._capabilities

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Turn held rows into the driver's values, and run the users' functions over what is stored."""
        place = self._place
        rows = None
        if isinstance(updates, HeldUpdates):
            updates = HeldUpdates(conform(updates.rows, self.layout.schema()))
            rows = place.dialect.ready_rows(updates.rows)
        folded = fold(place, batch, updates, rows) if place.shape.combined and updates.count else None
        if isinstance(updates, HeldUpdates):
            assert rows is not None
            return ReadyHeld(updates.rows, rows, folded)
        return ReadyWritten(updates.writes, folded)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates into a table that only this transaction sees."""
        if not isinstance(updates, ReadyHeld | ReadyWritten):
            raise unready(self.name)
        connection, place = connection_of(transaction), self._place
        if isinstance(updates, ReadyHeld):
            place.staged.create(connection)
            place.staged.copy(connection, updates.ready)
        if updates.folded is not None:
            copy_folded(connection, place, updates.folded)

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Move the position from txid - 1 to txid, then merge; a batch that is in is skipped whole."""
        if not isinstance(updates, ReadyHeld | ReadyWritten):
            raise unready(self.name)
        connection, place = connection_of(transaction), self._place
        expected = updates.count
        if place.shape.combined and expected and not is_where_it_was_read(connection, place, batch, updates.folded):
            return False
        if not place.applied.move(connection, batch):
            place.check_already_in(connection, batch)
            return False
        no_nulls = False
        if isinstance(updates, ReadyHeld):
            no_nulls = all(updates.rows.column(key.name).null_count == 0 for key in place.shape.keys)
        elif updates.writes:
            place.staged.create(connection)
            place.staged.load(connection, Writes(place.staging, batch, updates.writes))
        if updates.folded is not None:
            use_folded(connection, place, updates.folded)
        merged = self._merge(connection, batch, expected, no_nulls) if expected else Merged(0, 0)
        changed = merged.changed + merged.made
        check_merged(connection, place.staged, batch, expected, changed)
        place.applied.count(connection, batch.owner.topology, merged.made)
        return True

    def _merge(self, connection: Connection, batch: BatchId, expected: int, no_nulls: bool) -> Merged:
        place = self._place
        merged = place.staged.merge(
            connection,
            batch.txid,
            expected,
            no_null_keys=no_nulls,
            new_keys=place.had_new_keys,
            stored=partial(place.applied.row_count, connection, batch.owner.topology),
        )
        place.had_new_keys = merged.made > 0
        return merged

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Look at the txids beside the values again."""
        check_still_stored(connection_of(transaction), self._place.staged, batch, updates.count)

    def close(self) -> None:
        """Let go of the threads that users' functions run in, too."""
        self._place.users_code.close()
        super().close()

    def _make(self, connection: Connection) -> None:
        prepare_tables(connection, self._place)

    def _refuse_unowned(self, connection: Connection) -> None:
        refuse_unowned(connection, self._place)

    def _note(self, connection: Connection, topology: str) -> None:
        note_rows(connection, self._place, topology)

    def _check(self, rows: pa.Table) -> None:
        self._place.dialect.check_rows(rows)
