"""What the hand-written systems do in Postgres: one transaction per batch, the same statements for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
import pyarrow as pa

# The same as a state of the library has where it matters for speed: room in each page, so that an
# update stays on its page and touches no index, and a sort order that compares bytes.
_TABLES = """
CREATE TABLE IF NOT EXISTS balances (
    account text COLLATE "C" PRIMARY KEY, n bigint NOT NULL, total bigint NOT NULL
) WITH (fillfactor = 45);
CREATE TABLE IF NOT EXISTS batches (id bigint PRIMARY KEY);
CREATE TABLE IF NOT EXISTS batch_offsets (
    batch bigint, partition int, start_offset bigint NOT NULL, stop_offset bigint NOT NULL,
    PRIMARY KEY (batch, partition)
);
"""
_TEMPORARY = """
CREATE TEMPORARY TABLE updates (account text COLLATE "C", n bigint, total bigint) ON COMMIT DELETE ROWS
"""
_SETTINGS = (
    "SET work_mem = '32MB'",
    "SET random_page_cost = 1.1",
    "SET default_statistics_target = 1",
    "SET plan_cache_mode = force_custom_plan",
)
_COPY = "COPY updates (account, n, total) FROM STDIN (FORMAT binary)"
_UPDATE = """
UPDATE balances AS b SET n = b.n + u.n, total = b.total + u.total FROM updates AS u WHERE b.account = u.account
"""
_INSERT = """
INSERT INTO balances (account, n, total) SELECT u.account, u.n, u.total FROM updates AS u
WHERE NOT EXISTS (SELECT FROM balances AS b WHERE b.account = u.account)
"""
_BATCH = "INSERT INTO batches (id) VALUES (%s) ON CONFLICT DO NOTHING"
_OFFSETS = "INSERT INTO batch_offsets (batch, partition, start_offset, stop_offset) VALUES (%s, %s, %s, %s)"
_LARGE = 5_000  # rows from which telling the planner about them costs less than it saves


@dataclass(frozen=True, slots=True)
class Offsets:
    """What a batch read of one partition."""

    partition: int
    start: int
    stop: int


def connect(dsn: str) -> psycopg.Connection:
    """Open the connection that is kept for all batches, with its temporary table; makes tables that are missing."""
    connection = psycopg.connect(dsn)
    with connection.transaction():
        for statement in (_TABLES, _TEMPORARY, *_SETTINGS):
            connection.execute(statement)
    return connection


def merge(connection: psycopg.Connection, batch: int, updates: pa.Table, offsets: Sequence[Offsets] = ()) -> bool:
    """Add account, count and sum of one batch, once; returns whether it was not in before.

    All happens in one transaction, the row that says that the batch is in included.
    """
    with connection.transaction(), connection.cursor() as cursor:
        if cursor.execute(_BATCH, [batch]).rowcount == 0:
            return False
        with cursor.copy(_COPY) as copy:
            copy.set_types(["text", "int8", "int8"])
            write_row = copy.write_row
            for row in zip(*(column.to_pylist() for column in updates.columns), strict=True):
                write_row(row)
        if updates.num_rows >= _LARGE:
            cursor.execute("ANALYZE updates")
        if cursor.execute(_UPDATE).rowcount < updates.num_rows:
            cursor.execute(_INSERT)
        write_offsets(cursor, batch, offsets)
    return True


def write_offsets(cursor: psycopg.Cursor, batch: int, offsets: Sequence[Offsets]) -> None:
    """Record what a batch read, inside the caller's transaction."""
    cursor.executemany(_OFFSETS, [(batch, item.partition, item.start, item.stop) for item in offsets])
