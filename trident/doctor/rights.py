"""What the roles may do in PostgreSQL, held against what a run, a take-over and the tasks need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, text

from trident.coordinators.ledger.sql.tables import METADATA
from trident.doctor.clients import reading
from trident.doctor.databases import DatabaseAt
from trident.doctor.findings import Finding, ok, problem, warning
from trident.state.kafka.outbox.tables import OUTBOX_TABLES
from trident.state.maps.blobs import BLOB_TABLES
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.writer import PostgresWriting
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.sqlite.database import SqliteDatabase
from trident.state.tables.names import quote_table

_ALL: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")
_VERSIONS: Final = ("SELECT", "INSERT")
_STAGING: Final = ("SELECT", "INSERT", "DELETE")
_BY_WRITE: Final = {
    RowWrite.APPEND: ("INSERT",),
    RowWrite.UPSERT: ("SELECT", "INSERT", "UPDATE"),
    RowWrite.INSERT_IF_ABSENT: ("SELECT", "INSERT"),
    RowWrite.DELETE: ("SELECT", "DELETE"),
    RowWrite.VERSIONS: ("SELECT", "INSERT", "UPDATE"),
}
_NUMBERED: Final = "trident_schema"
_MAY: Final = text("""
    SELECT to_regclass(name) IS NOT NULL,
           CASE WHEN asked = 'DELETE' THEN has_table_privilege(to_regclass(name), asked)
                ELSE has_any_column_privilege(to_regclass(name), asked) END
    FROM unnest(CAST(:names AS text[]), CAST(:rights AS text[])) WITH ORDINALITY AS each (name, asked, number)
    ORDER BY number""")
_ROLE: Final = text("""
    SELECT current_user::text, current_schema()::text, has_database_privilege(current_database(), 'TEMP'),
           coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)""")
_TASKS: Final = text("""
    SELECT r.rolname IS NOT NULL, to_regclass(:name) IS NOT NULL,
           has_table_privilege(r.oid, to_regclass(:name), 'INSERT'),
           has_table_privilege(to_regclass(:name), 'INSERT WITH GRANT OPTION'),
           has_database_privilege(r.oid, current_database(), 'CONNECT'), pg_has_role(r.oid, 'USAGE')
    FROM (SELECT 1) AS one LEFT JOIN pg_roles AS r ON r.rolname = :role""")
_SIGNALS: Final = text("SELECT pg_has_role('pg_signal_backend', 'USAGE')")
_OTHERS: Final = text("""
    SELECT DISTINCT r.rolname::text FROM pg_stat_activity AS a JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE a.datname = current_database() AND a.application_name LIKE 'trident %' AND NOT pg_has_role(r.oid, 'USAGE')""")


@dataclass(frozen=True, slots=True)
class Needed:
    """A table, and what must be allowed there."""

    table: str
    rights: tuple[str, ...]


def look_at_rights(at: DatabaseAt) -> Iterator[Finding]:
    """Say what is missing, by name, and how to grant it."""
    if isinstance(at.database, SqliteDatabase):
        yield from _of_file(at, at.database)
        return
    if not isinstance(at.database, PostgresDatabase):
        return
    with reading(at.database) as connection:
        role, schema, may_make_temporary, may_create = connection.execute(_ROLE).one()
        missing, absent = missing_rights(connection, needed_in(at))
        yield from _told(at, role, schema, missing, absent, may_create=may_create)
        if not may_make_temporary:
            yield problem(
                at.place,
                f"role {role!r} may make no temporary tables",
                "batches are staged in one: a run stops at its first, and nothing is applied",
                f'GRANT TEMPORARY ON DATABASE … TO "{role}"',
            )
        tasks = [_of_tasks(connection, writing) for writing in at.tasks]
        yield from (finding for found, _ in tasks for finding in found)
        yield from _signals(at, connection, role, [name for _, name in tasks if name])


def needed_in(at: DatabaseAt) -> tuple[Needed, ...]:
    """Return all tables in a database that a run writes to."""
    found = []
    if at.has_ledger:
        names = sorted(name for name in METADATA.tables if name != _NUMBERED)
        found += [*(Needed(name, _ALL) for name in names), Needed(_NUMBERED, _VERSIONS)]
        if at.has_outbox:
            outbox = (Needed(name, _ALL) for name in ("trident_outbox", "trident_outbox_position"))
            found += [*outbox, Needed(OUTBOX_TABLES.versions, _VERSIONS)]
        if at.has_blobs:
            found += [Needed("trident_staged_blob", _ALL), Needed(BLOB_TABLES.versions, _VERSIONS)]
    if at.tables:
        found += [Needed(name, _ALL) for name in ("trident_applied", "trident_state_fence")]
        found.append(Needed("trident_state_schema", _VERSIONS))
    for target in at.tables:
        place = target.place
        rights = _rights_on(place.shape) if isinstance(place, RowPlace) else _ALL
        found += [Needed(place.table, rights), Needed(place.staging, _STAGING)]
    return tuple(found)


def _rights_on(shape: RowShape) -> tuple[str, ...]:
    rights = _BY_WRITE[shape.write]
    return rights if shape.deleted is None else (*rights, "DELETE")


def missing_rights(connection: Connection, needed: Sequence[Needed]) -> tuple[list[Needed], list[str]]:
    """Return what is not allowed on tables that are there, and the tables that are not."""
    pairs = [(each.table, right) for each in needed for right in each.rights]
    asked = {"names": [quote_table(table) for table, _ in pairs], "rights": [right for _, right in pairs]}
    told = dict(zip(pairs, connection.execute(_MAY, asked).tuples(), strict=True))
    absent = [each.table for each in needed if not told[each.table, each.rights[0]][0]]
    denied = [
        Needed(each.table, tuple(right for right in each.rights if not told[each.table, right][1]))
        for each in needed
        if each.table not in absent
    ]
    return [each for each in denied if each.rights], absent


def _told(
    at: DatabaseAt, role: str, schema: str | None, missing: list[Needed], absent: list[str], *, may_create: bool
) -> Iterator[Finding]:
    for each in missing:
        rights = ", ".join(each.rights)
        yield problem(
            at.place,
            f"role {role!r} lacks {rights} on table {each.table!r}",
            "a run stops there; what is done stays, and nothing is applied by half",
            f'GRANT {rights} ON {quote_table(each.table)} TO "{role}"',
        )
    if absent and not may_create:
        yield problem(
            at.place,
            f"role {role!r} may make no tables in schema {schema!r}, and some are not there ({', '.join(absent)})",
            "a start that needs one is refused, and changes nothing",
            f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{role}"',
        )
    if not missing:
        later = f"; {len(absent)} tables are made when they are needed" if absent and may_create else ""
        yield ok(at.place, f"role {role!r} has its rights on the tables{later}")


def _of_tasks(connection: Connection, writing: PostgresWriting) -> tuple[list[Finding], str]:
    """Return what of the tasks' role is to be said, and its name where its sessions may not be ended."""
    about = f"tasks_dsn of {writing.state!r}"
    role, table = str(conninfo_to_dict(writing.tasks_dsn or "").get("user") or ""), quote_table(writing.staging)
    if not role:
        return [warning(about, "it names no user", "whose rights to look at can't be told", "name one")], ""
    asked = {"role": role, "name": table}
    is_there, has_table, may_insert, may_grant, may_connect, is_ours = connection.execute(_TASKS, asked).one()
    means = "tasks can't stage large batches: their txid fails, and nothing is applied"
    if not is_there:
        return [problem(about, f"there is no role {role!r}", means, f"CREATE ROLE \"{role}\" LOGIN PASSWORD '…'")], ""
    found = []
    if not may_connect:
        found.append(
            problem(about, f"role {role!r} may not connect", means, f'GRANT CONNECT ON DATABASE … TO "{role}"')
        )
    grant = f'GRANT INSERT ON {table} TO "{role}"'
    if has_table and not may_insert:
        said = f"role {role!r} lacks INSERT on the staging table {writing.staging!r}"
        found.append(
            warning(about, said, means, f"the next start grants it; while one runs: {grant}")
            if may_grant
            else problem(about, said, means, grant)
        )
    if not found:
        found.append(ok(about, f"role {role!r} may stage"))
    return found, "" if is_ours else role


def _signals(at: DatabaseAt, connection: Connection, role: str, tasks: list[str]) -> Iterator[Finding]:
    others = sorted({*tasks, *(row[0] for row in connection.execute(_OTHERS))})
    if others and not connection.execute(_SIGNALS).scalar():
        yield warning(
            at.place,
            f"role {role!r} may not end sessions of {', '.join(map(repr, others))}",
            "what a stopped process of theirs holds, a take-over waits for; nothing is lost",
            f'GRANT pg_signal_backend TO "{role}"',
        )


def _of_file(at: DatabaseAt, database: SqliteDatabase) -> Iterator[Finding]:
    denied = [str(path) for path in (database.path, database.path.parent) if not os.access(path, os.W_OK)]
    for path in denied:
        yield problem(
            at.place, f"{path!r} may not be written", "a start is refused, and changes nothing", f"chmod u+w {path}"
        )
    if not denied:
        yield ok(at.place, "the file and its folder may be written")
