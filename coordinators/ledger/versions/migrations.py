"""Bringing a database to this library's version of the tables, one step after the other.

A step is a function of an open connection; its place in `MIGRATIONS` plus one is the version that
it leads to. A step that was released is never changed: what comes later is a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, func, insert, select, text

from trident.base.errors import MismatchError
from trident.coordinators.ledger.sql.dialect import DatabaseNow
from trident.coordinators.ledger.sql.tables import SCHEMA
from trident.coordinators.ledger.versions.version_1 import VERSION_1
from trident.coordinators.ledger.versions.version_2 import VERSION_2

Migration = Callable[[Connection], None]

_LOCK_KEY = 0x7472_6964_656E_74
"""Postgres' advisory lock under which tables are made; the number spells "trident"."""


_TYPES = {
    "postgresql": {"moment": "TIMESTAMP WITH TIME ZONE", "double": "DOUBLE PRECISION", "bytes": "BYTEA"},
    "sqlite": {"moment": "VARCHAR", "double": "DOUBLE", "bytes": "BLOB"},
}


def _step(statements: Sequence[str]) -> Migration:
    def run(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement.format_map(_TYPES[connection.dialect.name])))

    return run


MIGRATIONS: Sequence[Migration] = (_step(VERSION_1), _step(VERSION_2))


def version_of(connection: Connection) -> int:
    """Return the version of the tables that are there."""
    found: int = connection.execute(select(func.coalesce(func.max(SCHEMA.c.version), 0))).scalar_one()
    return found


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Apply the steps that are missing, in the caller's transaction; returns how many.

    Waits for another process that does the same. Raises MismatchError, before any change, when the
    tables are of a newer version than this library.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    SCHEMA.create(connection, checkfirst=True)
    found = version_of(connection)
    if found > len(migrations):
        raise MismatchError(
            f"the ledger's tables are of version {found}, this library knows versions up to {len(migrations)}. "
            "Nothing was changed; install the newer library again."
        )
    for version in range(found + 1, len(migrations) + 1):
        migrations[version - 1](connection)
        connection.execute(insert(SCHEMA).values(version=version, applied_at=DatabaseNow()))
    return len(migrations) - found
