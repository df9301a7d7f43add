"""Tables of a user's own that tell keys apart by something else than their bytes, and tables with two names."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from tests.state.harnesses import SqliteHarness
from trident.base.errors import ConfigurationError, MismatchError
from trident.state import BackingMapState, MemoryState, SqliteState
from trident.state.comparing import NAN, greatest, least, settled
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, held, put, ready, seen

LAST = StateLayout(COUNTS.keys, (ValueColumn("last", pa.string(), Merge.GREATEST),))


def sqlite_table(tmp_path: Path, statements: str, encoding: str = "UTF-8") -> SqliteHarness:
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.executescript(statements)
    return SqliteHarness(tmp_path, beside=False)


def own_table(key: str, value: str = "") -> str:
    return (
        f"CREATE TABLE counts (account text {key}, last text {value}, previous_last text, previous_txid bigint, "
        "txid bigint NOT NULL);"
    )


def test_a_table_whose_keys_are_told_apart_without_case_is_refused(tmp_path: Path) -> None:
    harness = sqlite_table(tmp_path, own_table("COLLATE NOCASE PRIMARY KEY"))
    with pytest.raises(MismatchError, match=r"unique index over \(account\), by bytes"):
        ready(harness, layout=LAST)
    harness.close()


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_a_collation_of_columns_changes_no_result(tmp_path: Path, collation: str) -> None:
    """The index tells keys apart by their bytes; what the columns say is for the user's own queries."""
    own = own_table(f"COLLATE {collation}", f"COLLATE {collation}")
    harness = sqlite_table(tmp_path, own + "CREATE UNIQUE INDEX own ON counts (account COLLATE BINARY)")
    store = ready(harness, layout=LAST)
    put(harness, store, batch_of(1), held(LAST, ("ann", "b"), ("ann ", "B ")))
    put(harness, store, batch_of(2), held(LAST, ("ANN", "a"), ("ann", "C"), ("ann ", "B")))
    assert seen(harness, LAST) == {"ann": ("b",), "ann ": ("B ",), "ANN": ("a",)}
    harness.close()


def test_a_file_whose_texts_have_another_order_is_refused(tmp_path: Path) -> None:
    harness = sqlite_table(tmp_path, "CREATE TABLE other (n)", encoding="UTF-16le")
    with pytest.raises(ConfigurationError, match="UTF-16le"):
        ready(harness)
    harness.close()


def test_two_states_of_one_table_are_refused_whatever_they_call_it(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "state.db")
    one, two = (
        SqliteState(name, table=table).open(COUNTS, database) for name, table in (("one", "Counts"), ("two", "counts"))
    )
    one.prepare()
    one.register(OWNER, EPOCH, 0)
    with pytest.raises(MismatchError, match="'counts' belongs to state 'one'"):
        two.prepare()
    database.close()


def test_no_state_may_have_a_table_of_this_librarys_own() -> None:
    for table in ("trident_staging_counts", "Trident_applied"):
        with pytest.raises(ConfigurationError, match="this library's own"):
            SqliteState("counts", table=table)


@pytest.mark.parametrize(
    ("type_", "merge", "text"),
    [
        (pa.float64(), Merge.ADD, "a sum of floats"),
        (pa.list_(pa.int64()), Merge.LEAST, "can't hold"),
        (pa.timestamp("ns"), Merge.LEAST, "can't hold"),
        (pa.decimal256(50, 2), Merge.ADD, "can't hold"),
        (pa.uint64(), Merge.ADD, "can't hold"),
    ],
    ids=str,
)
def test_what_no_store_keeps_alike_is_refused_by_every_store(type_: pa.DataType, merge: Merge, text: str) -> None:
    layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("v", type_, merge),))
    database = MemoryDatabase()
    for state in (MemoryState("s"), BackingMapState("s", PlainMap())):
        with pytest.raises(ConfigurationError, match=text):
            state.open(layout, database)


class PlainMap:
    def multi_get(self, keys):
        return [None for _ in keys]

    def multi_put(self, items):
        pass


def test_one_nan_is_found_again_wherever_it_was() -> None:
    assert pickle.loads(pickle.dumps((NAN,))) == (NAN,)
    assert pickle.loads(pickle.dumps(NAN)) is NAN
    assert settled(float("nan")) is NAN
    assert {(settled(float("nan")),): 1}[(settled(-float("nan")),)] == 1
    assert str(settled(-0.0)) == "0.0"
    assert least(NAN, NAN) is greatest(NAN, NAN) is NAN
    assert (least(float("inf"), NAN), greatest(NAN, float("inf"))) == (float("inf"), NAN)


def test_a_batch_below_and_above_what_the_planner_is_told_of_is_exact(tmp_path: Path) -> None:
    harness = SqliteHarness(tmp_path, beside=True)
    store = ready(harness)
    for txid, size in enumerate((5_001, 5_000, 4_999), 1):
        put(harness, store, batch_of(txid), counts(*[(f"a{number}", 1, number) for number in range(size)]))
    found = seen(harness)
    assert {found[f"a{number}"] for number in range(3)} == {(3, 0), (3, 3), (3, 6)}
    assert (len(found), found["a4998"], found["a4999"], found["a5000"]) == (5_001, (3, 14_994), (2, 9_998), (1, 5_000))
    harness.close()
