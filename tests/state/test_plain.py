"""States and tables at the two weaker levels: merged as they come, by several at once, and nothing beside them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from trident.base.errors import (
    ConfigurationError,
    FatalError,
    FencedError,
    MismatchError,
    OutcomeUnknownError,
    RefusedError,
    TridentError,
)
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state import KafkaSink, MemoryState, PostgresState, PostgresTable, SqliteState, SqliteTable
from trident.state.kafka.clients import plain
from trident.state.kafka.clients.plain import PlainProducers, meaning_of
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.plainly import PlainFound, PlainMark, PlainTarget, with_positions
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.plain import PlainRows
from trident.state.row_tables.shape import RowWrite, row_shape
from trident.state.sqlite.database import SqliteDatabase
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.sqlite.rows import SqliteRows
from trident.state.tables.plain import PlainTable
from trident.state.tables.shape import table_shape

LAYOUT = StateLayout(
    (KeyColumn("account", pa.string()),),
    (
        ValueColumn("n", pa.int64(), Merge.ADD),
        ValueColumn("least", pa.int64(), Merge.LEAST),
        ValueColumn("greatest", pa.int64(), Merge.GREATEST),
    ),
)
ROW = pa.schema([pa.field("account", pa.string())]).append(pa.field("amount", pa.int64()))


def _later(stored: object, staged: object) -> object:
    return staged


def batch(txid: int) -> BatchId:
    return BatchId(Owner("payments", "first"), Epoch(1, "token"), txid, txid)


def rows(*given: tuple[str | None, int, int, int]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(LAYOUT.schema().names, row, strict=True)) for row in given], schema=LAYOUT.schema()
    )


Opened = tuple[PlainTarget, Callable[[], set[tuple[object, ...]]]]


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """A state, and how to read it without it."""
    if request.param == "memory":
        memory = MemoryDatabase()
        target = MemoryState("sums").open_plain(LAYOUT, memory)
        return target, lambda: {tuple(row.values()) for row in MemoryState("sums").rows(memory)}
    file = tmp_path / "sums.sqlite"

    def read() -> set[tuple[object, ...]]:
        with sqlite3.connect(file) as connection:
            return set(connection.execute("SELECT account, n, least, greatest FROM sums"))

    return SqliteState("sums", path=file).open_plain(LAYOUT, MemoryDatabase()), read


def test_rows_are_merged_by_key_and_null_is_a_key(opened: Opened) -> None:
    target, read = opened
    target.check()
    target.own(batch(1).owner, batch(1).epoch)
    target.write(batch(1), rows(("ann", 1, 5, 5), (None, 2, 7, 7)))
    target.write(batch(2), rows(("ann", 3, 4, 4), (None, 1, 9, 9), ("bob", 1, 1, 1)))
    assert read() == {("ann", 4, 4, 5), (None, 3, 7, 9), ("bob", 1, 1, 1)}
    target.write(batch(2), rows(("bob", 1, 1, 1)))
    assert ("bob", 2, 1, 1) in read(), "what is written twice counts twice"
    target.own(batch(3).owner, batch(3).epoch, emptied=True)
    assert read() == set()
    target.close()


@pytest.mark.parametrize("when", ["INSERT", "UPDATE"])
def test_what_a_trigger_takes_away_again_is_refused(tmp_path: Path, when: str) -> None:
    target = SqliteState("sums", path=tmp_path / "sums.sqlite").open_plain(LAYOUT, MemoryDatabase())
    target.own(batch(1).owner, batch(1).epoch)
    target.write(batch(1), rows(*[("bob", 1, 1, 1)] * (when == "UPDATE"), ("ann", 1, 1, 1)))
    with sqlite3.connect(tmp_path / "sums.sqlite") as connection:
        connection.execute(
            f"CREATE TRIGGER t AFTER {when} ON sums WHEN new.account = 'bob' "
            "BEGIN DELETE FROM sums WHERE account = 'bob'; END"
        )
        before = connection.execute("SELECT * FROM sums").fetchall()
    with pytest.raises(RefusedError, match="1 of 2 staged rows were not stored in 'sums'"):
        target.write(batch(2), rows(("ann", 1, 1, 1), ("bob", 1, 1, 1)))
    with sqlite3.connect(tmp_path / "sums.sqlite") as connection:
        assert connection.execute("SELECT * FROM sums").fetchall() == before, "nothing of the batch is written"
    target.close()


def test_several_that_write_at_once_lose_no_update(opened: Opened) -> None:
    target, read = opened
    target.own(batch(1).owner, batch(1).epoch)

    def write(first: int) -> None:
        for txid in range(first, first + 10):
            target.write(batch(txid), rows(*((f"a{n}", 1, txid, txid) for n in range(txid % 4, 5))))

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = {row[0]: row[1] for row in read()}
    assert counted == {f"a{n}": sum(1 for txid in range(30) if txid % 4 <= n) for n in range(5)}


def test_a_look_makes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sums.sqlite"
    target = SqliteState("sums", path=file).open_plain(LAYOUT, MemoryDatabase())
    target.look("payments")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "sums.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE sums (account text, n text)")
    with pytest.raises(MismatchError, match="column 'n' is text"):
        SqliteState("sums", path=file).open_plain(LAYOUT, MemoryDatabase()).look("payments")


def test_rows_that_do_not_fit_are_refused_as_a_whole(opened: Opened) -> None:
    target, read = opened
    target.own(batch(1).owner, batch(1).epoch)
    largest = (1 << 63) - 1
    target.write(batch(1), rows(("ann", largest, 1, 1)))
    with pytest.raises(RefusedError):
        target.write(batch(2), rows(("ann", 1, 1, 1), ("bob", 1, 1, 1)))
    assert read() == {("ann", largest, 1, 1)}


def test_it_stands_nowhere_and_is_no_target_of_a_pin(opened: Opened) -> None:
    target, _ = opened
    assert with_positions({"sums": target}) == {}
    assert target.position("payments") is None
    owner, epoch = batch(1).owner, batch(1).epoch
    refused: list[Callable[[], object]] = [
        lambda: target.raise_fence(owner, epoch),
        lambda: target.register(owner, epoch, 0),
        lambda: target.clean_up(owner, epoch, 1),
        lambda: target.forget_staging(owner, epoch),
    ]
    for call in refused:
        with pytest.raises(TypeError, match="'sums' writes at once and stands nowhere"):
            call()


@pytest.mark.parametrize("merge", [Merge.REPLACE, Merge.COMBINE])
@pytest.mark.parametrize("state", [MemoryState("sums"), SqliteState("sums"), PostgresState("sums")], ids=str)
def test_what_depends_on_order_or_on_python_is_refused(
    state: MemoryState | SqliteState | PostgresState, merge: Merge
) -> None:
    layout = StateLayout(LAYOUT.keys, (ValueColumn("n", pa.int64(), merge, combine=_later),))
    with pytest.raises(ConfigurationError, match=r"state 'sums': column 'n'.* can't be had at level at_least_once"):
        state.check_plain(layout)


def test_rows_are_appended_as_they_come(tmp_path: Path) -> None:
    file = tmp_path / "paid.sqlite"
    shape = row_shape("paid", "paid", ROW, RowWrite.APPEND, (), None, None, None, False)
    target = SqliteTable("paid", path=file).open_plain(shape, SqliteDatabase(tmp_path / "ledger.sqlite"))
    target.own(batch(1).owner, batch(1).epoch)
    given = pa.Table.from_pylist([{"account": "ann", "amount": 5}] * 2, schema=ROW)
    target.write(batch(1), given)
    target.write(batch(1), given)
    target.own(batch(1).owner, batch(1).epoch, emptied=True)
    target.close()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT account, amount FROM paid").fetchall() == [("ann", 5)] * 4


@pytest.mark.parametrize("table", [SqliteTable("paid"), PostgresTable("paid")], ids=str)
def test_rows_that_are_found_again_are_refused(table: SqliteTable | PostgresTable) -> None:
    shape = row_shape("paid", "paid", ROW, RowWrite.UPSERT, ("account",), None, None, None, False)
    with pytest.raises(ConfigurationError, match=r"sink 'paid': write='upsert', for which batches need an order"):
        table.check_plain(shape)


def test_what_only_stages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="tasks_dsn, a role that may write to a staging table only"):
        PostgresState("sums", tasks_dsn="postgresql://t@localhost/x").check_plain(LAYOUT)
    sink = KafkaSink("out", bootstrap_servers="localhost:9", staging_folder=str(tmp_path))
    with pytest.raises(ConfigurationError, match="a staging_folder, which nothing is staged in there"):
        sink.check_plain()
    plain = replace(sink, staging_folder=None).open_plain(MemoryDatabase(), DEFAULT_TIMEOUTS)
    assert plain.capabilities.writing is not None
    assert plain.capabilities.keeps_what_left
    plain.close()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, RefusedError),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, RefusedError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, FatalError),
        (KafkaError._MSG_TIMED_OUT, OutcomeUnknownError),
        (KafkaError._PURGE_INFLIGHT, OutcomeUnknownError),
    ],
)
def test_what_brokers_refuse_says_that_others_may_be_there(code: int, kind: type[TridentError]) -> None:
    found = meaning_of(KafkaError(code), "out", "paid")
    assert type(found) is kind
    assert "'out'" in str(found)
    assert "nothing was sent" not in str(found)


def test_whose_it_is_is_noted_and_what_it_has_had(opened: Opened) -> None:
    target, _ = opened
    first, epoch = batch(1).owner, batch(1).epoch
    assert target.found("payments") in (
        PlainFound(None, is_missing=True, has_rows=False),
        PlainFound(None, has_rows=False),
    )
    target.own(first, epoch)
    assert target.found("payments") == PlainFound(PlainMark(first, epoch, False, 0), has_rows=False)
    for txid in (7, 5):
        target.write(batch(txid), rows(("ann", 1, 5, 5)))
    assert target.found("payments") == PlainFound(PlainMark(first, epoch, True, 7), has_rows=True)
    newer, second = Epoch(2, "newer"), Owner("payments", "second")
    target.own(first, newer)
    assert target.found("payments") == PlainFound(PlainMark(first, newer, True, 7), has_rows=True)
    target.own(second, newer)
    with pytest.raises(FencedError):
        target.write(batch(8), rows(("ann", 1, 5, 5)))
    assert target.found("payments") == PlainFound(PlainMark(second, newer, True, 0), has_rows=True), "of another life"
    with pytest.raises(FencedError):
        target.own(first, epoch)
    assert target.found("payments") == PlainFound(PlainMark(second, newer, True, 0), has_rows=True), "an older epoch"
    target.own(second, newer, emptied=True)
    assert target.found("payments") == PlainFound(PlainMark(second, newer, False, 0), has_rows=False)
    with pytest.raises(MismatchError, match=r"belongs to"):
        target.found("others")
    with pytest.raises(MismatchError, match=r"belongs to"):
        target.own(Owner("others", "first"), newer, emptied=True)


def test_several_topologies_may_append_to_one_table(tmp_path: Path) -> None:
    shape = row_shape("paid", "paid", ROW, RowWrite.APPEND, (), None, None, None, False)
    place = RowPlace(SqliteDatabase(tmp_path / "paid.sqlite"), SqliteDialect(), SqliteRows(), "paid", shape, True)
    target, by_task = PlainRows(place), PlainRows(place, by_task=True)
    others = Owner("others", "first")
    for owner in (batch(1).owner, others):
        target.own(owner, batch(1).epoch)
    given = pa.Table.from_pylist([{"account": "ann", "amount": 5}], schema=ROW)
    target.write(batch(3), given)
    by_task.write(batch(4), given)
    noted = [target.found(topology).mark for topology in ("payments", "others")]
    assert [(mark.owner, mark.newest_txid) for mark in noted if mark] == [(batch(1).owner, 3), (others, 0)]
    target.own(others, batch(1).epoch, emptied=True)
    with sqlite3.connect(tmp_path / "paid.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM paid").fetchone() == (2,), "what was written stays"
    target.close()


def test_tasks_note_that_there_are_rows_and_no_txid(tmp_path: Path) -> None:
    """They would wait for one another."""
    database, shape = (
        SqliteDatabase(tmp_path / "sums.sqlite"),
        table_shape("sums", "sums", StateKind.NON_TRANSACTIONAL, LAYOUT),
    )
    target = PlainTable(database, SqliteDialect(), "sums", shape, shared=False, by_task=True)
    target.own(batch(1).owner, batch(1).epoch)
    target.write(batch(4), rows(("ann", 1, 5, 5)))
    found = target.found("payments")
    assert found is not None
    assert found.mark == PlainMark(batch(1).owner, batch(1).epoch, True, 0)
    target.close()


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("kind", ["memory", "state", "table"])
def test_beside_the_ledger_the_fence_is_held_in_the_transaction_that_writes(
    tmp_path: Path, kind: str, beside: bool
) -> None:
    """Elsewhere there is no such transaction: whoever has rows written asks before."""
    ledger: MemoryDatabase | SqliteDatabase = MemoryDatabase()
    target: PlainTarget
    if kind == "memory":
        target = MemoryState("sums", database=None if beside else MemoryDatabase()).open_plain(LAYOUT, ledger)
    else:
        ledger, path = SqliteDatabase(tmp_path / "ledger.sqlite"), None if beside else tmp_path / "sums.sqlite"
        if kind == "state":
            target = SqliteState("sums", path=path).open_plain(LAYOUT, ledger)
        else:
            shape = row_shape("sums", "sums", LAYOUT.schema(), RowWrite.APPEND, (), None, None, None, False)
            target = SqliteTable("sums", path=path).open_plain(shape, ledger)
    target.own(batch(1).owner, batch(1).epoch)
    asked: list[object] = []

    def fenced(transaction: object) -> None:
        asked.append(transaction)
        raise FencedError("another one holds the topology")

    assert target.is_beside is beside
    if beside:
        with pytest.raises(FencedError):
            target.write(batch(1), rows(("ann", 1, 1, 1)), fenced)
        assert len(asked) == 1
    else:
        target.write(batch(1), rows(("ann", 1, 1, 1)), fenced)
        assert asked == []
    if kind == "memory" and beside:
        assert MemoryState("sums").rows(ledger) == []
    elif kind != "memory":
        with sqlite3.connect(tmp_path / ("ledger.sqlite" if beside else "sums.sqlite")) as connection:
            assert connection.execute("SELECT count(*) FROM sums").fetchone() == (0 if beside else 1,)


class _Made:
    """A producer that remembers what it was made with, and sends nothing."""

    made: list[dict[str, str]]

    def __init__(self, configuration: dict[str, str]) -> None:
        self.made.append(configuration)

    def flush(self, seconds: float) -> int:
        return 0


def test_an_idle_producer_goes_on_only_with_the_limits_that_it_was_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a record that its topic takes would be too large for the client, which refuses it for good."""
    made = _Made.made = []
    monkeypatch.setattr(plain, "Producer", _Made)
    producers = PlainProducers("out", "localhost:9", {}, DEFAULT_TIMEOUTS.give_up_after)
    for limits in ({"small": 1_000}, {"large": 8_000_000}, {"other": 1_000}, {"large": 8_000_000, "small": 1_000}):
        producers.send([], limits)
    assert [one["message.max.bytes"] for one in made] == ["1000", "8000000", "8000000"]
    assert [one["batch.size"] for one in made] == ["1000", "1000000", "1000"]
    for number in range(20):
        producers.send([], {"t": 2_000 + number})
    producers.send([], {"t": 2_019})
    producers.send([], {"t": 2_000})
    assert len(made) == 3 + 20 + 1, "the last ones are kept, and not more of them"


def test_options_that_no_producer_takes_are_refused_before_anything_is_sent() -> None:
    for options in ({"compression.type": "gzipp"}, {"message.send.max.retries": "0"}):
        sink = KafkaSink("out", bootstrap_servers="localhost:9", client_options=options)
        target = sink.open_plain(MemoryDatabase(), DEFAULT_TIMEOUTS)
        for ask in (target.check, target.prepare):
            with pytest.raises(ConfigurationError, match=r"client_options are not what the Kafka client takes"):
                ask()
        target.close()
