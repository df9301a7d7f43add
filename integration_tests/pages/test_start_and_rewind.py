"""docs/howto/start-and-rewind.md: each reset that it prints, and what the sums are then."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing

from pyspark.sql import SparkSession

from integration_tests.pages.jobs import RUN, encoded, payments_of, send, sums_in, sums_of, write
from integration_tests.pages.walking import Topics, Walk
from trident import PostgresLedger
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.cli.exits import Exit
from trident.coordinators.registered import Lease

PAYMENTS = [(f"account-{number % 7}", number % 50) for number in range(3_000)]


def test_each_reset_does_what_the_page_says(spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]) -> None:
    walking = walk("docs/howto/start-and-rewind.md")
    servers.make("payments", partitions=2)
    send(encoded(PAYMENTS), 2)
    write(walking, payments_of(1))
    walking.shell(RUN)
    ledger = os.environ["TRIDENT_LEDGER"]
    whole = sums_of(PAYMENTS)
    assert sums_in(ledger) == whole

    (resets,) = walking.blocks("sh")
    clear, clear_from, offsets, resume = resets.text.splitlines()
    for line in (clear, clear_from):
        walking.shell(line)
        walking.shell(RUN)
        assert sums_in(ledger) == whole
    walking.shell(offsets)
    assert "300 twice" in walking.asked[-1]
    assert "600 twice" in walking.asked[-1]
    walking.shell(RUN)
    twice = sums_of([*PAYMENTS[2 * 1200 :: 2], *PAYMENTS[2 * 900 + 1 :: 2]], whole)
    assert sums_in(ledger) == twice
    walking.shell(resume)
    walking.shell(RUN)
    assert sums_in(ledger) == twice
    _what_is_refused(walking, ledger)


def _what_is_refused(walking: Walk, ledger: str) -> None:
    reset = "trident reset payments.py:topology --states adopt --yes --start"
    for start in ("payments:0=99999,payments:1=0", "2026-01-31T06:00:00"):
        walking.shell(f"{reset} {start}", Exit.WRONG_USE)
        walking.quotes(walking.complained)
    with closing(PostgresLedger(ledger)) as other:
        other.open(DEFAULT_TIMEOUTS)
        epoch = other.acquire("payments", Lease("another", DEFAULT_TIMEOUTS.lease)).epoch
        walking.shell(f"{reset} resume", Exit.HELD)
        walking.quotes(walking.complained)
        other.release("payments", epoch)


def test_each_start_that_the_page_prints_is_one(
    spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]
) -> None:
    (block,) = walk("docs/howto/start-and-rewind.md").blocks("python")
    exec(block.compiled(), {})
