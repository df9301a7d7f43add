"""Whose rows the server would take along with deleted ones: foreign keys know no topology."""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.state.postgres.paths import quoted

_TAKEN = text("""
    WITH RECURSIVE keys AS (
        SELECT c.child, p.parent, o.confdeltype AS does
        FROM pg_constraint AS o
        CROSS JOIN LATERAL (VALUES (o.conrelid), (CAST(pg_partition_root(o.conrelid) AS oid))) AS c (child)
        CROSS JOIN LATERAL (VALUES (o.confrelid), (CAST(pg_partition_root(o.confrelid) AS oid))) AS p (parent)
        WHERE o.contype = 'f' AND o.confdeltype IN ('c', 'n', 'd')),
    taken (number, does) AS (
        SELECT k.child, k.does FROM keys AS k WHERE k.parent = to_regclass(:table)
        UNION SELECT k.child, k.does FROM taken AS t JOIN keys AS k ON k.parent = t.number WHERE t.does = 'c')
    SELECT DISTINCT c.oid::text, n.nspname, c.relname
    FROM taken AS t JOIN pg_class AS c ON c.oid = t.number JOIN pg_namespace AS n ON n.oid = c.relnamespace
    ORDER BY 2, 3""")
"""Tables and partitions whose rows refer to those of a table, or to rows that go with them."""
_POSITIONS = text("""
    SELECT n.nspname, c.oid = to_regclass('trident_applied'),
           has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relname = 'trident_applied' AND c.relkind IN ('r', 'p') ORDER BY 1""")
"""The schemas in which topologies keep positions: which one is ours, and which may be read."""


def table_by(name: str) -> str:
    """Return the table's number; of one in a schema by the catalogue, which asks for no right to use that schema."""
    return f"""
        CASE WHEN strpos({name}, '.') = 0 THEN CAST(to_regclass(quote_ident({name})) AS oid) ELSE
            (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = split_part({name}, '.', 1) AND c.relname = split_part({name}, '.', 2)) END"""


def taken_along(connection: Connection, table: str, topology: str) -> str | None:
    """Return in words whose rows would be deleted or changed with those of a table (quoted), None for nobody else's.

    Positions lie in the schema that their topology's address leads to, so all schemas are asked. One that this role may
    not read may hold the position of any table that is beside it: then nobody knows.
    """
    found = connection.execute(_TAKEN, {"table": table}).all()
    if not found:
        return None
    for schema, is_ours, may_read in connection.execute(_POSITIONS):
        beside = [name for _, its_schema, name in found if its_schema == schema]
        if not may_read:
            if beside and not is_ours:
                return f"table {f'{schema}.{beside[0]}'!r}, which may be another topology's: {_NOT_READ.format(schema)}"
            continue
        numbers = [number for number, _, _ in found]
        names = [] if is_ours else [*beside, *(f"{its_schema}.{name}" for _, its_schema, name in found)]
        # what another topology of this name is, in another schema, is another ledger's
        asked = {"numbers": numbers, "names": names, "mine": topology if is_ours else None}
        claimed = connection.execute(text(_claims(schema, is_ours=is_ours)), asked).first()
        if claimed is not None:
            return f"table {claimed[0]!r} of state {claimed[1]!r} of topology {claimed[2]!r}"
    return None


_NOT_READ = "this role may not read trident_applied of schema {!r}, which says whose it is"


def _claims(schema: str, *, is_ours: bool) -> str:
    """Return the SELECT of who has a position for one of the tables; the row as JSON, as older ones lack columns."""
    place = f"{quoted(schema)}.trident_applied"
    by_name = f"CAST({table_by('a.table_name')} AS text) = ANY(CAST(:numbers AS text[]))" if is_ours else "FALSE"
    return f"""
        SELECT a.table_name, a.state, a.topology FROM {place} AS a
        WHERE (split_part(to_jsonb(a) ->> 'relation', ':', 1) = ANY(CAST(:numbers AS text[]))
               OR a.table_name = ANY(CAST(:names AS text[])) OR {by_name})
              AND a.topology IS DISTINCT FROM CAST(:mine AS text)
        ORDER BY a.topology, a.state LIMIT 1"""
