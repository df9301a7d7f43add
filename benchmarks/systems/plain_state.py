"""A state in a PostgreSQL table that is merged as the library's own and keeps nothing beside its values.

It takes part in the transactions of a ledger in memory, by a transaction of its own that is over before that one: what
happens between the two is not exactly once, and a batch that is tried again is added again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.identity import BatchId
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state import PostgresState, StateKind
from trident.state.capabilities import Capabilities, Transaction
from trident.state.layout import StateLayout
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect
from trident.state.staged import StagedUpdates
from trident.state.tables.ready import ReadyHeld
from trident.state.tables.shape import table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class PlainState(PostgresState):
    """Rows of keys and values, and no more; needs a `dsn`."""

    kind: StateKind = field(default=StateKind.NON_TRANSACTIONAL, kw_only=True)

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Make a database for the dsn; nothing is sent to it yet."""
        if self.dsn is None:
            raise ValueError(f"state {self.name!r} has no dsn")
        database = PostgresDatabase(self.dsn, lease=timeouts.lease, whose=f"state {self.name!r}")
        return _PlainTarget(self.name, database, layout, self.kind, timeouts)


class _PlainTarget(TableTarget):
    """Merges every batch that it is given, in one transaction, and looks at nothing else."""

    def __init__(
        self, name: str, database: PostgresDatabase, layout: StateLayout, kind: StateKind, timeouts: Timeouts
    ) -> None:
        super().__init__(database, PostgresDialect(), name, table_shape(name, name, kind, layout), True, timeouts)
        self._database = database
        self._rows = 0

    @property
    def capabilities(self) -> Capabilities:
        """Being applied with the ledger's transaction, and nothing that needs what is not stored."""
        return Capabilities(beside=self)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: the ledger's transaction is none of a database."""

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Copy and merge in a transaction of the own database, which is committed when this returns."""
        assert isinstance(updates, ReadyHeld), "tasks stage nothing for it"
        if not updates.count:
            return True
        place = self._place
        no_nulls = all(updates.rows.column(key.name).null_count == 0 for key in place.shape.keys)
        with self._database.transaction() as own:
            place.staged.create(own.connection)
            place.staged.copy(own.connection, updates.ready)
            merged = place.staged.merge(
                own.connection,
                batch.txid,
                updates.count,
                no_null_keys=no_nulls,
                new_keys=place.had_new_keys,
                stored=lambda: self._rows,
            )
        self._rows += merged.made
        place.had_new_keys = merged.made > 0
        return True

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Leave what the table has for its COMMIT to that."""
        return False

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: no value says which txid it is of."""

    def close(self) -> None:
        """Let go of the connections, too: the database is nobody else's."""
        super().close()
        self._database.close()
