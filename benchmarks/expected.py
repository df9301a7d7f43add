"""What the table must hold, counted from the generator's records; shares no code with any measured system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg

from benchmarks.workloads import SEED
from examples.payments_data import payments


@dataclass(frozen=True, slots=True)
class Expected:
    """Count and sum of the amounts above zero by account, for so many records."""

    records: int
    balances: Mapping[str, tuple[int, int]]

    def difference(self, dsn: str) -> int:
        """Return how many accounts the table `balances` has otherwise, missing and unknown ones included."""
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
        stored = {account: (int(count), int(total)) for account, count, total in rows}
        twice = len(rows) - len(stored)
        accounts = self.balances.keys() | stored.keys()
        return twice + sum(self.balances.get(account) != stored.get(account) for account in accounts)


def expected_of(records: int) -> Expected:
    """Count the first run of so many generated payments."""
    counts: dict[str, int] = {}
    totals: dict[str, int] = {}
    for chunk in payments(records, SEED):
        for payment in map(json.loads, chunk):
            account, amount = payment["account"], payment["amount"]
            if amount > 0:
                counts[account] = counts.get(account, 0) + 1
                totals[account] = totals.get(account, 0) + amount
    return Expected(records, {account: (count, totals[account]) for account, count in counts.items()})
