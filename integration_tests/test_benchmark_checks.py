"""What a benchmark compares the tables with."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from benchmarks.expected import Expected, expected_of
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


@pytest.mark.parametrize(("statement", "differences"), [("SELECT 1", 0), ("UPDATE sizes SET n = n - 1", 1)])
def test_what_other_tables_count_is_compared_in_all(
    postgres: Postgres, expected: Expected, statement: str, differences: int
) -> None:
    paid = int(expected.counts.sum())
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("CREATE TABLE sizes (n bigint)")
        connection.execute("CREATE TABLE endings (n bigint)")
        connection.execute("INSERT INTO endings VALUES (%s)", (paid,))
        connection.execute("INSERT INTO sizes VALUES (1), (%s)", (paid - 1,))
        connection.execute(statement)
    assert expected.count_difference(postgres.dsn, ("sizes", "endings")) == differences
    assert expected.count_difference(postgres.dsn, ()) == 0
