"""Tables that are made by numbered steps, each run once: the ledger's, and those that states share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from trident.base.errors import MismatchError
from trident.state.databases.base import SchemaTerms

Step = Callable[[Connection, SchemaTerms], None]
"""Leads from one version to the next; one that was released is never changed, what comes later is a step of its own."""


def step(statements: Sequence[str]) -> Step:
    """Return the step that runs statements; `{moment}`, `{double}`, `{bytes}` are the database's types."""

    def run(connection: Connection, terms: SchemaTerms) -> None:
        for statement in statements:
            types = {"moment": terms.moment, "double": terms.double, "bytes": terms.binary}
            connection.execute(text(statement.format_map(types)))

    return run


def step_to_missing(tables: Mapping[str, str]) -> Step:
    """Return a first step that leaves tables as they are which were made before versions were kept."""

    def run(connection: Connection, terms: SchemaTerms) -> None:
        found = inspect(connection)
        step([statement for name, statement in tables.items() if not found.has_table(name)])(connection, terms)

    return run


@dataclass(frozen=True, slots=True)
class NumberedTables:
    """Tables under one version, and the steps to it; the number of steps is the version that this library writes."""

    what: str
    """How an error names them."""
    versions: str
    """The name of the table that keeps the versions that were reached."""
    steps: Sequence[Step]

    def version_of(self, connection: Connection) -> int:
        """Return the version that is there, 0 for none."""
        if not inspect(connection).has_table(self.versions):
            return 0
        found: int = connection.execute(text(f"SELECT coalesce(max(version), 0) FROM {self.versions}")).scalar_one()
        return found

    def migrate(self, connection: Connection, terms: SchemaTerms) -> int:
        """Apply the steps that are missing, in the caller's transaction; returns how many.

        Holds the database's lock until that ends, and so waits for another process that makes tables.
        Raises MismatchError, before any change, when the tables are of a newer version than this library.
        """
        terms.lock(connection)
        found = self.version_of(connection)
        if found > len(self.steps):
            raise MismatchError(
                f"{self.what} are of version {found}, this library knows versions up to {len(self.steps)}. "
                "Nothing was changed; install the newer library again."
            )
        self._prepare_versions(connection, terms)
        reached = text(f"INSERT INTO {self.versions} (version, applied_at) VALUES (:version, {terms.now})")
        for version in range(found + 1, len(self.steps) + 1):
            self.steps[version - 1](connection, terms)
            connection.execute(reached, {"version": version})
        return len(self.steps) - found

    def _prepare_versions(self, connection: Connection, terms: SchemaTerms) -> None:
        if not inspect(connection).has_table(self.versions):
            columns = f"version BIGINT NOT NULL, applied_at {terms.moment} NOT NULL, PRIMARY KEY (version)"
            connection.execute(text(f"CREATE TABLE {self.versions} ({columns})"))
