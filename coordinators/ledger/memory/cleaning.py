"""Letting go of history in a memory ledger, by the rules of a SQL ledger's."""

from __future__ import annotations

from trident.coordinators.ledger.memory.rows import Entry, Rows
from trident.coordinators.registered import Keep


def clean_up(rows: Rows, entry: Entry, keep: Keep, now: float) -> int:
    """Delete the history of finished txids that `keep` lets go; returns how many rows. See `Ledger.clean_up`."""
    topology = entry.spec.name
    finished = rows.finished(topology)
    done = sorted(row.stored.plan.txid for row in finished.values() if row.commit)
    oldest_kept = min(done[-max(keep.count, 1) :], default=0)
    latest = now - keep.age.total_seconds()
    gone = [row for row in finished.values() if row.commit and row.done_at < latest]
    last = max((row.stored.plan.txid for row in gone if row.stored.plan.txid < oldest_kept), default=0)
    doomed = [row for row in finished.values() if row.stored.plan.txid <= min(last, entry.progress.done - 1)]
    for row in doomed:
        rows.forget(topology, row.stored.plan.attempt)
    return sum(1 + (row.commit is not None) + (row.pin is not None) for row in doomed)
