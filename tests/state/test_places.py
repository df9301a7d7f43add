"""Two states never write to one place: refused when the topology is built where it is known, else when it is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from sqlalchemy import text

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.state.harnesses import ClearableMap, ConditionalMap, DictMap
from trident import ConfigurationError, Count, MemoryLedger, SqliteLedger, Topology
from trident.base.errors import MismatchError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.graph.nodes import PersistNode, SourceNode
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState, MemoryState, PostgresState, SqliteState
from trident.state.layout import KeyColumn, StateLayout
from trident.state.maps.maps import BackingPosition
from trident.state.memory.database import MemoryDatabase
from trident.state.places import shared_place
from trident.state.sqlite.database import SqliteDatabase
from trident.state.target import State
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts

HOME = "postgresql://ann:secret@127.0.0.1/money"
MAP = DictMap()
SAME: dict[str, tuple[State, State]] = {
    "one map": (BackingMapState("a", MAP), BackingMapState("b", MAP)),
    "one table beside the ledger": (PostgresState("a"), PostgresState("b", table="a")),
    "a table with its default schema": (PostgresState("t"), PostgresState("b", table="public.t")),
    "a table of one dsn": (PostgresState("a", dsn=HOME), PostgresState("b", table="a", dsn=HOME)),
    "another form of the dsn": (
        PostgresState("a", dsn=HOME),
        PostgresState("b", table="a", dsn="host=localhost port=5432 dbname=money user=bob password=other"),
    ),
    "another driver's word for the dsn": (
        PostgresState("a", dsn=HOME),
        PostgresState("b", table="public.a", dsn="postgresql+psycopg://bob@LOCALHOST:5432/money"),
    ),
    "a table of one service": (
        PostgresState("a", dsn="service=money user=ann"),
        PostgresState("b", table="a", dsn="service=money user=bob"),
    ),
    "a table of one folder of sockets": (
        PostgresState("a", dsn="host=/run/one dbname=money"),
        PostgresState("b", table="a", dsn="host=/run/one port=5432 dbname=money user=bob"),
    ),
    "a table with its schema, whatever the path": (
        PostgresState("a", dsn=f"{HOME}?options=-csearch_path%3Done", table="app.t"),
        PostgresState("b", dsn=f"{HOME}?options=-csearch_path%3Dtwo", table="app.t"),
    ),
    "one staging table": (PostgresState("x", table="a.b"), PostgresState("y", table="a_b")),
    "SQLite's case folding": (SqliteState("totals"), SqliteState("Totals")),
    "one file": (SqliteState("a", path="x.sqlite"), SqliteState("b", table="A", path="./y/../x.sqlite")),
}
APART: dict[str, tuple[State, State]] = {
    "two maps": (BackingMapState("a", MAP), BackingMapState("b", DictMap())),
    "two tables": (PostgresState("a"), PostgresState("b")),
    "case, which Postgres keeps": (PostgresState("a"), PostgresState("A")),
    "two schemas": (PostgresState("a", table="one.t"), PostgresState("b", table="two.t")),
    "two databases": (PostgresState("a", dsn=HOME), PostgresState("b", table="a", dsn=HOME + "2")),
    "two ports": (PostgresState("a", dsn=HOME), PostgresState("b", table="a", dsn=HOME.replace("/money", ":9/money"))),
    "two services": (
        PostgresState("a", dsn="service=one"),
        PostgresState("b", table="a", dsn="service=two"),
    ),
    "a service and a machine": (
        PostgresState("a", dsn="service=one dbname=money"),
        PostgresState("b", table="a", dsn=HOME),
    ),
    "two folders of sockets": (
        PostgresState("a", dsn="host=/run/one dbname=money"),
        PostgresState("b", table="a", dsn="host=/run/two dbname=money"),
    ),
    "a folder of sockets and a port": (
        PostgresState("a", dsn="host=/run/one dbname=money"),
        PostgresState("b", table="a", dsn=HOME),
    ),
    "two schemas that the addresses name": (
        PostgresState("a", dsn=f"{HOME}?options=-csearch_path%3Done"),
        PostgresState("b", table="a", dsn=f"{HOME}?options=-csearch_path%3Dtwo"),
    ),
    "two files": (SqliteState("a", path="x.sqlite"), SqliteState("b", table="a", path="y.sqlite")),
    "a letter that SQLite does not fold": (SqliteState("é"), SqliteState("É")),
    "memory": (MemoryState("a"), MemoryState("b")),
}


def built(*states: State) -> Topology:
    topology = Topology("t")
    spout = FixedBatchSpout("n bigint", [])
    source = SourceNode("in", spout)
    for state in states:
        aggregate = SimpleNamespace(keys=(), kept={"n": Count().merge})
        topology._add_end(PersistNode(state, COUNTS, aggregate, source))  # type: ignore[arg-type]  # not looked at
    return topology


@pytest.mark.parametrize("case", SAME)
def test_two_states_in_one_place_are_refused_when_the_topology_is_built(case: str) -> None:
    first, second = SAME[case]
    for one, other in ((first, second), (second, first)):
        with pytest.raises(ConfigurationError, match=r"would both write to .*; give each a place") as caught:
            built(one, other)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("case", APART)
def test_two_states_in_two_places_are_taken(case: str) -> None:
    first, second = APART[case]
    assert shared_place(first, second) is None
    built(first, second)


@pytest.mark.parametrize("make", [DictMap, ConditionalMap, ClearableMap])
def test_a_map_that_is_another_states_is_refused_when_it_is_opened(make: Callable[[], DictMap]) -> None:
    """Two objects over one store can't be told apart before: what is in the store says whose it is."""
    kept = make()
    mine = BackingMapState("mine", kept).open(COUNTS, MemoryDatabase())
    for step in (mine.prepare, lambda: mine.raise_fence(OWNER, EPOCH), lambda: mine.register(OWNER, EPOCH, 0)):
        step()
    mine.apply(batch_of(1), mine.stage(batch_of(1), counts(("ann", 1, 10))))
    before = dict(kept.rows)
    other = BackingMapState("other", kept).open(COUNTS, MemoryDatabase())
    with pytest.raises(MismatchError, match="the map belongs to state 'mine' of topology 'orders'"):
        other.look("orders")
    with pytest.raises(MismatchError, match="the map belongs to state 'mine' of topology 'orders'"):
        other.raise_fence(OWNER, EPOCH)
    assert kept.rows == before
    mine.raise_fence(OWNER, EPOCH)
    assert kept.rows == before


@pytest.mark.parametrize("keys", [0, 2, 5])
def test_a_map_is_one_states_whatever_its_keys_are(keys: int) -> None:
    """Each would find only its own claim, and a reset of one would empty the other's rows."""
    kept = ClearableMap()
    mine = BackingMapState("mine", kept).open(COUNTS, MemoryDatabase())
    for step in (mine.prepare, lambda: mine.raise_fence(OWNER, EPOCH), lambda: mine.register(OWNER, EPOCH, 0)):
        step()
    before = dict(kept.rows)
    layout = StateLayout(tuple(KeyColumn(f"k{number}", pa.string()) for number in range(keys)), COUNTS.values)
    other = BackingMapState("other", kept).open(layout, MemoryDatabase())
    with pytest.raises(MismatchError, match="the map belongs to state 'mine' of topology 'orders'"):
        other.look("orders")
    with pytest.raises(MismatchError, match="the map belongs to state 'mine' of topology 'orders'"):
        other.raise_fence(OWNER, EPOCH)
    resetting = other.capabilities.resetting
    assert resetting is not None
    with pytest.raises(MismatchError, match="the map belongs to state 'mine' of topology 'orders'"):
        resetting.check_clear("orders")
    assert kept.rows == before


def test_of_two_states_that_share_a_map_already_neither_is_emptied() -> None:
    """As versions left it that looked only for claims of as many key columns."""
    kept = ClearableMap()
    mine = BackingMapState("mine", kept).open(COUNTS, MemoryDatabase())
    mine.raise_fence(OWNER, EPOCH)
    resetting = mine.capabilities.resetting
    assert resetting is not None
    resetting.check_clear("orders")
    kept.multi_put(
        [(("trident state of this map", "trident", "trident"), BackingPosition("t", "", 0, "o", None, None, None))]
    )
    with pytest.raises(MismatchError, match="the map belongs to state 'o' of topology 't'"):
        resetting.check_clear("orders")


def test_a_map_that_was_emptied_by_a_reset_is_still_its_states() -> None:
    kept = ClearableMap()
    mine = BackingMapState("mine", kept).open(COUNTS, MemoryDatabase())
    mine.raise_fence(OWNER, EPOCH)
    resetting = mine.capabilities.resetting
    assert resetting is not None
    resetting.clear(OWNER, EPOCH, 7)
    with pytest.raises(MismatchError, match="the map belongs to state 'mine'"):
        BackingMapState("other", kept).open(COUNTS, MemoryDatabase()).raise_fence(OWNER, EPOCH)


def test_a_start_over_anothers_map_has_changed_nothing_anywhere(tmp_path: Path) -> None:
    """Nor is a person asked to agree to a reset that is refused then."""
    kept, own = ClearableMap(), tmp_path / "own.sqlite"
    topic = Topic([[("a", 1)] * 5])
    TopologyRun(make_job(topic, BackingMapState("theirs", kept)).plan("other"), MemoryLedger(), OPTIONS).run()
    before = dict(kept.rows)
    plan = make_job(topic, SqliteState("first", path=own), BackingMapState("mine", kept)).plan()
    asked: list[object] = []
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(MismatchError, match="the map belongs to state 'theirs' of topology 'other'"):
        TopologyRun(plan, ledger, OPTIONS).run()
    with pytest.raises(MismatchError, match="the map belongs to state 'theirs' of topology 'other'"):
        reset_topology(
            plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS, agree=asked.append
        )
    ledger.close()
    assert (kept.rows, asked) == (before, [])
    with sqlite3.connect(own) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


class Handle:
    """Another object over the same store, as two connections to one server are."""

    def __init__(self, store: DictMap) -> None:
        self.multi_get, self.multi_put = store.multi_get, store.multi_put


def test_two_handles_of_one_store_stop_the_start_before_anything_is_applied() -> None:
    kept = DictMap()
    job = make_job(Topic([[("a", 1)]]), BackingMapState("one", Handle(kept)), BackingMapState("two", Handle(kept)))
    with pytest.raises(MismatchError, match="two states over one map would overwrite each other's values"):
        TopologyRun(job.plan(), MemoryLedger(), OPTIONS).run()


def test_a_table_that_another_state_has_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "state.db")
    mine = SqliteState("totals").open(COUNTS, database)
    mine.prepare()
    mine.register(OWNER, EPOCH, 0)
    wider = StateLayout(COUNTS.keys, COUNTS.values[:1])
    other = SqliteState("other", table="TOTALS", path=tmp_path / "state.db").open(wider, database)
    with pytest.raises(MismatchError, match="table 'TOTALS' belongs to state 'totals' of topology 'orders'"):
        other.prepare()
    with database.transaction() as transaction:
        rows = transaction.connection.execute(text("SELECT name FROM sqlite_master WHERE name LIKE '%totals%'"))
        names = {str(row[0]) for row in rows}
    assert names == {name.lower() for name in names}
    database.close()
    other.close()


def test_a_file_that_is_the_ledgers_own_is_noticed_at_the_first_start(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    apart = SqliteState("apart", table="beside", path=tmp_path / "ledger.sqlite")
    job = make_job(Topic([[("a", 1)]]), SqliteState("beside"), apart)
    with pytest.raises(MismatchError, match="belongs to state"):
        TopologyRun(job.plan(), ledger, OPTIONS).run()
