"""What sinks that write rows are tested with, over any database: a harness, and what each way of writing promises."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from tests.effort import base_seed
from tests.state.arrays import array
from trident.base.errors import MismatchError, RefusedError, RowsGoneError
from trident.base.order import ORDER, order_of
from trident.state.row_tables.shape import RowShape, RowWrite, row_shape
from trident.state.row_tables.target import RowTarget
from trident.state.staged import HeldUpdates
from trident.testing import SinkHarness
from trident.testing.sink_harness import begun
from trident.testing.state_harness import EPOCH, OWNER, batch_of, resetting


def schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(columns)


WORDS = schema(n=pa.int64(), word=pa.string())
"""Rows of the contract: numbered, since a table has no order of its own."""
ACCOUNTS = schema(account=pa.string(), owner=pa.string(), amount=pa.int64())
Row = tuple[object, ...]


class RowHarness(SinkHarness):
    """A table of its own; what it reads is read past the sink."""

    def __init__(self) -> None:
        self.opened: list[RowTarget] = []
        self.count = 0
        self.shape = row_shape("words", "words", WORDS, RowWrite.APPEND)

    @abstractmethod
    def make(self, shape: RowShape, name: str = "words") -> RowTarget:
        """Open a sink of this shape."""

    @abstractmethod
    def query(self, statement: str) -> list[Row]:
        """Run SQL past the sink."""

    def open(self) -> RowTarget:
        self.opened.append(self.make(self.shape))
        return self.opened[-1]

    def rows(self, *words: str) -> pa.Table:
        first, self.count = self.count, self.count + len(words)
        return pa.table({"n": pa.array(range(first, self.count), pa.int64()), "word": array(list(words), pa.string())})

    def words(self) -> list[str]:
        return [str(row[0]) for row in self.query("SELECT word FROM words ORDER BY n")]

    def close(self) -> None:
        for sink in self.opened:
            sink.close()

    def began(self, shape: RowShape) -> RowTarget:
        """Return a sink of this shape that was taken over and registered."""
        self.shape = shape
        found = begun(self)
        assert isinstance(found, RowTarget)
        return found


def write(sink: RowTarget, shape: RowShape, txid: int, *rows: Row, in_order: bool = True) -> None:
    """Stage and apply a batch of rows in this order."""
    batch = batch_of(txid)
    sink.apply(batch, sink.stage(batch, HeldUpdates(staged(shape, *rows, in_order=in_order))))


def staged(shape: RowShape, *rows: Row, in_order: bool = True) -> pa.Table:
    """Return staged rows that leave in this order, or in none."""
    columns = [array([row[number] for row in rows], field.type) for number, field in enumerate(shape.columns)]
    table = pa.table(columns, schema=shape.columns)
    if ORDER not in shape.staged.names:
        return table
    orders = order_of("in", 0, np.arange(len(rows), dtype=np.int64)) if in_order else pa.nulls(len(rows), pa.binary())
    return table.append_column(ORDER, orders)


def at(day: int) -> datetime:
    return datetime(2024, 1, day, tzinfo=UTC)


class RowContract:
    """What each way of writing promises; define the fixture `harness`."""

    def test_the_last_record_of_a_key_wins(self, harness: RowHarness) -> None:
        shape = row_shape("t", "t", ACCOUNTS, RowWrite.UPSERT, ("account",))
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", 1), ("b", "bob", 1), ("a", "ann", 2), ("a", "eve", None))
        write(sink, shape, 2, ("b", "bob", 3), ("c", None, 9))
        found = harness.query("SELECT account, owner, amount FROM t ORDER BY account")
        assert found == [("a", "eve", None), ("b", "bob", 3), ("c", None, 9)]

    def test_a_record_may_say_that_it_deletes(self, harness: RowHarness) -> None:
        columns = ACCOUNTS.append(pa.field("gone", pa.bool_()))
        shape = row_shape("t", "t", columns, RowWrite.UPSERT, ("account",), deleted="gone")
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "x", 1, False), ("b", "x", 1, False), ("c", "x", 1, True))
        write(sink, shape, 2, ("a", "x", 2, True), ("b", "x", 2, True), ("b", "x", 3, False), ("d", None, None, True))
        assert harness.query("SELECT account, amount FROM t ORDER BY account") == [("b", 3)]

    def test_the_first_record_of_a_key_stays(self, harness: RowHarness) -> None:
        shape = row_shape("t", "t", ACCOUNTS, RowWrite.INSERT_IF_ABSENT, ("account",))
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", 1), ("a", "eve", 2))
        write(sink, shape, 2, ("a", "eve", 3), ("b", "bob", 4))
        assert harness.query("SELECT account, owner, amount FROM t ORDER BY account") == [
            ("a", "ann", 1),
            ("b", "bob", 4),
        ]

    def test_rows_of_keys_go(self, harness: RowHarness) -> None:
        harness.query("CREATE TABLE t (account text PRIMARY KEY, amount bigint)")
        harness.query("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)")
        shape = row_shape("t", "t", pa.schema([("account", pa.string())]), RowWrite.DELETE, ("account",))
        sink = harness.began(shape)
        write(sink, shape, 1, ("a",), ("b",), ("b",), ("nobody",))
        assert harness.query("SELECT account, amount FROM t") == [("c", 3)]

    def test_each_version_is_valid_up_to_the_next(self, harness: RowHarness) -> None:
        shape = versions(skip_unchanged=True)
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", at(1)), ("b", "bob", at(1)), ("a", "eve", at(3)), ("a", "eve", at(4)))
        write(sink, shape, 1, ("a", "ann", at(1)), ("b", "bob", at(1)), ("a", "eve", at(3)), ("a", "eve", at(4)))
        write(sink, shape, 2, ("a", "eve", at(5)), ("a", "ann", at(6)), ("b", "bob", at(7)))
        assert seen_versions(harness) == [
            ("a", "ann", 1, 3),
            ("a", "eve", 3, 6),
            ("a", "ann", 6, None),
            ("b", "bob", 1, None),
        ]

    def test_a_record_that_comes_late_is_put_where_it_belongs(self, harness: RowHarness) -> None:
        shape = versions()
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", at(2)), ("a", "eve", at(6)))
        write(sink, shape, 2, ("a", "joe", at(4)), ("a", "old", at(1)), ("a", "ann", at(3)))
        assert seen_versions(harness) == [
            ("a", "old", 1, 2),
            ("a", "ann", 2, 3),
            ("a", "ann", 3, 4),
            ("a", "joe", 4, 6),
            ("a", "eve", 6, None),
        ]

    def test_what_was_said_again_holds_against_what_comes_late(self, harness: RowHarness) -> None:
        shape = versions()
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", at(1)), ("a", "ann", at(20)))
        write(sink, shape, 2, ("a", "bob", at(10)))
        assert seen_versions(harness) == [("a", "ann", 1, 10), ("a", "bob", 10, 20), ("a", "ann", 20, None)]

    def test_what_others_have_closed_stays_closed(self, harness: RowHarness) -> None:
        shape = versions()
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", at(1)), ("b", "bob", at(1)), ("b", "joe", at(9)))
        harness.query("UPDATE t SET until = since WHERE account = 'a'")
        write(sink, shape, 2, ("a", "eve", at(5)), ("b", "eve", at(5)))
        found = seen_versions(harness)
        assert found[:2] == [("a", "ann", 1, 1), ("a", "eve", 5, None)]
        assert found[2:] == [("b", "bob", 1, 5), ("b", "eve", 5, 9), ("b", "joe", 9, None)]

    def test_a_key_never_has_two_current_versions(self, harness: RowHarness) -> None:
        shape = versions()
        sink = harness.began(shape)
        harness.query("CREATE UNIQUE INDEX one_current ON t (account) WHERE until IS NULL")
        write(sink, shape, 1, ("a", "ann", at(1)), ("a", "eve", at(3)))
        write(sink, shape, 2, ("a", "joe", at(5)), ("a", "bob", at(2)))
        assert seen_versions(harness) == [
            ("a", "ann", 1, 2),
            ("a", "bob", 2, 3),
            ("a", "eve", 3, 5),
            ("a", "joe", 5, None),
        ]

    @pytest.mark.parametrize("again", ["ann", "eve"])
    @pytest.mark.parametrize("skips", [False, True])
    def test_a_version_that_is_said_again_with_the_next_one_ends(
        self, harness: RowHarness, skips: bool, again: str
    ) -> None:
        shape = versions(skip_unchanged=skips)
        sink = harness.began(shape)
        harness.query("CREATE UNIQUE INDEX one_current ON t (account) WHERE until IS NULL")
        write(sink, shape, 1, ("a", "ann", at(7)))
        write(sink, shape, 2, ("a", again, at(7)), ("a", "bob", at(9)))
        assert seen_versions(harness) == [("a", again, 7, 9), ("a", "bob", 9, None)]

    def test_versions_are_those_of_a_model_however_records_come(self, harness: RowHarness) -> None:
        draw = random.Random(base_seed())
        shape = versions()
        sink = harness.began(shape)
        said: dict[tuple[object, int], object] = {}
        for txid in range(1, 41):
            rows: list[Row] = [
                (f"{draw.choice('ab')}{txid // 5}", draw.choice(["x", "y", None]), draw.randint(1, 12))
                for _ in range(draw.randint(1, 5))
            ]
            write(sink, shape, txid, *[(account, owner, at(int(str(day)))) for account, owner, day in rows])
            said.update({(account, int(str(day))): owner for account, owner, day in rows})
            days = {account: sorted(day for one, day in said if one == account) for account, _ in said}
            expected = [
                (account, said[account, day], day, next((later for later in days[account] if later > day), None))
                for account, day in sorted(said, key=str)
            ]
            assert sorted(seen_versions(harness), key=str) == sorted(expected, key=str), f"after {rows}"

    def test_of_two_versions_that_begin_at_once_the_last_holds(self, harness: RowHarness) -> None:
        shape = versions(skip_unchanged=True)
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", at(1)), ("a", "eve", at(3)), ("a", "joe", at(3)))
        assert seen_versions(harness) == [("a", "ann", 1, 3), ("a", "joe", 3, None)]
        # one that says what the version before it says takes the other's place all the same
        write(sink, shape, 2, ("a", "ann", at(3)))
        assert seen_versions(harness) == [("a", "ann", 1, 3), ("a", "ann", 3, None)]

    def test_a_version_may_say_nothing(self, harness: RowHarness) -> None:
        shape = versions(skip_unchanged=True)
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", None, at(1)), ("a", None, at(2)), ("a", "ann", at(3)), ("a", None, at(4)))
        assert seen_versions(harness) == [("a", None, 1, 3), ("a", "ann", 3, 4), ("a", None, 4, None)]

    @pytest.mark.parametrize("way", [RowWrite.UPSERT, RowWrite.INSERT_IF_ABSENT])
    def test_rows_without_an_order_need_keys_of_their_own(self, harness: RowHarness, way: RowWrite) -> None:
        shape = row_shape("t", "t", ACCOUNTS, way, ("account",))
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", 1), ("b", "bob", 2), in_order=False)
        with pytest.raises(RefusedError, match="nothing says which one came last"):
            write(sink, shape, 2, ("c", "ann", 1), ("c", "bob", 2), in_order=False)
        assert harness.query("SELECT account FROM t ORDER BY account") == [("a",), ("b",)]

    @pytest.mark.parametrize("way", [RowWrite.UPSERT, RowWrite.INSERT_IF_ABSENT])
    def test_a_key_that_is_null_is_refused(self, harness: RowHarness, way: RowWrite) -> None:
        shape = row_shape("t", "t", ACCOUNTS, way, ("account",))
        sink = harness.began(shape)
        with pytest.raises(RefusedError, match=r"'account'.*a null"):
            sink.stage(batch_of(1), HeldUpdates(staged(shape, ("a", "x", 1), (None, "x", 1))))

    def test_a_table_that_is_there_keeps_what_is_its_own(self, harness: RowHarness) -> None:
        harness.query("CREATE TABLE t (word text, n bigint, source text NOT NULL DEFAULT 'stream', note text)")
        harness.query("INSERT INTO t (word, n, source) VALUES ('by hand', 0, 'a person')")
        shape = row_shape("t", "t", WORDS, RowWrite.APPEND)
        sink = harness.began(shape)
        write(sink, shape, 1, (1, "a"), (2, None))
        assert harness.query("SELECT n, word, source, note FROM t ORDER BY n") == [
            (0, "by hand", "a person", None),
            (1, "a", "stream", None),
            (2, None, "stream", None),
        ]

    @pytest.mark.parametrize(
        ("made", "problem"),
        [
            ("(n bigint)", "column 'word' is missing"),
            ("(n boolean, word text)", "column 'n' is boolean, and the field is bigint"),
            ("(n bigint, word text, other text NOT NULL)", "column 'other' needs a value"),
        ],
    )
    def test_a_table_that_does_not_fit_is_refused(self, harness: RowHarness, made: str, problem: str) -> None:
        harness.query(f"CREATE TABLE words {made}")
        with pytest.raises(MismatchError, match=problem):
            harness.open().prepare()
        with pytest.raises(MismatchError, match=problem):
            harness.open().look("orders")

    @pytest.mark.parametrize("way", [RowWrite.UPSERT, RowWrite.INSERT_IF_ABSENT])
    def test_a_key_needs_a_unique_index(self, harness: RowHarness, way: RowWrite) -> None:
        harness.query("CREATE TABLE t (account text, owner text, amount bigint, UNIQUE (account, owner))")
        harness.shape = row_shape("t", "t", ACCOUNTS, way, ("account",))
        with pytest.raises(MismatchError, match=r"unique index over exactly \(account\)"):
            harness.open().prepare()

    @pytest.mark.parametrize("event", ["INSERT", "UPDATE"])
    @pytest.mark.parametrize("way", [RowWrite.UPSERT, RowWrite.INSERT_IF_ABSENT, RowWrite.VERSIONS])
    def test_what_a_trigger_leaves_out_is_refused(self, harness: RowHarness, way: RowWrite, event: str) -> None:
        if way is RowWrite.INSERT_IF_ABSENT and event == "UPDATE":
            return  # it changes nothing
        shape = versions() if way is RowWrite.VERSIONS else row_shape("t", "t", ACCOUNTS, way, ("account",))
        more: Row = (at(1),) if way is RowWrite.VERSIONS else (1,)
        later: Row = (at(2),) if way is RowWrite.VERSIONS else (1,)
        sink = harness.began(shape)
        write(sink, shape, 1, ("a", "ann", *more))
        self.leave_out(harness, event)
        account = "a" if event == "UPDATE" else "b"
        with pytest.raises(RefusedError, match="rows were not written to 't' as they are"):
            write(sink, shape, 2, ("c", "bob", *later), (account, "nobody", *later))
        assert harness.query("SELECT account, owner FROM t") == [("a", "ann")]

    def leave_out(self, harness: RowHarness, event: str) -> None:
        """Give the table `t` a trigger that leaves out rows of the owner 'nobody', or every change."""
        raise NotImplementedError

    def test_a_table_that_is_gone_stops(self, harness: RowHarness) -> None:
        sink = harness.began(row_shape("words", "words", WORDS, RowWrite.APPEND))
        write(sink, harness.shape, 1, (1, "a"))
        harness.query("DROP TABLE words")
        for _ in range(2):
            again = harness.open()
            again.prepare()
            counting = again.capabilities.counting
            assert counting is not None
            with pytest.raises(RowsGoneError, match="is not the one that it has written to up to txid 1"):
                counting.check_rows(OWNER, EPOCH)
        resetting(again).adopt(replace(OWNER, incarnation="second"), EPOCH, 1)
        assert harness.words() == []

    def test_a_table_of_another_sink_is_refused(self, harness: RowHarness) -> None:
        harness.began(row_shape("words", "words", WORDS, RowWrite.APPEND))
        other = harness.make(harness.shape, "others")
        with pytest.raises(MismatchError, match="belongs to"):
            other.prepare()

    def test_as_many_rows_as_make_a_plan_worth_while(self, harness: RowHarness) -> None:
        shape = row_shape("t", "t", ACCOUNTS, RowWrite.UPSERT, ("account",))
        sink = harness.began(shape)
        rows: Sequence[Row] = [(f"k{number % 4_000}", "x", number) for number in range(9_000)]
        write(sink, shape, 1, *rows)
        assert harness.query("SELECT count(*), sum(amount) FROM t") == [
            (4_000, sum(range(5_000, 9_000))),
        ]


def versions(*, skip_unchanged: bool = False) -> RowShape:
    columns = schema(account=pa.string(), owner=pa.string(), since=pa.timestamp("us", "UTC"))
    return row_shape("t", "t", columns, RowWrite.VERSIONS, ("account",), None, "since", "until", skip_unchanged)


def seen_versions(harness: RowHarness) -> list[Row]:
    """Return account, owner, and the days on which a version begins and ends."""
    rows = harness.query("SELECT account, owner, since, until FROM t ORDER BY account, since")
    return [(account, owner, _day(since), _day(until)) for account, owner, since, until in rows]


def _day(moment: object) -> int | None:
    if isinstance(moment, str):
        return datetime.fromisoformat(moment).day
    return moment.day if isinstance(moment, datetime) else None
