"""What takes long is done before a transaction begins: neither the server's limits nor a successor meet it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from integration_tests.fix_postgres import Postgres
from tests.coordinators import fakes
from trident.base.control import decode
from trident.base.errors import FatalError, RefusedError
from trident.base.timeouts import Timeouts
from trident.base.writes import WriteManifest
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.options import OnRunning, RunOptions, Until
from trident.state import PostgresState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.postgres import writer
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, held, querying, writing

SHORT = timedelta(seconds=1.2)
"""A lease whose limit, half of it, is shorter than what the tests do outside of transactions."""
LONGER = 1.0


def longest(stored: object, staged: object) -> object:
    time.sleep(LONGER)
    return max(str(stored), str(staged), key=lambda text: (len(text), text))


LONGEST = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("v", pa.string(), Merge.COMBINE, longest),))


class Place:
    """A state beside the ledger or apart from it, with limits that follow a short lease."""

    def __init__(self, dsn: str, layout: StateLayout, beside: bool, lease: timedelta = SHORT) -> None:
        self.database = PostgresDatabase(dsn, lease=lease)
        self.beside = beside
        state = PostgresState("balances", kind=StateKind.OPAQUE, dsn=None if beside else dsn)
        self.store = state.open(layout, self.database, Timeouts(lease=lease))
        self.store.prepare()
        self.store.raise_fence(OWNER, EPOCH)
        self.store.register(OWNER, EPOCH, 0)

    def put(self, txid: int, updates: Any) -> None:
        batch = batch_of(txid)
        staged = self.store.stage(batch, updates) if isinstance(updates, HeldUpdates) else updates
        if not self.beside:
            self.store.apply(batch, staged)
            return
        ready = self.store.ready(batch, staged)
        with self.database.transaction() as transaction:
            self.store.copy_in(transaction, batch, ready)
            self.store.apply_in(transaction, batch, ready)

    def by_tasks(self, txid: int, batches: Iterator[pa.RecordBatch]) -> WrittenUpdates:
        words = [decode(word) for word in writing(self.store).writer(batch_of(txid))(batches)]
        return WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))

    def values(self, column: str = "v") -> list[Any]:
        with self.database.transaction() as transaction:
            return list(transaction.connection.exec_driver_sql(f"SELECT {column} FROM balances ORDER BY 1").scalars())

    def close(self) -> None:
        self.store.close()
        self.database.close()


@pytest.fixture
def place(postgres: Postgres) -> Iterator[Callable[..., Place]]:
    with ExitStack() as stack:

        def make(layout: StateLayout, beside: bool, lease: timedelta = SHORT) -> Place:
            made = Place(postgres.dsn, layout, beside, lease)
            stack.callback(made.close)
            return made

        yield make


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "apart"])
@pytest.mark.parametrize("by_tasks", [False, True], ids=["held", "by tasks"])
@pytest.mark.drawn(one_in=2)
def test_a_combiner_that_needs_longer_than_the_servers_limits(place, beside, by_tasks):
    made = place(LONGEST, beside)
    for txid, text in enumerate(["a", "bbb", "cc"], 1):
        updates = held(LONGEST, ("key", text), (f"new {txid}", text))
        made.put(txid, made.by_tasks(txid, iter(updates.rows.to_batches())) if by_tasks else updates)
    assert made.values() == ["a", "bbb", "bbb", "cc"]


def test_a_combiner_that_never_returns_keeps_no_start(postgres, monkeypatch):
    """Not even where a start rolls forward what the run before has pinned, before it has a coordinator."""
    hangs, let_go = threading.Event(), threading.Event()

    def combine(stored: Any, staged: Any) -> Any:
        if hangs.is_set():
            let_go.wait(60)
        return stored + staged

    columns = (ValueColumn("n", pa.int64(), Merge.COMBINE, combine), ValueColumn("total", pa.int64(), Merge.ADD))
    monkeypatch.setattr(fakes, "LAYOUT", StateLayout((KeyColumn("account", pa.string()),), columns))
    options = RunOptions(until=Until.CAUGHT_UP, batch_timeout=timedelta(seconds=0.5), on_running=OnRunning.REFUSE)
    topic = fakes.Topic([[("a", 1)] * 20])
    apart, more = (PostgresState(name, dsn=postgres.dsn) for name in ("balances", "more"))

    def run(*states: PostgresState) -> None:
        TopologyRun(fakes.make_job(topic, *states).plan(), PostgresLedger(postgres.dsn), options).run()

    run(apart)
    topic.partitions[0] += [("a", 1)] * 10
    hangs.set()
    for states in ((apart,), (apart, more)):
        with pytest.raises(FatalError, match="a combiner of state 'balances' has not returned for"):
            run(*states)
    hangs.clear()
    let_go.set()
    run(apart, more)
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT n, total FROM balances").fetchone() == (30, 30)


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "apart"])
def test_a_task_that_waits_for_its_rows_longer_than_the_servers_limits(place, beside, monkeypatch):
    monkeypatch.setattr(writer, "_ROWS", 1)
    made = place(COUNTS, beside)

    def slowly() -> Iterator[pa.RecordBatch]:
        for name in ("ann", "bob", "cyd"):
            yield from counts((name, 1, 10)).rows.to_batches()
            time.sleep(LONGER)

    made.put(1, made.by_tasks(1, slowly()))
    assert made.values("total") == [10, 10, 10]


def test_nothing_is_open_while_rows_are_made_ready(place, postgres, monkeypatch):
    """Neither while a task gathers its rows nor while anybody turns them into the driver's values."""
    at_work: list[Any] = []
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        with psycopg.connect(postgres.dsn) as other:
            at_work.extend(
                other.execute(
                    "SELECT state, query FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
                )
            )

    def looking(self: PostgresDialect, rows: pa.Table) -> Any:
        look()
        return original(self, rows)

    def rows_of_a_task() -> Iterator[pa.RecordBatch]:
        for name in ("ann", "bob"):
            look()
            yield from counts((name, 1, 10)).rows.to_batches()

    def folding(stored: object, staged: object) -> object:
        look()
        return f"{stored}{staged}"

    original = PostgresDialect.ready_rows
    monkeypatch.setattr(PostgresDialect, "ready_rows", looking)
    monkeypatch.setattr(writer, "_ROWS", 1)
    made = place(COUNTS, beside=False, lease=timedelta(seconds=10))
    made.put(1, counts(("ann", 1, 1)))
    made.put(2, made.by_tasks(2, rows_of_a_task()))
    assert querying(made.store).find("orders", pa.table({"account": ["ann"]})).rows.num_rows == 1
    layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("v", pa.string(), Merge.COMBINE, folding),))
    other = PostgresState("texts").open(layout, made.database)
    other.prepare()
    other.register(OWNER, EPOCH, 0)
    for txid in (1, 2):
        other.apply(batch_of(txid), held(layout, ("k", "x")))
    assert looks >= 9
    assert at_work == []


DAYS = StateLayout(
    (KeyColumn("k", pa.int32()),),
    tuple(
        ValueColumn(name, type_, Merge.GREATEST)
        for name, type_ in (
            ("day", pa.date32()),
            ("second", pa.timestamp("s")),
            ("milli", pa.timestamp("ms", "Europe/Berlin")),
            ("micro", pa.timestamp("us")),
            ("instant", pa.timestamp("us", "UTC")),
        )
    ),
)
FIRST = (date(1, 1, 1) - date(1970, 1, 1)).days
LAST = (date(9999, 12, 31) - date(1970, 1, 1)).days


def days(*rows: tuple[int | None, ...]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    arrays: list[pa.Array[Any]] = [pa.array(range(len(rows)), pa.int32())]
    for values, field in zip(columns, list(DAYS.schema())[1:], strict=True):
        number = pa.int32() if pa.types.is_date(field.type) else pa.int64()
        arrays.append(pa.array(values, number).cast(field.type))
    return pa.table(arrays, schema=DAYS.schema())


def test_each_moment_that_python_can_hold_is_stored_exactly(place):
    a_day = 86_400
    rows = days(
        (FIRST, FIRST * a_day, FIRST * a_day * 1000, FIRST * a_day * 10**6, FIRST * a_day * 10**6),
        (-1, -1, -1, -1, -1),
        (0, 946_684_800, 946_684_799_999, 946_684_799_999_999, 946_684_800_000_001),
        (LAST, (LAST + 1) * a_day - 1, (LAST + 1) * a_day * 1000 - 1, *[(LAST + 1) * a_day * 10**6 - 1] * 2),
        (None,) * 5,
    )
    made = place(DAYS, beside=True, lease=timedelta(seconds=10))
    made.put(1, HeldUpdates(rows))
    with psycopg.connect(made.database.dsn) as connection:
        expressions = [
            "day - DATE '1970-01-01'",
            *[f"round(extract(epoch FROM {name}) * {by})::bigint" for name, by in
              (("second", 1), ("milli", 10**3), ("micro", 10**6), ("instant", 10**6))],
        ]  # fmt: skip
        stored = connection.execute(f"SELECT {', '.join(expressions)} FROM balances ORDER BY k").fetchall()  # type: ignore[call-overload, unused-ignore]
    numbers = [
        rows.column(name).cast(pa.int32() if name == "day" else pa.int64()).to_pylist()
        for name in rows.column_names[1:]
    ]
    assert [list(row) for row in stored] == [list(row) for row in zip(*numbers, strict=True)]


@pytest.mark.parametrize("column", range(5))
@pytest.mark.parametrize("side", [-1, 1], ids=["before year 1", "after year 9999"])
def test_a_moment_that_python_cannot_hold_is_refused_by_name(place, column, side):
    by = (1, 86_400, 86_400_000, 86_400 * 10**6, 86_400 * 10**6)[column]
    row: list[int | None] = [None] * 5
    row[column] = FIRST * by - 1 if side < 0 else (LAST + 1) * by
    made = place(DAYS, beside=True, lease=timedelta(seconds=10))
    with pytest.raises(RefusedError, match=DAYS.schema().names[1 + column]):
        made.put(1, HeldUpdates(days(tuple(row))))
    assert made.values("k") == []
