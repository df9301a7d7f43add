"""Whose rows have changed along with those of a table: what foreign keys, triggers and rules do knows no topology.

What will happen is not foretold from the catalogue, where keys lead over partitions, updates and other tables: the
server counts per table what a transaction has changed, however it came about. Of what was changed along, whatever
another topology has a position for is not ours to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from trident.state.postgres.paths import quoted

Changed = Mapping[int, int]
"""How many rows of a table, by its number, this session has updated or deleted, as it counts itself."""

_CHANGED = text("""
    SELECT c.oid, pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)
                  + pg_stat_get_xact_tuples_deleted(c.oid)
                  + (SELECT 1000000000 * count(*) FROM pg_locks AS l
                     WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.relation = c.oid
                           AND l.mode = 'AccessExclusiveLock')
    FROM pg_class AS c
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND NOT starts_with(c.relname, 'trident_')""")
"""Not of this library's own tables, whose names no state's may have. Such a lock is that of a TRUNCATE or of DDL."""
_GONE = text("""
    SELECT DISTINCT l.relation, '', '' FROM pg_locks AS l
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND NOT EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid = l.relation)""")
"""Tables that this transaction has dropped."""
_UNCOUNTED = text("""
    SELECT current_setting('track_counts') = 'off' AND EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.oid IN (SELECT to_regclass(:table) UNION SELECT relid FROM pg_partition_tree(to_regclass(:table)))
              AND (c.relhasrules OR EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid)))""")
_FAMILY = text("""
    WITH RECURSIVE family (number) AS (
        SELECT CAST(u.number AS oid) FROM unnest(CAST(:numbers AS bigint[])) AS u (number)
        UNION SELECT i.inhparent FROM family AS f JOIN pg_inherits AS i ON i.inhrelid = f.number)
    SELECT c.oid, n.nspname, c.relname
    FROM family AS f JOIN pg_class AS c ON c.oid = f.number JOIN pg_namespace AS n ON n.oid = c.relnamespace
    ORDER BY 2, 3""")
"""Tables, and those that they are partitions or children of, at whatever depth."""
_POSITIONS = text("""
    SELECT n.nspname, c.relname, c.relowner,
           c.relkind IN ('r', 'p') AND NOT row_security_active(c.oid)
               AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
           k.names @> ARRAY['relation'],
           coalesce((ARRAY['is_sink', 'may_share'] && k.names), FALSE), k.names @> ARRAY['has_left']
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (
        SELECT array_agg(CAST(a.attname AS text)) AS names FROM pg_attribute AS a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
              AND a.atttypid IN (CAST('text' AS regtype), CAST('boolean' AS regtype))) AS k
    WHERE c.relname IN ('trident_applied', 'trident_plain') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND c.relpersistence <> 't'
          AND k.names @> ARRAY['topology', 'state', 'table_name', 'token']
    ORDER BY c.oid IS NOT DISTINCT FROM CAST(to_regclass(CAST(c.relname AS text)) AS oid) DESC, 1, 2""")
"""Where topologies keep positions and, at a weaker level, notes, our own first; who made that, and whether this role
may read all of it.

A view is not read: whoever made it says what is run then, with the rights of this role.
"""
_MAY_WRITE = text("""
    SELECT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = :number
                                                AND has_table_privilege(:role, c.oid, 'INSERT, UPDATE, DELETE'))""")
_HERE = text("""
    SELECT name FROM unnest(ARRAY['trident_applied', 'trident_plain']) AS t (name)
    WHERE has_table_privilege(CAST(to_regclass(name) AS oid), 'SELECT')""")
_LINES: Final = "SELECT DISTINCT split_part(token, '.', 1) FROM {} WHERE topology = :topology"
_CLAIMS: Final = """
    SELECT q.table_name, q.state, q.topology,
           coalesce(q.topology = %(mine)s AND split_part(q.token, '.', 1) = ANY(%(lines)s), FALSE),
           known.is_known, q.is_sink
    FROM (SELECT table_name, state, topology, token, split_part(RELATION, ':', 1) AS number,
                 coalesce(IS_SINK, FALSE) AS is_sink
          FROM POSITIONS WHERE NOT HAS_LEFT) AS q
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT FROM pg_class AS k
        WHERE CAST(k.oid AS text) = q.number
              AND k.relname = split_part(q.table_name, '.', -1)) AS is_known) AS known
    WHERE q.number = %(number)s OR (NOT known.is_known AND q.table_name = ANY(%(names)s))
    ORDER BY 3, 2"""
"""Who has a position for a table: by its number, or where that means nothing (any more) by name, in whatever schema."""


@dataclass(frozen=True, slots=True)
class _Table:
    number: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class _Place:
    schema: str
    kept: str
    owner: int
    may_read: bool
    has_relation: bool
    """A column that older versions lack, as the next ones."""
    has_is_sink: bool
    has_left: bool


@dataclass(frozen=True, slots=True)
class _Claim:
    schema: str
    kept: str
    table: str
    state: str
    topology: str
    is_mine: bool
    is_by_number: bool
    is_sink: bool


def table_by(name: str) -> str:
    """Return the table's number; of one in a schema by the catalogue, which asks for no right to use that schema."""
    return f"""
        CASE WHEN strpos({name}, '.') = 0 THEN CAST(to_regclass(quote_ident({name})) AS oid) ELSE
            (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = split_part({name}, '.', 1) AND c.relname = split_part({name}, '.', 2)) END"""


def changed(connection: Connection) -> Changed:
    """Return what the session has changed; earlier transactions may be among it, so take it before and after."""
    return {int(number): int(count) for number, count in connection.execute(_CHANGED)}


def taken_along(connection: Connection, before: Changed, table: str, topology: str) -> str | None:
    """Return in words whose rows have changed since then beside its states' own, None for nobody else's.

    `table` (quoted) is the one whose rows the caller has changed. A topology is who has its name and its ledger: copies
    of its positions, and those of its states in other schemas, are its own. What its sinks have written stays.
    """
    if connection.execute(_UNCOUNTED, {"table": table}).scalar_one():
        return "nobody knows what: track_counts is off in this database, so the server does not say"
    numbers = [number for number, count in changed(connection).items() if count != before.get(number, 0)]
    gone = connection.execute(_GONE).all()
    if not numbers and not gone:
        return None
    lines = tuple(
        line
        for kept in connection.execute(_HERE).scalars().all()
        for line in connection.execute(text(_LINES.format(kept)), {"topology": topology}).scalars()
    )
    places = tuple(_Place(*row) for row in connection.execute(_POSITIONS))
    asked = _Asked(connection, topology, lines, places)
    touched = [*connection.execute(_FAMILY, {"numbers": numbers}).all(), *gone]
    whose = (asked.whose(_Table(*row)) for row in touched)
    return next((found for found in whose if found is not None), None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Asks everybody's positions on behalf of one topology."""

    connection: Connection
    topology: str
    lines: tuple[str, ...]
    places: tuple[_Place, ...]

    def whose(self, table: _Table) -> str | None:
        """Return in words whose table it is, None where it is the topology's own or nobody's."""
        claims: list[_Claim] = []
        for place in self.places:
            claims += self._claims(place, table) if place.may_read else ()
            if any(claim.is_mine and claim.is_by_number and not claim.is_sink for claim in claims):
                return None  # a table has one owner
        for claim in claims:
            if claim.is_sink or not claim.is_mine:
                whose = f"{'sink' if claim.is_sink else 'state'} {claim.state!r} of topology {claim.topology!r}"
                return f"table {claim.table!r} of {whose} ({claim.kept} of schema {claim.schema!r} says so)"
        return None if claims else self._unknown(table)

    def _claims(self, place: _Place, table: _Table) -> Iterator[_Claim]:
        positions = f"{quoted(place.schema)}.{place.kept}".replace("%", "%%")  # the driver's own sign
        asked = {
            "mine": self.topology,
            "lines": list(self.lines),
            "number": str(table.number),
            "names": [table.name, f"{table.schema}.{table.name}"],
        }
        statement = _CLAIMS.replace("POSITIONS", positions)
        statement = statement.replace("RELATION", "relation" if place.has_relation else "NULL::text")
        is_sink = "is_sink" if place.kept == "trident_applied" else "may_share"
        statement = statement.replace("IS_SINK", is_sink if place.has_is_sink else "FALSE")
        statement = statement.replace("HAS_LEFT", "has_left" if place.has_left else "FALSE")
        for row in self.connection.exec_driver_sql(statement, asked):
            yield _Claim(place.schema, place.kept, *row)

    def _unknown(self, table: _Table) -> str | None:
        """Return in words that it may be another's: whoever made positions that can't be read may write to it."""
        for place in self.places:
            role = {"number": table.number, "role": place.owner}
            if not place.may_read and self.connection.execute(_MAY_WRITE, role).scalar_one():
                whole = f"{table.schema}.{table.name}"
                return (
                    f"table {whole!r}, which may be another topology's (this role may not read all rows of "
                    f"{place.kept} of schema {place.schema!r}, which say whose it is)"
                )
        return None
