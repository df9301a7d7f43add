"""The set-based merge: one UPDATE of the keys that are there, one INSERT of those that are not, or a MERGE for both.

The MERGE looks each key up once instead of twice. It is not for tables with triggers, rules or policies: what those
leave out or change shows in the counts of two statements.

Null is a key like any other, but `=` never matches it and `IS NOT DISTINCT FROM` can't be hashed; so
rows are merged per null pattern (which of the key columns are null), mostly the one without any.
"""

from __future__ import annotations

from dataclasses import replace

from trident.state.layout import Merge, ValueColumn
from trident.state.tables.dialect import Dialect
from trident.state.tables.names import quote
from trident.state.tables.shape import PREVIOUS, PREVIOUS_TXID, TXID, TableShape

NullPattern = tuple[bool, ...]
"""For each key column, whether it is null."""


def update_statement(shape: TableShape, dialect: Dialect, source: str, pattern: NullPattern) -> str:
    """Return the UPDATE of stored rows that `source` has a row for; needs the parameter `txid`."""
    changes, guards = _changes(shape, dialect)
    conditions = all_of([*matches(shape, pattern), *guards])
    return f"UPDATE {shape.quoted} AS t SET {', '.join(changes)} FROM {source} AS s WHERE {conditions}"


def insert_statement(shape: TableShape, source: str, pattern: NullPattern) -> str:
    """Return the INSERT of `source`'s rows whose key is not stored; needs the parameter `txid`."""
    names, chosen = _made(shape)
    stored = f"SELECT 1 FROM {shape.quoted} AS t WHERE {all_of(matches(shape, pattern))}"
    wanted = all_of([*_of_pattern(shape, pattern), f"NOT EXISTS ({stored})"])
    return f"INSERT INTO {shape.quoted} ({names}) SELECT {chosen} FROM {source} AS s WHERE {wanted}"


def merge_statement(shape: TableShape, dialect: Dialect, source: str, pattern: NullPattern, *, by_key: bool) -> str:
    """Return one statement for both, which gives the numbers of rows that it changed and made; needs `txid`.

    A stored row of a later txid is neither changed nor made. `by_key` brings the rows in the order of their keys: then
    one that looks them up in the index, and makes new ones there, finds the page of the one before still at hand.
    """
    changes, guards = _changes(shape, dialect)
    names, chosen = _made(shape)
    order = ", ".join(f"s.{quote(key.name)}" for key in shape.keys)
    rows = f"SELECT * FROM {source} AS s WHERE {all_of(_of_pattern(shape, pattern))}"
    if by_key and order:
        rows += f" ORDER BY {order}"
    merge = (
        f"MERGE INTO {shape.quoted} AS t USING ({rows}) AS s ON {all_of(matches(shape, pattern))} "
        f"WHEN MATCHED{''.join(f' AND {guard}' for guard in guards)} THEN UPDATE SET {', '.join(changes)} "
        f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({chosen}) RETURNING merge_action() AS done"
    )
    counts = ", ".join(f"count(*) FILTER (WHERE done = '{done}')" for done in ("UPDATE", "INSERT"))
    return f"WITH m AS ({merge}) SELECT {counts} FROM m"


def stored_statement(shape: TableShape, source: str, pattern: NullPattern) -> str:
    """Return the SELECT of the keys that are stored, their Python-folded columns paired with the staged ones.

    Needs the lock of the state's position, without which nobody changes its rows.
    """
    keys = [f"s.{quote(key.name)}" for key in shape.keys]
    pairs = [f"{side}.{quote(column.name)}" for column in shape.combined for side in ("t", "s")]
    return (
        f"SELECT {', '.join([*keys, *pairs])} FROM {shape.quoted} AS t, {source} AS s "
        f"WHERE {all_of(matches(shape, pattern))}"
    )


def merged_statement(shape: TableShape, source: str, pattern: NullPattern) -> str:
    """Return the SELECT of how many keys of `source` are stored, as those of `txid` where rows have one."""
    guards = [f"t.{TXID} = :txid"] if shape.has_txid else []
    conditions = all_of([*matches(shape, pattern), *guards])
    return f"SELECT count(*) FROM {shape.quoted} AS t, {source} AS s WHERE {conditions}"


def patterns_statement(shape: TableShape, source: str) -> str:
    """Return the SELECT of the null patterns that occur in `source`."""
    return f"SELECT DISTINCT {', '.join(f's.{quote(key.name)} IS NULL' for key in shape.keys)} FROM {source} AS s"


def _changes(shape: TableShape, dialect: Dialect) -> tuple[list[str], list[str]]:
    """Return what is set in a stored row, and what must be true of it."""
    changes = [f"{quote(column.name)} = {_merged(shape, column, dialect)}" for column in shape.values]
    if shape.has_previous:
        changes += [f"{quote(PREVIOUS + column.name)} = t.{quote(column.name)}" for column in shape.values]
        changes.append(f"{PREVIOUS_TXID} = t.{TXID}")
    if not shape.has_txid:
        return changes, []
    return [*changes, f"{TXID} = :txid"], [f"t.{TXID} < :txid"]


def _made(shape: TableShape) -> tuple[str, str]:
    """Return the columns of a new row, and what goes into them."""
    names = [quote(column.name) for column in shape.staged]
    chosen = [f"s.{name}" for name in names]
    if shape.has_txid:
        names.append(TXID)
        chosen.append(":txid")
    return ", ".join(names), ", ".join(chosen)


def _of_pattern(shape: TableShape, pattern: NullPattern) -> list[str]:
    return [
        f"s.{quote(key.name)} IS {'NULL' if is_null else 'NOT NULL'}"
        for key, is_null in zip(shape.keys, pattern, strict=True)
    ]


def _merged(shape: TableShape, column: ValueColumn, dialect: Dialect) -> str:
    stored, staged = _both(column)
    match column.merge:
        case Merge.ADD:
            return f"COALESCE({dialect.add(column, stored, staged)}, {stored}, {staged})"
        case Merge.LEAST | Merge.GREATEST:
            return dialect.pick(column, stored, staged)
        case Merge.LEAST_BY | Merge.GREATEST_BY:
            (by,) = (other for other in shape.values if other.name == column.by)
            return _kept_by(column, by, dialect)
        case Merge.REPLACE | Merge.COMBINE:
            return staged  # of COMBINE it already holds the folded value


def _kept_by(column: ValueColumn, by: ValueColumn, dialect: Dialect) -> str:
    """Return the value of whichever row stands first by another column; see `folding`, which this must agree with."""
    stored, staged = _both(column)
    stored_by, staged_by = _both(by)
    alike = replace(column, merge=by.merge)
    either = f"({stored} IS NULL OR {staged} IS NULL)"
    if by.merge is Merge.LEAST:
        tie = f"CASE WHEN {either} THEN NULL ELSE {dialect.pick(alike, stored, staged)} END"
    else:
        tie = f"CASE WHEN {either} THEN COALESCE({stored}, {staged}) ELSE {dialect.pick(alike, stored, staged)} END"
    # a pick leaves null out, so who has nothing to be chosen by loses
    wins = f"{dialect.pick(by, stored_by, staged_by)} = {stored_by}"
    return f"CASE WHEN {stored_by} = {staged_by} THEN {tie} WHEN {wins} THEN {stored} ELSE {staged} END"


def _both(column: ValueColumn) -> tuple[str, str]:
    """Return a column's stored and its staged value."""
    return f"t.{quote(column.name)}", f"s.{quote(column.name)}"


def matches(shape: TableShape, pattern: NullPattern) -> list[str]:
    """Return what pairs a stored row `t` with a staged one `s` of this null pattern.

    The staged one stands first: where the two columns' collations differ, SQLite compares by the first one's.
    """
    conditions: list[str] = []
    for key, is_null in zip(shape.keys, pattern, strict=True):
        name = quote(key.name)
        conditions += [f"t.{name} IS NULL", f"s.{name} IS NULL"] if is_null else [f"s.{name} = t.{name}"]
    return conditions


def all_of(conditions: list[str]) -> str:
    """Return the condition that all of them hold."""
    return " AND ".join(conditions) or "TRUE"
