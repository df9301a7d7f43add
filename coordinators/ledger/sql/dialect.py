"""What Postgres and SQLite say differently: moments, the database's own clock, several writes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Dialect,
    Double,
    Executable,
    Insert,
    String,
    Table,
    TypeDecorator,
    Update,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class Moment(TypeDecorator[datetime]):
    """A point in time with its zone: timestamptz in Postgres, ISO 8601 text in SQLite."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime] | TypeEngine[str]:
        """Choose the column's type."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
        return dialect.type_descriptor(String())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | str | None:
        """Write a moment."""
        return value if value is None or dialect.name == "postgresql" else value.isoformat()

    def process_result_value(self, value: datetime | str | None, dialect: Dialect) -> datetime | None:
        """Read a moment."""
        return datetime.fromisoformat(value) if isinstance(value, str) else value


class DatabaseNow(FunctionElement[datetime]):
    """The database's clock at this moment, also inside a long transaction."""

    type = Moment()
    inherit_cache = True


class SecondsSince(FunctionElement[float]):
    """How many seconds ago a moment was, by the database's clock."""

    type = Double()
    inherit_cache = True


@compiles(DatabaseNow, "postgresql")
def _postgres_now(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    return "clock_timestamp()"


@compiles(DatabaseNow, "sqlite")
def _sqlite_now(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    return "strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')"


@compiles(SecondsSince, "postgresql")
def _postgres_since(element: SecondsSince, compiler: SQLCompiler, **options: object) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"CAST(extract(epoch FROM clock_timestamp() - {moment}) AS double precision)"


@compiles(SecondsSince, "sqlite")
def _sqlite_since(element: SecondsSince, compiler: SQLCompiler, **options: object) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"((julianday('now') - julianday({moment})) * 86400.0)"


Write = Insert | Update | Delete


class Writes:
    """Several writes in one round trip where the dialect can; made once, executed often.

    On Postgres they are the parts of one statement and so see the rows as they were before it:
    none may depend on another.
    """

    def __init__(self, *parts: Write) -> None:
        self._parts = parts
        self._together = _together(parts)

    def execute(self, connection: Connection, parameters: Mapping[str, object]) -> tuple[int, ...]:
        """Return how many rows each part wrote."""
        if connection.dialect.name == "postgresql":
            return tuple(int(count) for count in connection.execute(self._together, parameters).one())
        return tuple(_rows_written(connection, part, parameters) for part in self._parts)


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
