"""Many rows at once, in and out: a server hears of us all the time, however many they are.

PostgreSQL ends a session that is silent in a transaction for half a lease. So rows are neither all made ready before
the first of them is sent, nor all taken in before the next question.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import psycopg
from sqlalchemy import Connection, Row, Select, Table, Text, cast, select

from trident.coordinators.ledger.sql.moments import DatabaseNow

_FETCHED = 1_000


def insert_many(connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows of these columns, each made when the one before is on its way: by COPY, or one prepared statement."""
    driver = connection.connection.driver_connection
    names = ", ".join(f'"{name}"' for name in columns)
    if isinstance(driver, psycopg.Connection):
        statement = f'COPY "{table.name}" ({names}) FROM STDIN'.encode()
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    else:
        assert isinstance(driver, sqlite3.Connection)
        marks = ", ".join("?" for _ in columns)
        driver.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})', rows)


def database_now(connection: Connection) -> str:
    """Return the database's clock as the text that a column of moments takes."""
    return str(connection.execute(select(cast(DatabaseNow(), Text))).scalar_one())


def read_many(connection: Connection, query: Select[tuple[object, ...]]) -> Iterable[Row[tuple[object, ...]]]:
    """Return the rows of a query, fetched piece by piece while they are taken."""
    return connection.execute(query, execution_options={"yield_per": _FETCHED})
