"""What a name without a schema means in a session of PostgreSQL: the same in every one of a run.

Users put ledger and states into a schema by the search path: in the address, or as a setting of role or database. That
setting may be another one for a session that is made later, and a path may put what users made before what the server
has. So the first session's schemas are those of all that follow, tasks' too, with the server's own before them.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from sqlalchemy import Connection, text

_FOUND = """
    SELECT pg_catalog.current_schemas(false)::pg_catalog.text[],
           (SELECT source FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'search_path')"""
_PIN = "SELECT pg_catalog.set_config('search_path', %s, false)"
_HOLDERS = text("""
    SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relname = :table AND c.relkind IN ('r', 'p') AND NOT pg_table_is_visible(c.oid)
          AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
          AND EXISTS (SELECT FROM pg_attribute AS a
                      WHERE a.attrelid = c.oid AND a.attname = :column AND NOT a.attisdropped)
    ORDER BY n.nspname""")
_PLACE = text("""
    SELECT concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), d.oid,
                     coalesce(n.nspname, CAST(:schema AS text), current_schema()),
                     coalesce(c.relname, CAST(:name AS text)))
    FROM pg_database AS d LEFT JOIN pg_class AS c ON c.oid = to_regclass(:quoted)
    LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE d.datname = current_database()""")
_REFERRED = text("""
    WITH RECURSIVE keys AS (
        SELECT DISTINCT c.number AS child, p.number AS parent
        FROM pg_constraint AS o
        CROSS JOIN LATERAL (SELECT o.conrelid UNION SELECT relid FROM pg_partition_ancestors(o.conrelid)) AS c (number)
        CROSS JOIN LATERAL
            (SELECT o.confrelid UNION SELECT relid FROM pg_partition_ancestors(o.confrelid)) AS p (number)
        WHERE o.contype = 'f'),
    referred (number) AS (
        SELECT k.parent FROM keys AS k WHERE k.child = to_regclass(:quoted)
        UNION SELECT k.parent FROM referred AS r JOIN keys AS k ON k.child = r.number)
    SELECT concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), d.oid, n.nspname, c.relname)
    FROM referred AS r JOIN pg_class AS c ON c.oid = r.number JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_database AS d ON d.datname = current_database()
    WHERE c.oid <> to_regclass(:quoted)""")
_HOME = text("""
    SELECT concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), d.oid, quote_ident(current_user),
                     CAST(current_schemas(false) AS text))
    FROM pg_database AS d WHERE d.datname = current_database()""")
_SERVERS_OWN = "pg_"
"""No schema of a user's may begin so."""


@dataclass(frozen=True, slots=True)
class SearchPath:
    """The schemas in which names are looked up, behind the server's own; a table is made in the first."""

    schemas: tuple[str, ...]
    is_addressed: bool
    """Whether the address itself names them, and not a setting of role, database or server."""


def found_path(connection: psycopg.Connection) -> SearchPath:
    """Return what the session's path leads to: schemas that are there and may be used."""
    row = connection.execute(_FOUND).fetchone()
    assert row is not None
    schemas = tuple(name for name in row[0] if not name.startswith(_SERVERS_OWN))
    return SearchPath(schemas, row[1] == "client")


def asked_path(connection: psycopg.Connection) -> str:
    """Return the session's path as it was given, whether its schemas are there or not."""
    row = connection.execute("SELECT pg_catalog.current_setting('search_path')").fetchone()
    assert row is not None
    return str(row[0])


def pin_own(connection: psycopg.Connection) -> None:
    """Let the session keep the path that it was given, with the server's own schema before it."""
    pin_path(connection, found_path(connection))


def pin_path(connection: psycopg.Connection, path: SearchPath) -> None:
    """Let the session look names up there, whatever it was told; the server's own schema comes first by itself."""
    connection.execute(_PIN, (", ".join(quoted(name) for name in path.schemas) or "''",))


def place_of(connection: Connection, table: str) -> str:
    """Return which running server, database, schema and table a name means, or would if the table were made.

    By the moment at which the server began: a copy of a server has the same system identifier.
    """
    schema, _, name = table.rpartition(".")
    asked = {"quoted": _quote_table(table), "schema": schema or None, "name": name}
    found: str = connection.execute(_PLACE, asked).scalar_one()
    return found


def places_referred_to(connection: Connection, table: str) -> frozenset[str]:
    """Return the places of the tables to which foreign keys lead from this one, through others too.

    A key of a partition's is its root's: that is what a state has.
    """
    return frozenset(connection.execute(_REFERRED, {"quoted": _quote_table(table)}).scalars())


def home_of(connection: Connection) -> str:
    """Return which running server and database this is, with which role and schemas."""
    found: str = connection.execute(_HOME).scalar_one()
    return found


def schemas_with(
    connection: Connection, table: str, column: str, value: str, *, begins: bool = False
) -> tuple[str, ...]:
    """Return which schemas have a table of this name, that no name without a schema leads to, with such a row.

    As far as this role may read them; the column's text is the value, or `begins` with it.
    """
    wanted = "starts_with({}::text, %(value)s)" if begins else "{}::text = %(value)s"
    condition = wanted.format(quoted(column))
    schemas = connection.execute(_HOLDERS, {"table": table, "column": column}).scalars().all()
    return tuple(each for each in schemas if _has_row(connection, each, table, condition, value))


def _has_row(connection: Connection, schema: str, table: str, condition: str, value: str) -> bool:
    place = f"{quoted(schema)}.{quoted(table)}".replace("%", "%%")  # the driver's own sign
    statement = f"SELECT EXISTS (SELECT FROM {place} WHERE {condition})"
    found: bool = connection.exec_driver_sql(statement, {"value": value}).scalar_one()
    return found


def _quote_table(table: str) -> str:
    return ".".join(quoted(part) for part in table.rsplit(".", 1))


def quoted(name: str) -> str:
    """Return the name as SQL writes an identifier, whatever is in it."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
