"""PostgreSQL keeps to the one equality and order, and refuses the rest: by the driver's way in, and by the tasks'."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pyarrow as pa
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.state.test_postgres_contract import PostgresHarness
from trident.base.control import decode
from trident.base.errors import MismatchError, RefusedError
from trident.base.writes import WriteManifest
from trident.state import PostgresState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.postgres.dialect import PostgresDialect
from trident.state.staged import WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, apart, batch_of, counts, held, put, ready, seen, writing
from trident.testing.value_contract import poison

LAST = StateLayout(COUNTS.keys, (ValueColumn("last", pa.string(), Merge.GREATEST),))
OWN_TABLE = (
    "CREATE TABLE counts (account text {key}, last text {value}, previous_last text, previous_txid bigint, "
    "txid bigint NOT NULL, UNIQUE (account))"
)


@pytest.fixture(params=[True, False], ids=["beside the ledger", "apart"])
def harness(postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[PostgresHarness]:
    harness = PostgresHarness(postgres.dsn, request.param)
    yield harness
    harness.close()


@pytest.fixture
def apart_from(postgres: Postgres) -> Iterator[PostgresHarness]:
    harness = PostgresHarness(postgres.dsn, False)
    yield harness
    harness.close()


def execute(harness: PostgresHarness, statement: str) -> None:
    with psycopg.connect(harness.dsn) as connection:
        connection.execute(statement)  # type: ignore[call-overload, unused-ignore]


def test_keys_with_a_collation_of_their_own_are_refused(harness: PostgresHarness) -> None:
    """One that is not deterministic would take two keys for one; any other can't be compared with the staged keys'."""
    execute(harness, OWN_TABLE.format(key='COLLATE "ucs_basic"', value=""))
    with pytest.raises(MismatchError, match="key column 'account' has the collation 'ucs_basic'"):
        ready(harness, layout=LAST)


def test_a_collation_of_values_changes_no_result(harness: PostgresHarness) -> None:
    execute(harness, OWN_TABLE.format(key="", value='COLLATE "ucs_basic"'))
    store = ready(harness, layout=LAST)
    put(harness, store, batch_of(1), held(LAST, ("ann", "b"), ("ANN", "a")))
    put(harness, store, batch_of(2), held(LAST, ("ann", "C"), ("ANN", "é")))
    assert seen(harness, LAST) == {"ann": ("b",), "ANN": ("é",)}


def test_padded_keys_are_refused(harness: PostgresHarness) -> None:
    execute(harness, OWN_TABLE.format(key="", value="").replace("account text", "account character(5)"))
    with pytest.raises(MismatchError, match=r"'account' is character\(5\), wanted text"):
        ready(harness, layout=LAST)


@pytest.mark.parametrize(("one", "two"), [("public.counts", "counts"), ("one.counts", "one_counts")])
def test_two_states_never_share_a_table_whatever_they_call_it(harness: PostgresHarness, one: str, two: str) -> None:
    """Nor a staging table: that of `one.counts` has the name of that of `one_counts`."""
    execute(harness, "CREATE SCHEMA one")
    first, second = (
        PostgresState(name, table=table).open(COUNTS, harness.database) for name, table in (("a", one), ("b", two))
    )
    first.prepare()
    first.register(OWNER, EPOCH, 0)
    with pytest.raises(MismatchError, match=r"of state 'a'|belongs to state 'a'"):
        second.prepare()


def test_names_that_differ_in_case_are_two_tables(harness: PostgresHarness) -> None:
    for name in ("Counts", "counts"):
        store = PostgresState(name).open(COUNTS, harness.database)
        store.prepare()
        store.register(OWNER, EPOCH, 0)


def test_names_of_any_length_that_a_server_holds(harness: PostgresHarness) -> None:
    for size in (1, 54, 62, 63):
        name = "ä" * (size // 2) + "n" * (size % 2)
        layout = StateLayout((KeyColumn(name, pa.string()),), (ValueColumn("total", pa.int64(), Merge.ADD),))
        store = PostgresState(f"s{size}", dsn=harness.dsn, table=name).open(layout, harness.database)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        store.register(OWNER, EPOCH, 0)
        for txid in (1, 2):
            store.apply(batch_of(txid), store.stage(batch_of(txid), held(layout, ("a", 1))))
        with psycopg.connect(harness.dsn) as connection:
            found = connection.execute(f'SELECT "{name}", total FROM "{name}"').fetchall()  # type: ignore[call-overload, unused-ignore]
        assert found == [("a", 2)]
        store.close()


def test_a_key_of_any_length_is_exact_or_refused(harness: PostgresHarness) -> None:
    draw = random.Random(7)
    store = ready(harness)
    expected: dict[object, tuple[object, ...]] = {}
    for txid, length in enumerate((0, 1, 2_600), 1):
        key = "".join(draw.choices(string.ascii_letters, k=length))
        put(harness, store, batch_of(txid), counts((key, 1, 10)))
        expected[key] = (1, 10)
    too_long = "".join(draw.choices(string.ascii_letters, k=100_000))
    with pytest.raises(RefusedError) as refusal:
        put(harness, store, batch_of(4), counts((too_long, 1, 10), ("ann", 1, 1)))
    assert too_long[:20] not in str(refusal.value)
    assert seen(harness) == expected


def test_a_batch_below_and_above_what_the_planner_is_told_of_is_exact(harness: PostgresHarness) -> None:
    store = ready(harness)
    for txid, size in enumerate((5_001, 5_000, 4_999), 1):
        put(harness, store, batch_of(txid), counts(*[(f"a{number}", 1, number) for number in range(size)]))
    found = seen(harness)
    assert {found[f"a{number}"] for number in range(3)} == {(3, 0), (3, 3), (3, 6)}
    assert (len(found), found["a4998"], found["a4999"], found["a5000"]) == (5_001, (3, 14_994), (2, 9_998), (1, 5_000))


def test_tasks_refuse_what_the_driver_refuses(apart_from: PostgresHarness) -> None:
    cases = [column for _, column in poison()]
    columns = [KeyColumn(f"k{number}", column.type) for number, column in enumerate(cases)]
    layout = StateLayout(tuple(columns), (ValueColumn("n", pa.int64(), Merge.ADD),))
    writer = writing(apart(apart_from, layout=layout)).writer(batch_of(1))
    for number, column in enumerate(cases):
        keys = [column if n == number else pa.array([None], other.type) for n, other in enumerate(cases)]
        batch = pa.record_batch([*keys, pa.array([1], pa.int64())], schema=layout.schema())
        with pytest.raises(RefusedError, match=f"column 'k{number}'"):
            list(writer(iter([batch])))


def test_keys_that_tasks_stage_have_the_one_form(apart_from: PostgresHarness) -> None:
    layout = StateLayout((KeyColumn("k", pa.float64()),), (ValueColumn("n", pa.int64(), Merge.ADD),))
    store = apart(apart_from, layout=layout)
    for txid, keys in enumerate(([float("nan"), -0.0], [-float("nan"), 0.0]), 1):
        batch = pa.record_batch([pa.array(keys), pa.array([1, 1])], schema=layout.schema())
        words = [decode(word) for word in writing(store).writer(batch_of(txid))(iter([batch]))]
        writes = tuple(word for word in words if isinstance(word, WriteManifest))
        store.apply(batch_of(txid), WrittenUpdates(writes))
    assert sorted((str(row["k"]), row["n"]) for row in apart_from.rows(layout)) == [("0.0", 2), ("nan", 2)]


def test_more_writes_than_a_statement_has_parameters(apart_from: PostgresHarness) -> None:
    store = apart(apart_from, StateKind.TRANSACTIONAL)
    writer = writing(store).writer(batch_of(1))
    (word,) = (decode(word) for word in writer(iter(counts(("ann", 1, 10)).rows.to_batches())))
    assert isinstance(word, WriteManifest)
    empty = [WriteManifest("counts", f"{number:032x}", type(word.digest)()) for number in range(70_000)]
    store.apply(batch_of(1), WrittenUpdates((*empty, word)))
    assert seen(apart_from) == {"ann": (1, 10)}


def test_a_moment_is_an_instant_whatever_zone_the_session_shows_it_in() -> None:
    summer = datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=2)))
    found = PostgresDialect().from_stored(pa.timestamp("us", "UTC"), summer)
    assert isinstance(found, datetime)
    assert (found, found.tzinfo) == (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), UTC)
