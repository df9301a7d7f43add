"""Reads the tables of a finished run for the checker."""

from __future__ import annotations

import psycopg
from psycopg import sql

from chaos.checker import Planned, parse_ranges
from chaos.recount import Totals

_PLANS = """
    SELECT txid, p.attempt, p.epoch, p.ranges FROM trident_commit c JOIN trident_plan p USING (topology, txid, attempt)
    WHERE p.status = 'done' ORDER BY txid
"""
_LOSSES = "SELECT spout, partition, start_offset, stop_offset FROM trident_loss WHERE status <> 'dropped'"


def committed_plans(dsn: str) -> list[Planned]:
    """Return the plan of every committed txid, in their order."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(_PLANS).fetchall()
    return [Planned(int(txid), int(attempt), int(epoch), parse_ranges(ranges)) for txid, attempt, epoch, ranges in rows]


def recorded_losses(dsn: str) -> list[tuple[str, int, int, int]]:
    """Return every recorded loss: stream, partition, start, stop."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(_LOSSES).fetchall()
    return [(spout, int(partition), int(start), int(stop)) for spout, partition, start, stop in rows]


def longest_processing(dsn: str) -> float:
    """Return how many seconds the slowest committed batch was processed."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT coalesce(max(process_ms), 0) / 1000.0 FROM trident_commit").fetchone()
    assert row is not None
    return float(row[0])


def stored_totals(dsn: str, table: str) -> Totals:
    """Return a state's table as any user would read it."""
    statement = sql.SQL("SELECT account, n, total, ids FROM {}").format(sql.Identifier(table))
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(statement).fetchall()
    return {account: (int(n), int(total), int(ids)) for account, n, total, ids in rows}
