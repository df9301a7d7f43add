"""Points in time in the ledger: how a column keeps one, and the database's own clock."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Dialect, String, TypeDecorator
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from trident.state.postgres.schema import POSTGRES_TERMS
from trident.state.sqlite.schema import SQLITE_TERMS


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


@compiles(DatabaseNow, "postgresql")
def _postgres_now(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    return POSTGRES_TERMS.now


@compiles(DatabaseNow, "sqlite")
def _sqlite_now(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    return SQLITE_TERMS.now
