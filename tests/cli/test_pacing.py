"""What `trident status` says of speed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from trident.cli.pacing import Pace, pace_of
from trident.coordinators.ledger.view import BatchRow, PartitionProgress

START = datetime(2026, 1, 1, tzinfo=UTC)


def done(txid: int, records: int, at_s: float | None) -> BatchRow:
    at = None if at_s is None else START + timedelta(seconds=at_s)
    return BatchRow("t", "i", txid, txid, 1, 1, records, 0, 0, 1, 2, 3, at)


def test_the_rate_is_of_what_came_between_the_first_and_the_last_moment():
    """The first txid may have waited for an hour before it was done."""
    pace = pace_of([done(3, 60, 4.0), done(2, 20, 1.0), done(1, 1_000, 0.0)], ())
    assert (pace.rate, pace.in_words()["rate"]) == (20.0, "20.0 records/s over the last 20 txids at most")


@pytest.mark.parametrize(
    "rows",
    [[], [done(1, 5, 0.0)], [done(2, 5, 0.0), done(1, 5, 0.0)], [done(2, 5, 1.0), done(1, 5, None)]],
)
def test_without_a_time_between_two_txids_there_is_no_rate(rows):
    pace = pace_of(rows, ())
    assert pace.rate is None
    assert pace.in_words()["rate"] is None


def test_what_is_planned_and_not_done_is_summed_over_all_partitions():
    progress = [PartitionProgress("in", "a", 0, 10, 25), PartitionProgress("in", "a", 1, 7, 7)]
    assert pace_of([], progress) == Pace(15, None)
