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
_MERGE = """
WITH m AS (
    MERGE INTO balances AS b USING {updates} AS u ON b.account = u.account
    WHEN MATCHED THEN UPDATE SET n = b.n + u.n, total = b.total + u.total
    WHEN NOT MATCHED THEN INSERT (account, n, total) VALUES (u.account, u.n, u.total)
    RETURNING merge_action() AS done
)
SELECT count(*) FILTER (WHERE done = 'INSERT') FROM m
"""
_UPDATE = (
    "UPDATE balances AS b SET n = b.n + u.n, total = b.total + u.total FROM updates AS u WHERE b.account = u.account"
)
_INSERT = """
INSERT INTO balances (account, n, total) SELECT u.account, u.n, u.total FROM updates AS u
WHERE NOT EXISTS (SELECT 1 FROM balances AS b WHERE b.account = u.account)
"""
_AS_THEY_LIE = _MERGE.format(updates="updates")
_BY_KEY = _MERGE.format(updates="(SELECT * FROM updates ORDER BY account)")
_CHEAP_PROBES = "SET LOCAL random_page_cost = 0.01; SET LOCAL cpu_operator_cost = 0.00001"
_COUNT = "SELECT count(*) FROM balances"
_BATCH = "INSERT INTO batches (id) VALUES (%s) ON CONFLICT DO NOTHING"
_OFFSETS = "INSERT INTO batch_offsets (batch, partition, start_offset, stop_offset) VALUES (%s, %s, %s, %s)"
_LARGE = 5_000  # rows from which telling the planner about them costs less than it saves
_WIDE = 2  # stored rows for each of a batch from which looking them up in order beats reading the table


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


class Merger:
    """Adds batches to the table; knows how large that is, to choose how keys are found."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        with connection.transaction():
            row = connection.execute(_COUNT).fetchone()
        self._stored: int = row[0] if row else 0
        self._made_rows = True

    def merge(self, batch: int, updates: pa.Table, offsets: Sequence[Offsets] = ()) -> bool:
        """Add account, count and sum of one batch, once; returns whether it was not in before.

        All happens in one transaction, the row that says that the batch is in included.
        """
        with self._connection.transaction(), self._connection.cursor() as cursor:
            if cursor.execute(_BATCH, [batch]).rowcount == 0:
                return False
            with cursor.copy(_COPY) as copy:
                copy.set_types(["text", "int8", "int8"])
                write_row = copy.write_row
                for row in zip(*(column.to_pylist() for column in updates.columns), strict=True):
                    write_row(row)
            made = self._merge(cursor, updates.num_rows)
            write_offsets(cursor, batch, offsets)
        self._stored += made
        self._made_rows = made > 0
        return True

    def _merge(self, cursor: psycopg.Cursor, rows: int) -> int:
        """Change and make rows; returns how many are new."""
        if rows >= _LARGE:
            cursor.execute("ANALYZE updates")
        if not self._made_rows:  # then mostly every account is known, and an UPDATE costs least
            changed = cursor.execute(_UPDATE).rowcount
            return 0 if changed == rows else cursor.execute(_INSERT).rowcount
        if rows >= _LARGE and self._stored >= _WIDE * rows:
            cursor.execute(_CHEAP_PROBES)
            counted = cursor.execute(_BY_KEY).fetchone()
        else:
            counted = cursor.execute(_AS_THEY_LIE).fetchone()
        return int(counted[0]) if counted else 0


def write_offsets(cursor: psycopg.Cursor, batch: int, offsets: Sequence[Offsets]) -> None:
    """Record what a batch read, inside the caller's transaction."""
    cursor.executemany(_OFFSETS, [(batch, item.partition, item.start, item.stop) for item in offsets])
