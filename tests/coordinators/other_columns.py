"""Versions of one topology whose states have other columns, over the lists of `fakes`; and where their states lie."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tests.coordinators.fakes import LAYOUT, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.state.harnesses import BackingHarness, ConditionalMap
from trident.base.crash_points import CrashPoint
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import MemoryLedger, SqliteLedger
from trident.coordinators.ledger.base import Ledger
from trident.state import BackingMapState, MemoryState, SqliteState
from trident.state.layout import Merge, StateKind, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import HeldUpdates
from trident.state.target import State

MANIFOLD = {"twice": 2, "thrice": 3}
"""Values that come later: so many times what comes into `total`, so that every total says what they have to be."""
TWICE, THRICE = (ValueColumn(name, pa.int64(), Merge.ADD) for name in MANIFOLD)
FIRST = LAYOUT
TURNED = StateLayout(LAYOUT.keys, LAYOUT.values[::-1])
GROWN = StateLayout(LAYOUT.keys, (TWICE, *LAYOUT.values))
Sums = dict[str, tuple[int, int]]
Meddle = Callable[[ProcessRequest], None]


class Died(BaseException):
    """The process is gone."""


def dying_behind(txid: int) -> Callable[[CrashPoint, int], None]:
    """Return what dies once a txid is decided: pinned, or done with its pin."""

    def die(at: CrashPoint, of: int) -> None:
        if of == txid and at in (CrashPoint.AFTER_PIN, CrashPoint.AFTER_DONE):
            raise Died

    return die


def dying_at(point: CrashPoint, txid: int | None = None, reach: int = 1) -> Callable[[CrashPoint, int], None]:
    """Return what dies when a point is reached so many times, be it of one txid."""
    left = [reach]

    def die(at: CrashPoint, of: int) -> None:
        if at is point and txid in (None, of):
            left[0] -= 1
            if left[0] == 0:
                raise Died

    return die


@dataclass
class Place(ABC):
    """Where a ledger and one state lie."""

    folder: Path
    kind: StateKind

    @abstractmethod
    def ledger(self) -> Ledger:
        """Open the ledger."""

    @abstractmethod
    def state(self) -> State:
        """Return the state, `sums`."""

    @abstractmethod
    def rows(self) -> list[dict[str, object]]:
        """Return what is stored of each key, in the columns that there are."""

    def sums(self) -> Sums:
        return {str(row["account"]): (int(str(row["n"])), int(str(row["total"]))) for row in self.rows()}

    def twice(self) -> dict[str, object]:
        return {str(row["account"]): row["twice"] for row in self.rows()}


@dataclass
class InSqlite(Place):
    apart: bool = True

    @property
    def file(self) -> Path:
        return self.folder / ("sums.sqlite" if self.apart else "ledger.sqlite")

    def ledger(self) -> Ledger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def state(self) -> State:
        return SqliteState("sums", path=self.file if self.apart else None, kind=self.kind)

    def rows(self) -> list[dict[str, object]]:
        with sqlite3.connect(self.file) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM sums")]


@dataclass
class InMemory(Place):
    apart: bool = True
    kept: MemoryLedger = field(default_factory=MemoryLedger)
    own: MemoryDatabase = field(default_factory=MemoryDatabase)

    def ledger(self) -> Ledger:
        return self.kept

    def state(self) -> MemoryState:
        return MemoryState("sums", kind=self.kind, database=self.own if self.apart else None)

    def rows(self) -> list[dict[str, object]]:
        return self.state().rows(self.kept.database)


@dataclass
class InAMap(InSqlite):
    map: BackingHarness = field(default_factory=lambda: BackingHarness(ConditionalMap(), chunk_rows=2))

    def state(self) -> State:
        return BackingMapState("sums", self.map.map, kind=self.kind, chunk_rows=2)

    def rows(self) -> list[dict[str, object]]:
        with sqlite3.connect(self.folder / "ledger.sqlite") as connection:
            ((spec,),) = connection.execute("SELECT spec FROM trident_topology").fetchall()
        names = [value.split()[0] for value in json.loads(spec)["states"]["sums"]["values"].split(", ")]
        known = {value.name: value for value in (*LAYOUT.values, TWICE, THRICE)}
        return self.map.rows(StateLayout(LAYOUT.keys, tuple(known[name] for name in names)))


PLACES: dict[str, Callable[[Path, StateKind], Place]] = {
    "sqlite, beside the ledger": partial(InSqlite, apart=False),
    "sqlite, apart": InSqlite,
    "memory, beside the ledger": partial(InMemory, apart=False),
    "memory, apart": InMemory,
    "a map": InAMap,
}


def version(topic: Topic, state: State, layout: StateLayout, meddle: Meddle = lambda _: None) -> RunnableTopology:
    """Return a version whose state has just these columns."""

    def with_columns(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        meddle(request)
        return replace(result, updates={name: _in(layout, updates) for name, updates in result.updates.items()})

    plan = make_job(topic, state, meddle=with_columns).plan()
    said = {
        "kind": state.kind.value,
        "keys": ", ".join(f"{key.name} {key.type}" for key in layout.keys),
        "values": ", ".join(f"{value.name} {value.type} {value.merge.value}" for value in layout.values),
    }
    spec = replace(plan.spec, states={state.name: {**state.description(), **said}})
    return replace(plan, spec=spec, targets={state.name: partial(state.open, layout)})


def run(place: Place, topic: Topic, layout: StateLayout, meddle: Meddle = lambda _: None) -> RunSummary:
    """Run a version until it has caught up."""
    return TopologyRun(version(topic, place.state(), layout, meddle), place.ledger(), OPTIONS).run()


def doubled(now: Sums, before: Sums) -> dict[str, object]:
    """Return what `twice` is when it was born before the difference of two sums came."""
    return {
        account: 2 * (total - before.get(account, (0, 0))[1]) if n > before.get(account, (0, 0))[0] else None
        for account, (n, total) in now.items()
    }


def _in(layout: StateLayout, updates: object) -> HeldUpdates:
    assert isinstance(updates, HeldUpdates)
    rows = updates.rows
    for name, times in MANIFOLD.items():
        rows = rows.append_column(name, pc.multiply(updates.rows.column("total"), times))
    return HeldUpdates(rows.select(layout.schema().names))
