"""How fast a topology is and how much it has in work, from what its ledger keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trident.coordinators.ledger.view import BatchRow, PartitionProgress

LOOKED_AT: Final = 20
"""Of so many of the last done txids the rate is."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What the ledger says of speed; where its sources end the ledger does not know."""

    lag_planned: int
    """Positions that live plans hold behind what is done. What no plan holds yet comes on top of it."""
    rate: float | None
    """Records a second over the last done txids; None where fewer than two are kept, or no time lies between them."""

    def in_words(self) -> dict[str, object]:
        """Return it for a person."""
        rate = None if self.rate is None else f"{self.rate:,.1f} records/s over the last {LOOKED_AT} txids at most"
        return {"lag_planned": f"{self.lag_planned:,} positions are planned and not done", "rate": rate}


def pace_of(newest_first: Sequence[BatchRow], progress: Sequence[PartitionProgress]) -> Pace:
    """Return what the last done txids and the positions say.

    The first of the txids only says when the others began: how long it took itself nobody knows.
    """
    planned = sum(each.planned - each.done for each in progress)
    if len(newest_first) < 2:
        return Pace(planned, None)
    begun, ended = newest_first[-1].done_at, newest_first[0].done_at
    if begun is None or ended is None or ended <= begun:
        return Pace(planned, None)
    records = sum(row.records for row in newest_first[:-1])
    return Pace(planned, round(records / (ended - begun).total_seconds(), 1))
