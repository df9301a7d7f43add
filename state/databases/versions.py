"""Tables that are made by numbered steps, each run once: the ledger's, and those that states share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, func, insert, inspect, select, text

from trident.base.errors import MismatchError
from trident.state.databases.moments import DatabaseNow, Moment

Step = Callable[[Connection], None]
"""Leads from one version to the next; one that was released is never changed, what comes later is a step of its own."""

_TYPES = {
    "postgresql": {"moment": "TIMESTAMP WITH TIME ZONE", "double": "DOUBLE PRECISION", "bytes": "BYTEA"},
    "sqlite": {"moment": "VARCHAR", "double": "DOUBLE", "bytes": "BLOB"},
}


def step(statements: Sequence[str]) -> Step:
    """Return the step that runs statements; `{moment}`, `{double}`, `{bytes}` are the dialect's types."""

    def run(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement.format_map(_TYPES[connection.dialect.name])))

    return run


def step_to_missing(tables: Mapping[str, str]) -> Step:
    """Return a first step that leaves tables as they are which were made before versions were kept."""

    def run(connection: Connection) -> None:
        found = inspect(connection)
        step([statement for name, statement in tables.items() if not found.has_table(name)])(connection)

    return run


def versions_table(name: str, metadata: MetaData) -> Table:
    """Return the table that keeps the versions that were reached."""
    return Table(
        name,
        metadata,
        Column("version", BigInteger, primary_key=True, autoincrement=False),
        Column("applied_at", Moment, nullable=False),
    )


@dataclass(frozen=True, slots=True)
class NumberedTables:
    """Tables under one version, and the steps to it; the number of steps is the version that this library writes."""

    what: str
    """How an error names them."""
    versions: Table
    lock: int
    """Postgres' advisory lock under which they are made; SQLite's writer holds the file anyway."""
    steps: Sequence[Step]

    def version_of(self, connection: Connection) -> int:
        """Return the version that is there, 0 for none."""
        if not inspect(connection).has_table(self.versions.name):
            return 0
        found: int = connection.execute(select(func.coalesce(func.max(self.versions.c.version), 0))).scalar_one()
        return found

    def migrate(self, connection: Connection) -> int:
        """Apply the steps that are missing, in the caller's transaction; returns how many.

        Waits for another process that does the same. Raises MismatchError, before any change, when the
        tables are of a newer version than this library.
        """
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": self.lock})
        found = self.version_of(connection)
        if found > len(self.steps):
            raise MismatchError(
                f"{self.what} are of version {found}, this library knows versions up to {len(self.steps)}. "
                "Nothing was changed; install the newer library again."
            )
        self.versions.create(connection, checkfirst=True)
        for version in range(found + 1, len(self.steps) + 1):
            self.steps[version - 1](connection)
            connection.execute(insert(self.versions).values(version=version, applied_at=DatabaseNow()))
        return len(self.steps) - found
