"""What PostgreSQL gives to sinks that write rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, text

from trident.state.postgres.dialect import definitions, unique_indexes
from trident.state.tables.names import quote, quote_table
from trident.state.tables.shape import ColumnSpec

_WIDER: Final = {
    "smallint": ("integer", "bigint", "numeric"),
    "integer": ("bigint", "numeric"),
    "bigint": ("numeric",),
    "real": ("double precision",),
    "text": ("character varying",),
}
_BY_CAST: Final = ("uuid", "json", "jsonb")
"""Types that texts are turned into, or refused."""
_NUMERIC: Final = re.compile(r"numeric\((\d+),(-?\d+)\)")
_VARYING: Final = re.compile(r"character varying\((\d+)\)")
_WHOLE_DIGITS: Final = {"smallint": 5, "integer": 10, "bigint": 19}

_UNFIT = text("""
    SELECT CASE
        WHEN bool_or(c.relkind NOT IN ('r', 'p')) THEN
            'it is, or a partition of it is, a view or a foreign table; rows need tables that this server keeps'
        WHEN bool_or(c.relpersistence <> 'p') THEN
            'it is, or a partition of it is, unlogged or temporary: a crash of the server would empty it; make it one '
            'that is logged (ALTER TABLE ... SET LOGGED)'
        WHEN :has_keys AND bool_or(row_security_active(c.oid)) THEN
            'row-level security may hide rows from this role, so a row that is there could not be found'
        WHEN :has_keys AND bool_or(c.relhasrules) THEN
            'it has rules, under which a row that is there can not be told from a new one'
        WHEN :has_keys AND EXISTS (SELECT 1 FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
                                   WHERE p.oid = to_regclass(:table) AND p.relkind = 'r') THEN
            'other tables inherit from it, in whose rows a key would not be found' END
    FROM pg_class AS c
    WHERE c.oid IN (SELECT to_regclass(:table) UNION SELECT relid FROM pg_partition_tree(to_regclass(:table)))""")


class PostgresRows:
    """See `RowDialect`; stateless."""

    def conversion(self, staged: str, stored: str) -> str | None:
        """Widen numbers, and let the server read texts as what the column holds."""
        if staged == stored or stored in _WIDER.get(staged, ()):
            return "{}"
        if staged == "text" and stored in _BY_CAST:
            return f"CAST({{}} AS {stored})"
        if staged == "text" and _VARYING.fullmatch(stored):
            return "{}"
        return "{}" if _fits_numeric(staged, stored) else None

    def told_apart(self, stored: str) -> str:
        """Name the collation of bytes for what has one; a type that ignores case by itself is its table's own."""
        return '{} COLLATE "C"' if stored == "text" or _VARYING.fullmatch(stored) else "{}"

    def longest(self, stored: str) -> int | None:
        """Return the length of a `character varying`: the server cuts blanks at the end of what is longer."""
        found = _VARYING.fullmatch(stored)
        return int(found[1]) if found else None

    def definitions(self, specs: Sequence[ColumnSpec]) -> str:
        """Collate texts as in every other table of this library."""
        return definitions(specs)

    def create_copy(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Make a table that each commit empties."""
        columns = ", ".join(f"{quote(spec.name)} {spec.type}" for spec in specs)
        return (f"CREATE TEMPORARY TABLE IF NOT EXISTS {quote(table)} ({columns}) ON COMMIT DELETE ROWS",)

    def unfit(self, connection: Connection, table: str, *, has_keys: bool) -> str | None:
        """Look at the table and at its partitions."""
        asked = {"table": quote_table(table), "has_keys": has_keys}
        found: str | None = connection.execute(_UNFIT, asked).scalar()
        return found

    def decides_conflicts(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Ask the catalogue: ON CONFLICT takes all of those columns that there are."""
        found = unique_indexes(connection, table, columns)
        return bool(found) and all(found)


def _fits_numeric(staged: str, stored: str) -> bool:
    """Tell whether a number of one type keeps all of its digits in the other."""
    target = _NUMERIC.fullmatch(stored)
    source = _NUMERIC.fullmatch(staged)
    if source and stored == "numeric":
        return True
    if not target:
        return False
    scale = int(target[2])
    whole = int(target[1]) - scale
    if source:
        return scale >= int(source[2]) and whole >= int(source[1]) - int(source[2])
    return scale >= 0 and whole >= _WHOLE_DIGITS.get(staged, whole + 1)
