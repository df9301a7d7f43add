"""A PostgreSQL ledger with a long history: each operation reads as few rows as with a short one. Rows, not seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from tests.effort import effort
from tests.ledger.prefilled import fill, first_plans, operations
from trident.coordinators.ledger import PostgresLedger

MOST_ROWS_READ = 6_000
"""A clean-up finds and deletes up to a thousand rows of each of three tables; nothing else reads a hundred."""
PARTITIONS, CHANGED = 1_000, 10
_READ = """
    SELECT sum(t.seq_tup_read) + sum(i.read) FROM pg_stat_user_tables t
    JOIN (SELECT relid, sum(idx_tup_read) AS read FROM pg_stat_user_indexes GROUP BY relid) i USING (relid)
    WHERE t.relname IN ('trident_plan', 'trident_pin', 'trident_commit')
"""
_BYTES = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN ('trident_plan', 'trident_commit')"


class Counted:
    """Rows that all connections together have read of the tables with history."""

    def __init__(self, postgres: Postgres, ledger: PostgresLedger) -> None:
        self._dsn = postgres.dsn
        self._ledger = ledger

    @contextmanager
    def at_most(self, rows: int, what: str) -> Iterator[None]:
        before = self._now()
        yield
        read = self._now() - before
        assert read <= rows, f"{what} read {read} rows"

    def _now(self) -> int:
        """Ask for the counts once they stand still: a connection that ends says what it has read."""
        self._ledger.database.engine.dispose()
        found, before = self._read(), -1
        while found != before:
            time.sleep(0.1)
            before, found = found, self._read()
        return found

    def _read(self) -> int:
        with psycopg.connect(self._dsn) as connection:
            row = connection.execute(_READ).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("txids", effort().history_txids)
def test_no_operation_reads_more_with_a_long_history(postgres: Postgres, txids: int) -> None:
    ledger = PostgresLedger(postgres.dsn, pool_size=2)
    ledger.open()
    try:
        run = first_plans(ledger, PARTITIONS, CHANGED)
        run = fill(ledger, run, txids=txids, old=txids // 2, dropped=effort().history_attempts)
        counted = Counted(postgres, ledger)
        for name, operation in operations(ledger, run, CHANGED).items():
            most = {"clean up": MOST_ROWS_READ, "clean up nothing": 3_000}.get(name, 100)
            with counted.at_most(most, name):
                operation()
        with psycopg.connect(postgres.dsn) as connection:
            row = connection.execute(_BYTES).fetchone()
        assert row is not None
        assert int(row[0]) / (txids + effort().history_attempts) < 1_500, "bytes of a txid, indexes included"
    finally:
        ledger.close()
