"""What a benchmark compares the table with, and what it says of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import psycopg
import pytest
from rich.console import Console

from benchmarks.cpu import CpuTimes
from benchmarks.expected import Expected, expected_of
from benchmarks.report import Line, Shown, show
from integration_tests.fix_postgres import Postgres

ACCOUNTS = 50
CHANGES = {
    "nothing": ("SELECT 1", 0),
    "another count": ("UPDATE balances SET n = n + 1 WHERE account = 'account-000007'", 1),
    "another sum": ("UPDATE balances SET total = total + 1 WHERE account IN ('account-000007', 'account-000008')", 2),
    "a missing one": ("DELETE FROM balances WHERE account = 'account-000007'", 1),
    "one twice": ("INSERT INTO balances SELECT * FROM balances WHERE account = 'account-000007'", 1),
    "an unknown one": ("INSERT INTO balances VALUES ('account-000099', 1, 1)", 1),
    "another name": ("UPDATE balances SET account = 'account-7' WHERE account = 'account-000007'", 2),
}


@pytest.fixture(scope="module")
def expected() -> Expected:
    return expected_of(5_000, ACCOUNTS)


@pytest.mark.parametrize("what", CHANGES)
def test_each_account_that_differs_is_counted(postgres: Postgres, expected: Expected, what: str) -> None:
    statement, differences = CHANGES[what]
    assert np.count_nonzero(expected.counts) == ACCOUNTS
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("CREATE TABLE balances (account text, n bigint, total bigint)")
        for number, (count, total) in enumerate(zip(expected.counts, expected.totals, strict=True)):
            row = (f"account-{number:06d}", int(count), int(total))
            connection.execute("INSERT INTO balances VALUES (%s, %s, %s)", row)
        connection.execute(statement)
    assert expected.difference(postgres.dsn) == differences


def shown(system: str, rate: float) -> Shown:
    line = Line(system, "wide", 5_000_000, 250_000, rate, 1000.0, None, None, 100.0, True, 5.0, None, None)
    return Shown(line, 1.0, None, CpuTimes())


def test_a_wide_run_is_held_against_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = shown("trident", 79.0), shown("trident", 80.0)
    others = [shown("structured_streaming", 10.0), shown("floor", 100.0)]
    console = Console(width=200)
    show(console, [slow, *others], "any")
    assert "trident / floor: 0.79 x records/s, aim at least 0.8: NOT reached" in capsys.readouterr().out
    show(console, [fast, *others], "any")
    assert "aim at least 0.8: reached" in capsys.readouterr().out


def test_another_one_against_structured_streaming(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        replace(each.line, workload="large") for each in (shown("trident", 20.0), shown("structured_streaming", 10))
    ]
    show(Console(width=200), [Shown(line, 1.0, None, CpuTimes()) for line in lines], "any")
    assert "trident / structured_streaming: 2.00 x records/s, aim at least 1.8: reached" in capsys.readouterr().out
