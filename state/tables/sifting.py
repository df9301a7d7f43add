"""Which rows of a batch a table refuses: merged part by part, each under a savepoint, in a transaction to roll back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlalchemy import Connection, NestedTransaction
from sqlalchemy.exc import DBAPIError

from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.base.looking import rolled_back
from trident.state.capabilities import SharesTransaction, Transaction
from trident.state.databases.base import SqlTransaction
from trident.state.layout import StateLayout
from trident.state.rows import conform
from trident.state.sifting import Sifted, Verdict, sift
from trident.state.staged import HeldUpdates
from trident.state.tables.combining import copy_folded
from trident.state.tables.dialect import ReadyRows
from trident.state.tables.place import TablePlace, connection_of
from trident.state.tables.ready import ReadyHeld


class _EndedError(Exception):
    """Ends a search whose transaction a refusal has ended: SQLite's `RAISE(ROLLBACK)` and `ON CONFLICT ROLLBACK` do."""


@dataclass(frozen=True, slots=True)
class TableSifting:
    """See `Sifts` and `PutsBack`; `applying` is the target itself, whose own statements decide."""

    place: TablePlace
    applying: SharesTransaction

    def check(self, rows: pa.Table) -> None:
        """Look at types and sizes, as staging does."""
        self.place.dialect.check_rows(conform(rows, self.place.schema))

    def try_in(self, batch: BatchId, action: Callable[[Transaction], None]) -> None:
        """Run it on a connection of this one's database."""

        def try_marked(transaction: SqlTransaction) -> None:
            transaction.work_for(batch.owner.topology, batch.epoch)
            action(transaction)

        rolled_back(self.place.database.transaction(), try_marked)

    @property
    def layout(self) -> StateLayout:
        """The columns of the table, in their order."""
        return self.place.shape.layout

    def try_rows(self, batch: BatchId, rows: pa.Table) -> None:
        """Merge all of them, with what waits for the COMMIT."""
        applying = self.applying
        ready = applying.ready(batch, HeldUpdates(rows))

        def merge(transaction: Transaction) -> None:
            applying.copy_in(transaction, batch, ready)
            applying.apply_in(transaction, batch, ready)
            if applying.run_deferred_in(transaction, of_all=False):
                applying.run_deferred_in(transaction, of_all=True)
                applying.check_stored_in(transaction, batch, ready)

        self.try_in(batch, merge)

    def sift(self, batch: BatchId, rows: pa.Table, before: Callable[[Transaction], None], most: int) -> Sifted:
        """Try parts of the rows; users' functions run once, over all of them, before the transaction."""
        try:
            ready = self.applying.ready(batch, HeldUpdates(rows))
        except RefusedError:
            return Sifted(Verdict.UNTOLD, rows.num_rows)
        assert isinstance(ready, ReadyHeld)
        found: list[Sifted] = []

        def search(transaction: Transaction) -> None:
            before(transaction)
            connection, place = connection_of(transaction), self.place
            place.staged.create(connection)
            if ready.folded is not None:
                copy_folded(connection, place, ready.folded)
            refuses = partial(self._refuses, transaction, batch, ready)
            in_full = partial(refuses, is_all=True) if place.apart else None
            found.append(sift(rows.num_rows, refuses, most, in_full))

        try:
            self.try_in(batch, search)
        except _EndedError:
            return Sifted(Verdict.UNTOLD, rows.num_rows)
        return found[0]

    def _refuses(
        self,
        transaction: Transaction,
        batch: BatchId,
        ready: ReadyHeld,
        numbers: Sequence[int],
        *,
        is_all: bool = False,
    ) -> bool:
        """Tell whether a merge of some rows is refused; of all that are to go in, also what waits for the COMMIT."""
        connection, part = connection_of(transaction), _part(ready, numbers)
        savepoint = connection.begin_nested()
        is_refused = False
        try:
            self._merge(connection, transaction, batch, part, is_all=is_all)
        except RefusedError:
            is_refused = True
        except DBAPIError as error:
            if not self.place.dialect.is_refusal(error):
                raise
            is_refused = True
        _roll_back(savepoint, is_refused=is_refused)
        return is_refused

    def _merge(
        self, connection: Connection, transaction: Transaction, batch: BatchId, part: ReadyHeld, *, is_all: bool
    ) -> None:
        applying = self.applying
        self.place.staged.copy(connection, part.ready)
        applying.apply_in(transaction, batch, part)
        if is_all and applying.run_deferred_in(transaction, of_all=False):
            applying.run_deferred_in(transaction, of_all=True)
            applying.check_stored_in(transaction, batch, part)


def _roll_back(savepoint: NestedTransaction, *, is_refused: bool) -> None:
    """Roll back what was tried; raises _EndedError where the refusal has ended the whole transaction."""
    try:
        savepoint.rollback()
    except DBAPIError as error:
        if not is_refused:
            raise
        raise _EndedError from error


def _part(ready: ReadyHeld, numbers: Sequence[int]) -> ReadyHeld:
    """Return some of the rows; quickly also where they are many, as nothing is said in a transaction meanwhile."""
    if isinstance(numbers, range):
        rows = ready.rows.slice(numbers.start, len(numbers))
        columns = tuple(column[numbers.start : numbers.stop] for column in ready.ready.columns)
    else:
        rows = ready.rows.take(pa.array(numbers, pa.int64()))
        columns = tuple(list(map(column.__getitem__, numbers)) for column in ready.ready.columns)
    return ReadyHeld(rows, ReadyRows(ready.ready.names, ready.ready.types, columns), ready.folded)
