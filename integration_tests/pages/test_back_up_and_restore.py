"""docs/howto/back-up-and-restore.md: what it backs up goes on elsewhere; a sink that has sent more says so."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_postgres import Postgres
from integration_tests.pages.jobs import RUN, encoded, payments_of, send, sums_in, sums_of, write
from integration_tests.pages.walking import Topics, Walk
from trident.cli.exits import Exit

PAYMENTS = [(f"account-{number % 7}", number % 50) for number in range(600)]


def test_a_backup_goes_on_in_another_database(
    spark: SparkSession,
    servers: Topics,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    walk: Callable[[str], Walk],
) -> None:
    walking = walk("docs/howto/back-up-and-restore.md")
    back_up, restore, goes_on, anew = walking.blocks("sh")
    servers.make("payments", "alerts")

    def run_on(payments: list[tuple[str, int]]) -> None:
        send(encoded(payments))
        walking.shell(RUN)

    write(walking, payments_of(1))
    run_on(PAYMENTS[:200])
    walking.do(back_up)
    run_on(PAYMENTS[200:400])
    monkeypatch.setenv("RESTORED", postgres.new_dsn())
    walking.do(restore)
    assert sums_in(os.environ["RESTORED"]) == sums_of(PAYMENTS[:200])
    walking.do(goes_on)
    assert os.environ["TRIDENT_LEDGER"] == os.environ["RESTORED"]
    assert sums_in(os.environ["RESTORED"]) == sums_of(PAYMENTS[:400])

    write(walking, payments_of(2))
    walking.shell(RUN)
    walking.do(back_up)
    run_on(PAYMENTS[400:])
    monkeypatch.setenv("RESTORED", postgres.new_dsn())
    walking.do(restore)
    monkeypatch.setenv("TRIDENT_LEDGER", os.environ["RESTORED"])
    walking.shell(RUN, Exit.FAILED)
    walking.quotes(walking.complained)
    assert sums_in(os.environ["RESTORED"]) == sums_of(PAYMENTS[:400])
    walking.do(anew)
    walking.shell(RUN)
    assert sums_in(os.environ["RESTORED"]) == sums_of(PAYMENTS)
