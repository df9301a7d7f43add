"""What Postgres and SQLite say differently: ages of moments, several writes at once, a row only if it is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Double,
    Executable,
    Insert,
    Table,
    Update,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class SecondsSince(FunctionElement[float]):
    """How many seconds ago a moment was, by the database's clock."""

    type = Double()
    inherit_cache = True


@compiles(SecondsSince, "postgresql")
def _postgres_since(element: SecondsSince, compiler: SQLCompiler, **options: object) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"CAST(extract(epoch FROM clock_timestamp() - {moment}) AS double precision)"


@compiles(SecondsSince, "sqlite")
def _sqlite_since(element: SecondsSince, compiler: SQLCompiler, **options: object) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"((julianday('now') - julianday({moment})) * 86400.0)"


Write = Insert | Update | Delete


@dataclass(frozen=True)
class Upsert:
    """A row that is put in the place of the one with its key, or beside the others."""

    table: Table
    values: Mapping[str, object]

    def of(self, dialect: str) -> Insert:
        """Return the statement for a dialect."""
        insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
        key = list(self.table.primary_key)
        replaced = {name: value for name, value in self.values.items() if not self.table.c[name].primary_key}
        return insert(self.table).values(**self.values).on_conflict_do_update(index_elements=key, set_=replaced)


class Writes:
    """Several writes in one round trip where the dialect can; made once, executed often.

    On Postgres they are the parts of one statement and so see the rows as they were before it:
    none may depend on another.
    """

    def __init__(self, *parts: Write | Upsert) -> None:
        self._parts = [_written(part, "sqlite") for part in parts]
        self._together = _together([_written(part, "postgresql") for part in parts])

    def execute(self, connection: Connection, parameters: Mapping[str, object]) -> tuple[int, ...]:
        """Return how many rows each part wrote."""
        if connection.dialect.name == "postgresql":
            return tuple(int(count) for count in connection.execute(self._together, parameters).one())
        return tuple(_rows_written(connection, part, parameters) for part in self._parts)


def _written(part: Write | Upsert, dialect: str) -> Write:
    return part.of(dialect) if isinstance(part, Upsert) else part


def _together(parts: Sequence[Write]) -> Executable:
    written = [
        part.returning(literal_column("1").label("written")).cte(f"part_{number}") for number, part in enumerate(parts)
    ]
    counts: list[ColumnElement[int]] = [select(func.count()).select_from(rows).scalar_subquery() for rows in written]
    return select(*counts)


def insert_new(connection: Connection, table: Table, values: Mapping[str, object]) -> bool:
    """Insert a row unless its key is there; waits for a transaction at work on that key. Tells whether it did."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return _rows_written(connection, insert(table).values(**values).on_conflict_do_nothing()) == 1


def _rows_written(connection: Connection, write: Write, parameters: Mapping[str, object] | None = None) -> int:
    # Without the option SQLAlchemy forgets how many rows an INSERT wrote.
    return connection.execute(write, parameters, execution_options={"preserve_rowcount": True}).rowcount
