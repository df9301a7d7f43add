"""Reads the tables of a finished run for the checker."""

from __future__ import annotations

from contextlib import closing

from chaos.checker import Planned, parse_ranges
from chaos.databases import Database, Row
from chaos.recount import Totals

_PLANS = """
    SELECT c.txid, p.attempt, p.epoch, p.ranges FROM trident_commit c
    JOIN trident_plan p ON p.topology = c.topology AND p.txid = c.txid AND p.attempt = c.attempt
    WHERE p.status = 'done' ORDER BY c.txid
"""
_LOSSES = "SELECT spout, partition, start_offset, stop_offset FROM trident_loss WHERE status <> 'dropped'"


def committed_plans(ledger: str) -> list[Planned]:
    """Return the plan of every committed txid, in their order."""
    rows = _asked(ledger, _PLANS)
    return [Planned(int(txid), int(attempt), int(epoch), parse_ranges(ranges)) for txid, attempt, epoch, ranges in rows]


def recorded_losses(ledger: str) -> list[tuple[str, int, int, int]]:
    """Return every recorded loss: stream, partition, start, stop."""
    rows = _asked(ledger, _LOSSES)
    return [(spout, int(partition), int(start), int(stop)) for spout, partition, start, stop in rows]


def longest_processing(ledger: str) -> float:
    """Return how many seconds the slowest committed batch was processed."""
    ((longest,),) = _asked(ledger, "SELECT coalesce(max(process_ms), 0) / 1000.0 FROM trident_commit")
    return float(longest)


def stored_totals(address: str, table: str) -> Totals:
    """Return a state's table as any user would read it."""
    rows = _asked(address, f'SELECT account, n, total, ids FROM "{table}"')
    return {account: (int(n), int(total), int(ids)) for account, n, total, ids in rows}


def waiting_entries(ledger: str) -> int:
    """Return how many entries wait in outboxes; once all is sent there is none."""
    ((count,),) = _asked(ledger, "SELECT count(*) FROM trident_outbox")
    return int(count)


def _asked(address: str, statement: str) -> list[Row]:
    with closing(Database(address)) as database:
        return database.rows(statement)
