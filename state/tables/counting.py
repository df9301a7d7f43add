"""Whether a table still has the rows that its position stands for: it may have been emptied or made anew by hand.

Each apply keeps account of the rows that it makes, in its own transaction. Counting a large table takes long, so a
take-over compares what costs little: the exact number of a small table, that a large one has any row at all, and,
where the database tells (PostgreSQL), that it is still the same storage; a table that was truncated, dropped and made
again, or rewritten, is another one and is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.advice import RESET_ANEW, RESET_CLEARING, RESET_KEEPING_ROWS
from trident.base.errors import MismatchError, RefusedError, RowsGoneError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.tables.meta import AppliedRow
from trident.state.tables.owning import POSITIONS, refuse_noted
from trident.state.tables.place import SqlPlace, TablePlace
from trident.state.tables.shape import TXID, TableShape
from trident.state.tables.staged import StagedTable

_CHEAP = 100_000
"""Up to how many rows a table is counted at each take-over."""


@dataclass(frozen=True, slots=True)
class TableCounting:
    """See `CountsRows`."""

    place: TablePlace

    def check_rows(self, owner: Owner, epoch: Epoch, pinned: int | None = None) -> None:
        """Compare the table with the account; one that was never counted is counted now."""
        place = self.place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is None:
                return
            relation = place.dialect.relation(connection, place.shape.table)
            is_same = row.row_count is not None and row.relation == relation
            found = count_rows(connection, place.shape, _limit(row.row_count) if is_same else None)
            if row.row_count is not None and _differs(row.row_count, found, is_same):
                raise _different(place, row, found)
            if not is_same:
                place.applied.counted(connection, owner.topology, found, relation)


def count_rows(connection: Connection, shape: TableShape, limit: int | None) -> int:
    """Return how many rows the table has, at most so many."""
    rows = f"SELECT 1 FROM {shape.quoted}" + ("" if limit is None else f" LIMIT {limit}")
    return int(connection.execute(text(f"SELECT count(*) FROM ({rows}) AS r")).scalar_one())


def note_rows(connection: Connection, place: TablePlace, topology: str) -> None:
    """Count all rows and take them for those that belong to the position: it is new, or a person has said so."""
    relation = place.dialect.relation(connection, place.shape.table)
    place.applied.counted(connection, topology, count_rows(connection, place.shape, None), relation)


def refuse_emptied(connection: Connection, place: TablePlace, topology: str) -> None:
    """Raise RowsGoneError for a table that had rows and has none: there is nothing to keep."""
    row = place.applied.read(connection, topology, locked=False)
    if row is not None and row.row_count and not count_rows(connection, place.shape, 1):
        raise _different(place, row, 0)


def refuse_unowned(connection: Connection, place: TablePlace) -> None:
    """Raise MismatchError for a new state's table that has rows, of which nothing says how far they have read.

    Or one that is another's. Of a state that the ledger knows the coordinator says it: emptied, that would be gone.
    """
    refuse_owned(connection, place)  # a writer may have come since it was looked at
    if count_rows(connection, place.shape, 1):
        raise MismatchError(
            f"table {place.shape.table!r} has rows but no owner: nothing says how far they have read. Nothing was "
            f"changed. Empty it by hand, then the state is a new one and holds what comes from now on; or {RESET_ANEW}."
        )


def refuse_owned(connection: Connection, place: SqlPlace) -> None:
    """Raise MismatchError for a table that another state has; asked for one that has no position, under the lock too.

    Two addresses may lead to one table, each with a path of its own to where positions are kept, and two names to one:
    who has it, by a position here or of another schema, or by a note of a weaker level, may have come since it was
    looked at.
    """
    for topology, state in place.applied.holders(connection):
        raise MismatchError(
            f"table {place.table!r} belongs to another state already: {state!r} of topology {topology!r}. Nothing was "
            "changed: use another table"
        )
    for claim in place.ownership.elsewhere(connection, POSITIONS):
        raise MismatchError(
            f"table {place.table!r} belongs to another state already: trident_applied in schema "
            f"{claim.schema!r} of this database has a position for it. Nothing was changed: use another table, or "
            "that schema in the state's address."
        )
    refuse_noted(connection, place.ownership)


def check_merged(connection: Connection, staged: StagedTable, batch: BatchId, expected: int, changed: int) -> None:
    """Raise unless a merge stored as many rows as were staged; what the table's own triggers left out is refused.

    A trigger may also leave a row as it was, which the database counts as a change: where there are any, the txid
    beside each value is the evidence.
    """
    shape = staged.shape
    if changed == expected:
        if expected and shape.has_txid and staged.dialect.acts_by_itself(connection, shape.table):
            _require_stored(shape.table, expected, staged.count_merged(connection, batch.txid))
        return
    later = text(f"SELECT EXISTS (SELECT 1 FROM {shape.quoted} WHERE {TXID} > :txid)")
    is_later = shape.has_txid and connection.execute(later, {"txid": batch.txid}).scalar_one()
    if changed < expected and not is_later and staged.count_keys(connection) == expected:
        _require_stored(shape.table, expected, changed)
    raise MismatchError(
        f"{batch}: merging {expected} staged rows changed {changed} rows of {shape.table!r} (a key that was staged "
        "twice, or a stored row of a later txid); rolled back, the stored state is unchanged"
    )


def check_still_stored(connection: Connection, staged: StagedTable, batch: BatchId, expected: int) -> None:
    """Raise RefusedError unless the rows are still as they were merged after the table's deferred triggers ran."""
    if expected and staged.shape.has_txid:
        _require_stored(staged.shape.table, expected, staged.count_merged(connection, batch.txid))


def check_stored_plainly(connection: Connection, staged: StagedTable, expected: int) -> None:
    """Raise RefusedError unless the keys that were merged are stored, after what the table does by itself.

    Whether they hold what was written nothing tells: there is no txid beside them.
    """
    dialect, table = staged.dialect, staged.shape.table
    if dialect.run_deferred(connection, table):
        dialect.run_deferred(connection)
    elif not dialect.acts_by_itself(connection, table):
        return
    _require_stored(table, expected, staged.count_merged(connection, 0))


def _require_stored(table: str, expected: int, stored: int) -> None:
    if stored != expected:
        raise RefusedError(
            f"{expected - stored} of {expected} staged rows were not stored in {table!r}: a trigger or "
            "rule of the table left them out"
        )


def _limit(row_count: int | None) -> int:
    return row_count + 1 if row_count is not None and row_count <= _CHEAP else 1


def _differs(row_count: int, found: int, is_same: bool) -> bool:
    return found == 0 if is_same and row_count > _CHEAP else found != row_count


def _different(place: TablePlace, row: AppliedRow, found: int) -> RowsGoneError:
    expected = row.row_count or 0
    belong = f"that belong to txid {row.position.txid}, where it stands"
    ways = f"or {RESET_CLEARING}"
    if found:
        ways += f"; if that was on purpose, {RESET_KEEPING_ROWS}"
    whose, changed = f"table {place.shape.table!r} of state {place.name!r}", "Nothing was changed."
    if place.was_missing and not found:
        what = f"is missing, and with it the {expected} rows {belong}: it was dropped, or restored without it."
        if place.was_made:
            changed = "An empty table was made in its place; nothing else was changed."
    else:
        holds = f"more than the {expected} rows" if found > expected else f"{found} rows, not the {expected}"
        what = f"holds {holds} {belong}: it was emptied, made anew, changed by hand or restored without its rows."
    return RowsGoneError(f"{whose} {what} {changed}", f"Restore it to the same point as the ledger, {ways}.")
