"""What the table must hold, counted from the generator's records; shares no code with any measured system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql

from benchmarks.workloads import SEED
from examples.payments_data import ACCOUNTS, payments

_NAME = "account-"
_AT_ONCE = 100_000
_ROWS = "SELECT account, n, total FROM {}"
_COUNTED = "SELECT coalesce(sum(n), 0) FROM {}"


@dataclass(frozen=True, slots=True)
class Expected:
    """Count and sum of the amounts above zero, for so many records; the place of an account is its number."""

    records: int
    counts: npt.NDArray[np.int64] = field(repr=False)
    totals: npt.NDArray[np.int64] = field(repr=False)

    def difference(self, dsn: str, table: str = "balances", factor: int = 1) -> int:
        """Return how many accounts the table has otherwise, missing and unknown ones included.

        Its totals are of amounts that were multiplied by the factor.
        """
        rows = sql.SQL(_ROWS).format(sql.Identifier(table))
        left = self.counts > 0
        wrong = 0
        with psycopg.connect(dsn) as connection, connection.cursor("rows") as cursor:
            cursor.itersize = _AT_ONCE
            for account, count, total in cursor.execute(rows):
                number = self._number(account)
                if number is None or not left[number]:  # unknown, or there for the second time
                    wrong += 1
                    continue
                left[number] = False
                wrong += (self.counts[number], self.totals[number] * factor) != (count, total)
        return wrong + int(np.count_nonzero(left))

    def count_difference(self, dsn: str, tables: Sequence[str]) -> int:
        """Return how many of the tables count more or fewer payments in all, whatever their keys are."""
        paid = int(self.counts.sum())
        with psycopg.connect(dsn) as connection:
            queries = [sql.SQL(_COUNTED).format(sql.Identifier(table)) for table in tables]
            return sum(connection.execute(query).fetchone() != (paid,) for query in queries)

    def plus(self, other: Expected) -> Expected:
        """Return what two runs of payments of the same accounts come to together."""
        return Expected(self.records + other.records, self.counts + other.counts, self.totals + other.totals)

    def _number(self, account: str) -> int | None:
        digits = account.removeprefix(_NAME)
        if not digits.isdecimal() or account != _account(int(digits)) or int(digits) >= len(self.counts):
            return None
        return int(digits)


def expected_of(records: int, accounts: int = ACCOUNTS, seed: int = SEED) -> Expected:
    """Count the first run of so many generated payments."""
    counts, totals = np.zeros(accounts, np.int64), np.zeros(accounts, np.int64)
    for chunk in payments(records, seed, accounts):
        paid = [payment for payment in map(json.loads, chunk) if payment["amount"] > 0]
        numbers = [int(payment["account"].removeprefix(_NAME)) for payment in paid]
        np.add.at(counts, numbers, 1)
        np.add.at(totals, numbers, [payment["amount"] for payment in paid])
    return Expected(records, counts, totals)


def _account(number: int) -> str:
    return f"{_NAME}{number:06d}"
