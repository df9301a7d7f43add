"""Sessions and prepared transactions in PostgreSQL that hold a topology's tables for long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from trident.doctor.clients import reading
from trident.doctor.databases import DatabaseAt
from trident.doctor.findings import Finding, ok, problem, span, warning
from trident.doctor.rights import needed_in
from trident.state.postgres.database import PostgresDatabase
from trident.state.tables.names import quote_table

_ABOUT: Final = "sessions in {}"
_HARMLESS: Final = frozenset({"AccessShareLock"})
"""What a reader holds: it is in the way of nothing but a table that is altered."""
_TABLES: Final = "(SELECT to_regclass(each)::oid FROM unnest(CAST(:names AS text[])) AS each)"
_SESSIONS: Final = text(f"""
    SELECT a.pid, coalesce(a.application_name, ''), coalesce(r.rolname, '?'), coalesce(a.state, 'not shown'),
           coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float,
           array_agg(DISTINCT l.relation::regclass::text), array_agg(DISTINCT l.mode)
    FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid LEFT JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE l.locktype = 'relation' AND l.granted AND a.pid <> pg_backend_pid() AND l.relation IN {_TABLES}
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (a.xact_start IS NULL OR a.xact_start < clock_timestamp() - make_interval(secs => :seconds))
    GROUP BY a.pid, 2, 3, 4, a.xact_start ORDER BY a.xact_start""")
_PREPARED: Final = text(f"""
    SELECT p.gid, p.owner::text, extract(epoch FROM clock_timestamp() - p.prepared)::float,
           array_agg(DISTINCT l.relation::regclass::text), array_agg(DISTINCT l.mode)
    FROM pg_prepared_xacts AS p
    JOIN pg_locks AS x ON x.locktype = 'transactionid' AND x.transactionid = p.transaction AND x.pid IS NULL
    JOIN pg_locks AS l ON l.virtualtransaction = x.virtualtransaction AND l.pid IS NULL
    WHERE p.database = current_database() AND l.locktype = 'relation' AND l.relation IN {_TABLES}
    GROUP BY p.gid, p.owner, p.prepared ORDER BY p.prepared""")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds tables."""

    who: str
    seconds: float
    tables: tuple[str, ...]
    modes: frozenset[str]
    way: str
    """How to end it."""


def look_at_sessions(at: DatabaseAt, seconds: float) -> Iterator[Finding]:
    """Say who has held a table of the topology in one transaction for so long, and how to end that."""
    if not isinstance(at.database, PostgresDatabase):
        return
    asked = {"names": [quote_table(each.table) for each in needed_in(at)], "seconds": seconds}
    with reading(at.database) as connection:
        sessions = [
            Holder(
                f"backend {pid} of role {role!r} ({name or 'no application_name'}, {state})",
                age,
                tuple(tables),
                frozenset(modes),
                f"SELECT pg_terminate_backend({pid})",
            )
            for pid, name, role, state, age, tables, modes in connection.execute(_SESSIONS, asked)
        ]
        prepared = [
            Holder(
                f"the prepared transaction {gid!r} of role {owner!r}",
                age,
                tuple(tables),
                frozenset(modes),
                "COMMIT PREPARED or ROLLBACK PREPARED '" + gid.replace("'", "''") + "' in that database",
            )
            for gid, owner, age, tables, modes in connection.execute(_PREPARED, asked)
        ]
    about = _ABOUT.format(at.place)
    found = [said_of(about, each) for each in (*sessions, *prepared)]
    yield from found or [ok(about, f"none has held a table of the topology for {span(seconds)}")]


def said_of(about: str, held: Holder) -> Finding:
    """Return what it means that somebody holds tables."""
    tables = f"{', '.join(held.tables[:3])}{' …' if len(held.tables) > 3 else ''}"
    found = f"{held.who} has held {tables} in a transaction for {span(held.seconds)}"
    if held.modes <= _HARMLESS:
        return warning(
            about,
            found,
            "it only reads: batches go on, a version that alters the table waits",
            f"to end it: {held.way}",
        )
    return problem(
        about,
        found,
        "a batch that needs the same rows waits for it and is tried again; nothing is lost, and what it has not "
        "committed is void once it is ended",
        f"end its program, or the transaction: {held.way}",
    )
