"""Asking a database with SQL that PostgreSQL and SQLite both know, as anybody beside the library could."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import psycopg

Row = tuple[Any, ...]
_NAMED = re.compile(r"(?<!:):(\w+)")
_WAIT_SECONDS = 10.0


class AwayError(RuntimeError):
    """The server does not answer now, or has been started anew."""


class NoTableError(RuntimeError):
    """A table, or the whole file, is not there yet."""


def is_postgres(address: str) -> bool:
    """Whether it is the address of a PostgreSQL database; else it is the path of a SQLite file."""
    return address.startswith(("postgresql://", "postgres://"))


class Database:
    """One connection, which is opened when it is first asked and after the server was away; for one thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: psycopg.Connection | sqlite3.Connection | None = None

    def rows(self, statement: str, **values: object) -> list[Row]:
        """Return all rows of a statement with `:name` for values; raises AwayError, NoTableError."""
        try:
            return self._rows(statement, values)
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedObject) as error:
            raise NoTableError(str(error)) from error
        except psycopg.OperationalError as error:
            self.close()
            raise AwayError(str(error)) from error
        except sqlite3.OperationalError as error:
            self.close()
            is_new = "no such table" in str(error) or "unable to open" in str(error)
            raise (NoTableError if is_new else AwayError)(str(error)) from error

    def close(self) -> None:
        """Close the connection; may be called again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _rows(self, statement: str, values: dict[str, object]) -> list[Row]:
        if is_postgres(self._address):
            if not isinstance(self._connection, psycopg.Connection):
                self._connection = psycopg.connect(self._address, autocommit=True)
            return self._connection.execute(_NAMED.sub(r"%(\1)s", statement), values).fetchall()
        if not isinstance(self._connection, sqlite3.Connection):
            file = f"file:{self._address}?mode=rw"
            self._connection = sqlite3.connect(file, _WAIT_SECONDS, isolation_level=None, uri=True)
        return self._connection.execute(statement, values).fetchall()
