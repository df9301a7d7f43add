"""One rule for every name: what the narrowest store keeps as it is; told when the thing with the name is made."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from trident import ConfigurationError, Count, Sum, Topology
from trident.base.names import LONGEST_NAME, check_name, check_table_name
from trident.graph.nodes import SourceNode
from trident.language.persisting import persistent
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState, MemoryState, PostgresState, SqliteState, StateKind
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.tables.names import helper_table, quote, quote_table
from trident.state.tables.shape import table_shape

LONG = "x" * LONGEST_NAME
GOOD = ["a", "Payments 2026", "a.b", "größe", "名前", "it's", "a-b/c", "`tick`", LONG, "é" * 31, "select", "$1"]
NEVER = ["", " ", "a\nb", "a\0b", "a\tb", "a\u200bb", "\ud800", "x" * 201, b"a", None, 5, True]
NEW = [" a", "a ", LONG + "x", "é" * 32, "e\u0301", 'a"b', "a:b", "a%b", "a\\b"]
"""What an older version took as the name of a topology, stream or state."""
QUOTABLE = [" a", "a ", "e\u0301"]
"""Of these, what it took as the name of a table: it goes on too."""
LATER = ("topology", "stream", "memory state", "map state", "postgres state", "sqlite state")
"""Whether such a name is new only the ledger can say: see tests/coordinators/test_names_that_are_known.py."""
BAD = [*NEVER, *NEW]


class Map:
    def multi_get(self, keys: object) -> object:
        raise NotImplementedError

    def multi_put(self, items: object) -> None:
        raise NotImplementedError


MAKERS: dict[str, Callable[[str], object]] = {
    "topology": Topology,
    "stream": lambda name: check_stream(name),
    "memory state": MemoryState,
    "map state": lambda name: BackingMapState(name, Map()),  # type: ignore[arg-type]
    "postgres state": lambda name: PostgresState(name, table="t"),
    "sqlite state": lambda name: SqliteState(name, table="t"),
    "postgres table": lambda name: PostgresState("s", table=f"one.{name}" if isinstance(name, str) else name),
    "sqlite table": lambda name: SqliteState("s", table=name),
    "key column": lambda name: shape(StateKind.TRANSACTIONAL, key=name),
    "value column": lambda name: shape(StateKind.TRANSACTIONAL, value=name),
}
NO_TEXT = {"postgres table": [None], "sqlite table": [None], "key column": [], "value column": []}
"""A table that is not named has the state's name."""


def check_stream(name: str) -> None:
    """A good name gets as far as the session that is not there."""
    try:
        Topology("t").stream(name, FixedBatchSpout("n int", []))
    except ConfigurationError as error:
        if "no active Spark session" not in str(error):
            raise


def shape(kind: StateKind, key: str = "k", value: str = "v") -> object:
    layout = StateLayout((KeyColumn(key, pa.string()),), (ValueColumn(value, pa.int64(), Merge.ADD),))
    return table_shape("s", "t", kind, layout)


@pytest.mark.parametrize("what", MAKERS)
@pytest.mark.parametrize("name", GOOD)
def test_a_name_that_every_store_holds_is_taken(what: str, name: str) -> None:
    if what.endswith("table") and "." in name:
        return
    MAKERS[what](name)


@pytest.mark.parametrize("what", LATER)
@pytest.mark.parametrize("name", NEW, ids=ascii)
def test_what_an_older_version_took_is_asked_of_the_ledger(what: str, name: str) -> None:
    MAKERS[what](name)


@pytest.mark.parametrize("name", NEW, ids=ascii)
def test_a_new_name_is_one_that_every_store_holds(name: str) -> None:
    with pytest.raises(ConfigurationError, match="must be a name of 1 to 63 bytes"):
        check_name("a name", name)
    with pytest.raises(ConfigurationError, match="must be a name of 1 to 63 bytes"):
        check_table_name("a table", name, is_new=True)


@pytest.mark.parametrize("what", MAKERS)
@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_any_other_is_refused_when_it_is_given(what: str, name: object) -> None:
    is_for_later = (what in LATER and name in NEW) or (what.endswith("table") and name in QUOTABLE)
    if name in NO_TEXT.get(what, ()) or is_for_later:
        return
    with pytest.raises(ConfigurationError, match=r"must be a (name|table's name|text)"):
        MAKERS[what](name)  # type: ignore[arg-type]


def test_a_column_of_the_librarys_own_counts_too() -> None:
    """The value before is kept in a column whose name is nine bytes longer."""
    fits = "v" * (LONGEST_NAME - len("previous_"))
    shape(StateKind.OPAQUE, value=fits)
    shape(StateKind.TRANSACTIONAL, value=fits + "v")
    with pytest.raises(ConfigurationError, match=f"1 to {LONGEST_NAME} bytes"):
        shape(StateKind.OPAQUE, value=fits + "v")


@pytest.mark.parametrize("state", [MemoryState("s"), PostgresState("s"), SqliteState("s"), BackingMapState("s", Map())])  # type: ignore[arg-type]
@pytest.mark.parametrize(
    ("aggregators", "said"),
    [({"n" * 60: Count()}, "1 to 63 bytes"), ({"a:b": Sum("n")}, "1 to 63 bytes"), ({"Trident_n": Count()}, "clashes")],
)
def test_a_column_is_refused_when_the_topology_is_built(
    state: object, aggregators: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame after the aggregation is all that Spark would tell."""
    fields = StructType([StructField("k", StringType()), *(StructField(name, LongType()) for name in aggregators)])
    monkeypatch.setattr(Stream, "_after", lambda *_: SimpleNamespace(schema=fields))
    monkeypatch.setattr("trident.language.aggregating.Aggregate", fake_aggregate)
    source = SourceNode("in", FixedBatchSpout("k string, n bigint", []))
    stream = Stream(Topology("t"), source, SimpleNamespace(schema=fields))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=said):
        persistent(stream, state, ("k",), aggregators)  # type: ignore[arg-type]


def fake_aggregate(keys: tuple[str, ...], aggregators: dict[str, object], *, stored: bool) -> object:
    kept = {name: SimpleNamespace(by=None, suffix="", merge=Merge.ADD, combine=None) for name in aggregators}
    return SimpleNamespace(keys=keys, kept=kept, stored=stored, texts={}, results={}, combine_of=lambda name: None)


def test_a_table_may_have_a_schema_and_none_of_the_librarys_names() -> None:
    assert check_table_name("a table", "one.two") == "one.two"
    for name in ("one.two.three", ".t", "s.", "trident_totals", "s.Trident_applied", "a b.", 5):
        with pytest.raises(ConfigurationError, match="a table must be"):
            check_table_name("a table", name)
    for name in ("main.t", "sqlite_master"):
        with pytest.raises(ConfigurationError, match="without a dot"):
            SqliteState("s", table=name)


def test_names_that_are_derived_stay_within_the_bound_and_apart() -> None:
    tables = [LONG, LONG[:-1], LONG[:-1] + "y", "é" * 31, f"{LONG}.{LONG}", "a.b"]
    prefixes = [f"trident_{each}_" for each in ("staging", "copy_0123abcd", "find_0123abcd", "key", "null_key")]
    derived = [helper_table(prefix, table) for prefix in prefixes for table in tables]
    derived += [helper_table("trident_by_txid_", helper_table("trident_staging_", table)) for table in tables]
    assert len(set(derived)) == len(derived)
    for name in derived:
        assert check_name("derived", name) == name
        assert quote(name) == f'"{name}"'
    assert quote_table(f"{LONG}.t") == f'"{LONG}"."t"'
