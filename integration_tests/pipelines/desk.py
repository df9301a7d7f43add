"""What a new user has on their desk: a session, a folder with a ledger in a file, and some records."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from trident import RunSummary, SqliteLedger, Topology

Row = tuple[object, ...]
K = TypeVar("K")
V = TypeVar("V")
BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Payment:
    """One record, as the expected results are computed from it."""

    number: int
    account: str
    merchant: str
    amount: int
    at: datetime

    @property
    def row(self) -> Row:
        """It, as a spout gives it."""
        return self.number, self.account, self.merchant, self.amount, self.at


FIELDS = "number bigint, account string, merchant string, amount bigint, at timestamp"


def payments(count: int, seed: int = 1) -> list[Payment]:
    """Return payments of five accounts at four merchants, one every 17 seconds, some of them taken back."""
    drawn = random.Random(seed)
    return [
        Payment(
            number,
            drawn.choice(("ann", "bob", "cyd", "dan", "eve")),
            drawn.choice(("bakery", "cinema", "garage", "harbour")),
            drawn.randint(-50, 200),
            BEGIN + timedelta(seconds=17 * number),
        )
        for number in range(count)
    ]


def rows(records: Iterable[Payment]) -> list[Row]:
    """Return them as a spout gives them."""
    return [each.row for each in records]


def grouped(records: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return them by a key, each list in their order."""
    found: dict[K, list[V]] = {}
    for each in records:
        found.setdefault(key(each), []).append(each)
    return found


def written(moment: datetime) -> str:
    """Return a moment as a table in SQLite has it."""
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


@dataclass(frozen=True, slots=True)
class Desk:
    """Runs topologies one after the other on one ledger, and asks the tables beside it."""

    spark: SparkSession
    folder: Path

    @property
    def file(self) -> Path:
        """Ledger, states and tables."""
        return self.folder / "ledger.sqlite"

    @property
    def ledger(self) -> SqliteLedger:
        """A new one over the file, as each run has it."""
        return SqliteLedger(self.file)

    def run(self, topology: Topology) -> RunSummary:
        """Run until all is read."""
        return topology.run(self.spark, ledger=self.ledger, until="caught_up")

    def ask(self, query: str) -> Sequence[Row]:
        """Return what a query finds, whose order is its own."""
        connection = sqlite3.connect(self.file)
        try:
            found: list[Row] = connection.execute(query).fetchall()
            return found
        finally:
            connection.close()
