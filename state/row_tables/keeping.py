"""What a person may do with a sink whose rows stay where they are: they are the table's from then on."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.errors import MismatchError, RowsGoneError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import CannotUndoError
from trident.state.positions import before_attempt, is_in
from trident.state.row_tables.place import RowPlace
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.tables.counting import refuse_owned


@dataclass(frozen=True, slots=True)
class RowUndoing:
    """See `Undoable`: what was written can't be told from what others have done to the table since."""

    place: RowPlace

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError when rows of the batch were written."""
        place = self.place
        with place.working(batch.owner, batch.epoch) as transaction:
            row = place.owned(transaction.connection, batch.owner, batch.epoch)
            if is_in(row.position if row else None, batch, place.name):
                self._require_none(batch, updates)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Move the position of a batch that had no rows back; one that was not written needs nothing."""
        place = self.place
        with place.working(batch.owner, batch.epoch) as transaction:
            row = place.owned(transaction.connection, batch.owner, batch.epoch)
            if row is None or not is_in(row.position, batch, place.name):
                return
            self._require_none(batch, updates)
            if not place.applied.move_back(transaction.connection, batch, before_attempt(row.position, batch, before)):
                raise MismatchError(f"{batch}: sink {place.name!r} moved while it was read; nothing was undone")

    def _require_none(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        if updates.count:
            raise CannotUndoError(
                f"{batch}: sink {self.place.name!r} has written {updates.count} rows to table {self.place.table!r}, "
                "which keeps nothing of what was there before, so they can't be taken back. Correct them by hand, or "
                "by records that do"
            )


@dataclass(frozen=True, slots=True)
class RowResetting:
    """See `Resettable`: rows stay, whatever becomes of states."""

    place: RowPlace

    def check_clear(self, topology: str) -> None:
        """Do nothing: nothing is deleted."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Begin a new life behind what was written."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid up to which it has written, None if it never did."""
        place = self.place
        with place.database.transaction() as transaction:
            connection = transaction.connection
            if place.dialect.find_columns(connection, "trident_applied") is None:
                return None
            row = place.applied.read(connection, topology, locked=False)
        return row.position.txid if row else None

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Begin a new life behind what was written."""
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        place = self.place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is not None and row.position.owner == owner:
                return
            if row is None:
                place.database.schema_terms.lock(connection)  # what a weaker level begins in takes it, too
                refuse_owned(connection, place)
            place.make(connection)
            if row is None:
                place.applied.insert(connection, owner, epoch, birth_txid)
            else:
                place.applied.rebirth(connection, owner, epoch, birth_txid)
            place.note(connection, owner.topology)


@dataclass(frozen=True, slots=True)
class RowCounting:
    """See `CountsRows`: others may change the rows; that it is still the same table can be told."""

    place: RowPlace

    def check_rows(self, owner: Owner, epoch: Epoch, pinned: int | None = None) -> None:
        """Raise RowsGoneError for a table that was dropped, or made anew."""
        place = self.place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is None:
                return
            if place.was_missing or place.is_another(connection, row):
                raise self._gone(row.position.txid)
            place.note(connection, owner.topology)

    def _gone(self, txid: int) -> RowsGoneError:
        place = self.place
        return RowsGoneError(
            f"table {place.table!r} of sink {place.name!r} is not the one that it has written to up to txid {txid}: it "
            "was dropped, made anew, or restored without the ledger. Nothing was changed.",
            f"Restore it to the same point as the ledger; if that was on purpose, {RESET_KEEPING_ROWS}.",
        )
