"""What is measured: how many payments, in batches of how many."""

from __future__ import annotations

from dataclasses import dataclass, replace

from examples.payments_data import ACCOUNTS

PARTITIONS = 4
SEED = 20_260
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Workload:
    """Payments of so many accounts in one topic; a batch takes at most `batch` of them."""

    name: str
    records: int
    batch: int
    accounts: int = ACCOUNTS

    @property
    def topic(self) -> str:
        """Name of the topic that all systems read at full speed."""
        return f"payments-{self.name}"

    def scaled(self, scale: float) -> Workload:
        """Return the same with fewer records (or more), in batches of the same size.

        A quick run keeps at least five batches, by smaller batches where it must: with fewer there
        would be no time between commits to speak of.
        """
        records = max(int(self.records * scale), _FEWEST)
        return replace(self, records=records, batch=min(self.batch, max(records // _FEWEST, 1)))


WORKLOADS = (
    Workload("large", 5_000_000, 250_000),
    Workload("small", 400_000, 1_000),
    Workload("wide", 5_000_000, 250_000, accounts=10_000_000),
)
USUAL = ("large", "small")
"""What runs unless others are named."""
