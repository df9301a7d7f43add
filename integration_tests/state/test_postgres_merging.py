"""The ways in which a batch is merged: by one statement or two, by reading the table or by looking keys up."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlalchemy import Connection

from integration_tests.fix_postgres import Postgres
from trident.base.errors import MismatchError, RefusedError
from trident.state import PostgresState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.postgres import dialect as postgres_dialect
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect
from trident.state.staged import StagedUpdates
from trident.state.tables import staged
from trident.state.tables.merge import merge_statement
from trident.state.tables.shape import table_shape
from trident.state.tables.target import TableTarget
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, beside, counts, held

LAYOUT = StateLayout(
    (KeyColumn("place", pa.string()), KeyColumn("day", pa.int64())),
    (
        ValueColumn("n", pa.int64(), Merge.ADD),
        ValueColumn("least", pa.int64(), Merge.LEAST),
        ValueColumn("greatest", pa.string(), Merge.GREATEST),
    ),
)
Key = tuple[str | None, int | None]
Values = tuple[int, int, str]
WAYS = {"two statements": (False, 2), "one statement": (True, 10**9), "one statement by key": (True, 0)}
"""Whether a MERGE is used, and from how many stored rows for each staged one keys are looked up."""


@pytest.fixture
def database(postgres: Postgres) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres.dsn)
    yield database
    database.close()


def opened(database: PostgresDatabase, kind: StateKind = StateKind.OPAQUE, layout: StateLayout = LAYOUT) -> TableTarget:
    store = PostgresState("balances", kind=kind).open(layout, database)
    store.prepare()
    store.register(OWNER, EPOCH, 0)
    return store


def query(database: PostgresDatabase, statement: str) -> list[tuple[object, ...]]:
    with database.transaction() as transaction:
        return [tuple(row) for row in transaction.connection.exec_driver_sql(statement)]


def execute(database: PostgresDatabase, statement: str) -> None:
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql(statement)


def commit(database: PostgresDatabase, store: TableTarget, txid: int, updates: StagedUpdates) -> None:
    updates = beside(store).ready(batch_of(txid), updates)
    with database.transaction() as transaction:
        beside(store).copy_in(transaction, batch_of(txid), updates)
        assert beside(store).apply_in(transaction, batch_of(txid), updates)


def drawn(numbers: random.Random) -> dict[Key, Values]:
    """Return a batch in which some keys are null, wholly or in part; half of the keys came before."""
    places = [None, *(f"place-{number}" for number in range(30))]
    days = [None, *range(30)]
    keys = {(numbers.choice(places), numbers.choice(days)) for _ in range(300)}
    return {key: (numbers.randrange(9), numbers.randrange(99), f"é{numbers.randrange(99)}") for key in keys}


def merge_into(stored: dict[Key, Values], batch: dict[Key, Values]) -> None:
    for key, (n, least, greatest) in batch.items():
        before = stored.get(key, (0, least, greatest))
        stored[key] = before[0] + n, min(before[1], least), max(before[2], greatest)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.NON_TRANSACTIONAL])
def test_every_way_gives_the_same(database, way, kind, monkeypatch):
    at_once, wide = WAYS[way]
    monkeypatch.setattr(staged, "_LARGE", 1)
    monkeypatch.setattr(staged, "_WIDE", wide)
    monkeypatch.setattr(postgres_dialect, "_MERGE_RETURNS", 0 if at_once else 10**9)
    store, before = opened(database, kind), {}
    stored: dict[Key, Values] = {}
    numbers = random.Random(5)
    for txid in range(1, 6):
        batch = drawn(numbers)
        before = {key: stored[key][0] for key in batch if key in stored}
        merge_into(stored, batch)
        commit(database, store, txid, held(LAYOUT, *((*key, *values) for key, values in batch.items())))
    found = query(database, "SELECT place, day, n, least, greatest FROM balances")
    assert {(row[0], row[1]): tuple(row[2:]) for row in found} == stored
    assert len(found) == len(stored)
    assert query(database, "SELECT row_count FROM trident_applied") == [(len(stored),)]
    if kind is StateKind.OPAQUE:
        last = query(database, "SELECT place, day, previous_n FROM balances WHERE txid = 5")
        assert {(place, day): n for place, day, n in last if n is not None} == before


@pytest.mark.parametrize("way", WAYS)
def test_a_row_of_a_later_txid_stops_the_batch(database, way, monkeypatch):
    at_once, wide = WAYS[way]
    monkeypatch.setattr(staged, "_LARGE", 1)
    monkeypatch.setattr(staged, "_WIDE", wide)
    monkeypatch.setattr(postgres_dialect, "_MERGE_RETURNS", 0 if at_once else 10**9)
    store = opened(database, layout=COUNTS)
    execute(database, "INSERT INTO balances (account, n, total, txid) VALUES ('ann', 1, 1, 7)")
    with pytest.raises(MismatchError, match="a stored row of a later txid"):
        commit(database, store, 1, counts(("ann", 1, 1), ("bob", 1, 1)))
    assert query(database, "SELECT account, n, total, txid FROM balances") == [("ann", 1, 1, 7)]


def filled(database: PostgresDatabase, rows: int) -> None:
    execute(
        database,
        f"INSERT INTO balances (account, n, total, txid) "
        f"SELECT 'account-' || i, 1, 1, 0 FROM generate_series(1, {rows}) AS i",
    )
    execute(database, "ANALYZE balances")


def plan(database: PostgresDatabase) -> str:
    """Return how 500 staged keys, half of them new, would be merged by key."""
    dialect = PostgresDialect()
    statement = merge_statement(
        table_shape("balances", "balances", StateKind.OPAQUE, COUNTS), dialect, "staged", (False,), by_key=True
    )
    with database.transaction() as transaction:
        connection = transaction.connection
        connection.exec_driver_sql('CREATE TEMPORARY TABLE staged (account text COLLATE "C", n bigint, total bigint)')
        connection.exec_driver_sql(
            "INSERT INTO staged SELECT 'account-' || 20 * i, 1, 1 FROM generate_series(1, 500) AS i"
        )
        dialect.analyse(connection, "staged")
        settings = "SELECT current_setting('random_page_cost'), current_setting('cpu_operator_cost')"
        before = connection.exec_driver_sql(settings).one()
        with dialect.looked_up(connection):
            rows = connection.exec_driver_sql("EXPLAIN " + statement.replace(":txid", "1")).scalars().all()
        assert connection.exec_driver_sql(settings).one() == before
        connection.exec_driver_sql("DROP TABLE staged")
    return "\n".join(rows)


def test_keys_of_a_wide_table_are_looked_up_in_their_order(database):
    opened(database, layout=COUNTS)
    filled(database, 5_000)
    found = plan(database)
    assert "Index Scan using trident_key_balances" in found
    assert re.search(r"Sort Key: s\w*\.account", found)


def test_a_table_without_its_index_is_read_once(database):
    """A plan that looks each key up without an index would read the table for each of them."""
    opened(database, layout=COUNTS)
    filled(database, 5_000)
    execute(database, "DROP INDEX trident_key_balances")
    assert "Nested Loop" not in plan(database)


ACTING = {
    "nothing": ("SELECT 1", True),
    "a trigger": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        "CREATE TRIGGER f BEFORE UPDATE ON balances FOR EACH ROW EXECUTE FUNCTION f()",
        False,
    ),
    "a rule": ("CREATE RULE r AS ON DELETE TO balances DO ALSO SELECT 1", False),
    "a policy": ("ALTER TABLE balances ENABLE ROW LEVEL SECURITY", False),
    "a foreign key": (
        "CREATE TABLE accounts (account text PRIMARY KEY);"
        "ALTER TABLE balances ADD FOREIGN KEY (account) REFERENCES accounts",
        True,
    ),
}


@pytest.mark.parametrize("what", ACTING)
def test_a_table_that_acts_by_itself_is_merged_by_two_statements(database, what):
    opened(database, layout=COUNTS)
    statement, at_once = ACTING[what]
    execute(database, statement)
    with database.transaction() as transaction:
        assert PostgresDialect().merges_at_once(transaction.connection, "balances") is at_once


@pytest.mark.parametrize("dsn", [False, True], ids=["beside the ledger", "apart"])
def test_a_known_key_that_is_staged_twice_is_refused_and_named_as_that(postgres, database, dsn):
    store = PostgresState("balances", dsn=postgres.dsn if dsn else None).open(COUNTS, database)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 1))))
    with pytest.raises(RefusedError, match="a key was staged twice for table 'balances'"):
        store.apply(batch_of(2), store.stage(batch_of(2), counts(("ann", 1, 1), ("ann", 1, 1))))
    assert query(database, "SELECT account, n, total, txid FROM balances") == [("ann", 1, 1, 1)]
    store.close()


def test_batches_without_new_keys_are_updates_until_there_are_some(database, monkeypatch):
    asked = []
    at_once = PostgresDialect.merges_at_once

    def noted(self: PostgresDialect, connection: Connection, table: str) -> bool:
        asked.append(table)
        return at_once(self, connection, table)

    monkeypatch.setattr(PostgresDialect, "merges_at_once", noted)
    store = opened(database, layout=COUNTS)
    batches = {"ann": 1, "bob": 2, "eve": 4}, {"ann": 1}, {"bob": 1}, {"ann": 1, "zoe": 3}, {"ann": 1}
    numbers = []
    for txid, batch in enumerate(batches, 1):
        commit(database, store, txid, counts(*((account, n, n) for account, n in batch.items())))
        numbers.append(len(asked))
    assert numbers == [1, 2, 2, 2, 3]
    found = query(database, "SELECT account, n FROM balances ORDER BY account")
    assert found == [("ann", 4), ("bob", 3), ("eve", 4), ("zoe", 3)]
    assert query(database, "SELECT row_count FROM trident_applied") == [(4,)]
