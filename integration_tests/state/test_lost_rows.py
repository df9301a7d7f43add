"""What PostgreSQL tells of a table beside its rows: whether it is still the same one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase
from trident.state.tables import counting
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, undoing

COPY = "CREATE TABLE kept AS SELECT * FROM balances"


@pytest.fixture
def store(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A state of three rows, too large to be counted at each start."""
    monkeypatch.setattr(counting, "_CHEAP", 2)
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn))
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 10), ("bob", 2, 20), ("cyd", 3, 30))))
    yield store
    store.close()


def by_hand(postgres: Postgres, *statements: str) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload, unused-ignore]


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM balances",),
        ("TRUNCATE balances",),
        ("DROP TABLE balances",),
        (COPY, "TRUNCATE balances", "INSERT INTO balances SELECT * FROM kept LIMIT 2"),
        (COPY, "DROP TABLE balances"),
        ("DELETE FROM balances WHERE account = 'ann'", "VACUUM FULL balances"),
    ],
    ids=["deleted", "truncated", "dropped", "truncated and part of it filled in", "dropped with a copy", "rewritten"],
)
def test_a_table_that_lost_its_rows_is_noticed_whatever_its_size(store, postgres, statements):
    by_hand(postgres, *statements)
    store.prepare()
    found = r"(holds [02] rows, not the 3|is missing, and with it the 3 rows)"
    for _ in range(2):
        with pytest.raises(MismatchError, match=rf"table 'balances' of state 'balances' {found} "):
            store.capabilities.counting.check_rows(OWNER, EPOCH)


@pytest.mark.parametrize(
    "statements",
    [
        ("VACUUM FULL balances",),
        (COPY, "TRUNCATE balances", "INSERT INTO balances SELECT * FROM kept"),
        ("ALTER TABLE balances ADD COLUMN note timestamptz DEFAULT clock_timestamp()",),
    ],
    ids=["rewritten", "restored", "altered"],
)
def test_a_table_that_is_another_one_with_all_of_its_rows_goes_on(store, postgres, statements, monkeypatch):
    by_hand(postgres, *statements)
    for _ in range(2):
        store.capabilities.counting.check_rows(OWNER, EPOCH)
    counted: list[int | None] = []
    original = counting.count_rows

    def noting(connection: Any, shape: Any, limit: int | None) -> int:
        counted.append(limit)
        return original(connection, shape, limit)

    monkeypatch.setattr(counting, "count_rows", noting)
    store.capabilities.counting.check_rows(OWNER, EPOCH)
    assert counted == [1]  # it is counted once, and known from then on


def test_an_undo_takes_what_it_deletes_out_of_the_account(store, postgres):
    store.apply(batch_of(2), store.stage(batch_of(2), counts(("ann", 1, 1), ("dan", 1, 1), ("eve", 1, 1))))
    undoing(store).undo(batch_of(2), 10, store.stage(batch_of(2), counts(("ann", 1, 1), ("dan", 1, 1), ("eve", 1, 1))))
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT row_count, txid FROM trident_applied").fetchall() == [(3, 1)]


def test_an_old_epoch_counts_nothing(store):
    newer = Epoch(EPOCH.number + 1, "newer")
    store.raise_fence(OWNER, newer)
    with pytest.raises(FencedError):
        store.capabilities.counting.check_rows(OWNER, EPOCH)
