"""A state in a table tells which rows it refuses, beside the ledger or apart, and is as it was after that."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from trident.base.errors import FatalError, MismatchError, RefusedError
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state import MemoryState, SqliteState, StateKind
from trident.state.capabilities import Transaction
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.sifting import Sifted, Sifts, Verdict
from trident.state.sqlite.database import SqliteDatabase
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing.state_harness import EPOCH, OWNER, batch_of

LAYOUT = StateLayout(
    (KeyColumn("account", pa.string()), KeyColumn("day", pa.int64())),
    (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("total", pa.int64(), Merge.ADD)),
)
MOST = 1_000
WIDE = 2**62


def rows_of(*rows: tuple[str | None, int, int]) -> pa.Table:
    accounts, n, total = zip(*rows, strict=True)
    return pa.table({"account": accounts, "day": [1] * len(rows), "n": n, "total": total}, schema=LAYOUT.schema())


def nothing(_: Transaction) -> None:
    pass


def sifting(target: Target) -> Sifts:
    found = target.capabilities.sifting
    assert found is not None
    return found


def begun(target: Target) -> Target:
    target.prepare()
    target.raise_fence(OWNER, EPOCH)
    target.register(OWNER, EPOCH, 0)
    return target


def put(target: Target, txid: int, rows: pa.Table) -> None:
    batch = batch_of(txid)
    target.apply(batch, target.stage(batch, HeldUpdates(rows)))


def sift(target: Target, rows: pa.Table, txid: int = 2) -> Sifted:
    return sifting(target).sift(batch_of(txid), rows, nothing, MOST)


@pytest.fixture(params=[StateKind.TRANSACTIONAL, StateKind.OPAQUE])
def kind(request: pytest.FixtureRequest) -> StateKind:
    found = request.param
    assert isinstance(found, StateKind)
    return found


@pytest.fixture(params=[False, True], ids=["beside", "apart"])
def table(request: pytest.FixtureRequest, kind: StateKind, tmp_path: Path) -> Iterator[Target]:
    """A state at txid 1 that has two accounts, one of them with null as its name."""
    with closing(SqliteDatabase(tmp_path / "ledger.sqlite")) as ledger:
        own = tmp_path / "own.sqlite" if request.param else None
        target = begun(SqliteState("totals", kind=kind, path=own).open(LAYOUT, ledger, DEFAULT_TIMEOUTS))
        put(target, 1, rows_of(("ann", 1, 10), (None, 1, 20)))
        yield target
        target.close()


def file_of(tmp_path: Path) -> Path:
    own = tmp_path / "own.sqlite"
    return own if own.exists() else tmp_path / "ledger.sqlite"


def sql(tmp_path: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file_of(tmp_path))) as connection:
        for statement in statements:
            found = connection.execute(statement).fetchall()
        connection.commit()
    return found


ROWS = rows_of(("ann", 1, 5), ("bad", 1, 66), ("bob", 1, 7), (None, 1, 8), ("bad too", 1, 67), ("carl", 1, 9))


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON totals WHEN NEW.total > 60 BEGIN SELECT RAISE(ABORT, 'no'); END",
        "BEFORE INSERT ON totals WHEN NEW.total > 60 BEGIN SELECT RAISE(IGNORE); END",
        "BEFORE INSERT ON totals WHEN NEW.total > 60 BEGIN INSERT INTO strict_one VALUES (NULL); END",
    ],
)
def test_the_rows_that_a_table_refuses_are_found_and_nothing_is_changed(
    table: Target, tmp_path: Path, trigger: str
) -> None:
    sql(tmp_path, "CREATE TABLE strict_one (a TEXT NOT NULL)", f"CREATE TRIGGER t {trigger}")
    before = sql(tmp_path, "SELECT * FROM totals ORDER BY account")
    assert sift(table, ROWS) == Sifted(Verdict.SOME, 6, (1, 4))
    assert sql(tmp_path, "SELECT * FROM totals ORDER BY account") == before
    position = table.position(OWNER.topology)
    assert position is not None
    assert position.txid == 1
    put(table, 2, ROWS.take(pa.array([0, 2, 3, 5])))
    assert len(sql(tmp_path, "SELECT * FROM totals")) == 4


def test_it_is_the_stored_value_that_counts(table: Target, tmp_path: Path) -> None:
    """What a row is refused for may only show once it is merged: a sum that no longer fits."""
    put(table, 2, rows_of(("ann", 1, WIDE), (None, 1, WIDE)))
    found = sift(table, rows_of(("ann", 1, WIDE), ("bob", 1, WIDE), (None, 1, WIDE), (None, 1, 1))[:3], 3)
    assert found == Sifted(Verdict.SOME, 3, (0, 2))


def test_where_all_are_refused_or_none_that_is_said(table: Target, tmp_path: Path) -> None:
    assert sift(table, ROWS).verdict is Verdict.FITS
    sql(tmp_path, "CREATE TRIGGER t BEFORE INSERT ON totals BEGIN SELECT RAISE(ABORT, 'no'); END")
    sql(tmp_path, "CREATE TRIGGER u BEFORE UPDATE ON totals BEGIN SELECT RAISE(ABORT, 'no'); END")
    assert sift(table, ROWS) == Sifted(Verdict.ALL, 6, (0, 1, 2, 3, 4, 5))


def test_what_is_refused_without_a_row_is_no_rows_fault(table: Target, tmp_path: Path) -> None:
    moves = "BEFORE UPDATE ON trident_applied WHEN NEW.txid > OLD.txid"
    sql(tmp_path, f"CREATE TRIGGER t {moves} BEGIN SELECT RAISE(ABORT, 'no'); END")
    assert sift(table, ROWS) == Sifted(Verdict.NO_ROW, 6)


def test_rows_that_are_refused_together_name_nobody(table: Target, tmp_path: Path) -> None:
    """More than four new rows at once, whichever they are."""
    sql(
        tmp_path,
        "CREATE TRIGGER t BEFORE INSERT ON totals WHEN (SELECT count(*) FROM totals) > 4 "
        "BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    assert sift(table, ROWS).verdict is Verdict.TOGETHER


def test_what_is_not_a_rows_fault_is_raised_as_it_is(table: Target, tmp_path: Path) -> None:
    sql(tmp_path, "ALTER TABLE totals RENAME COLUMN total TO renamed")
    with pytest.raises(FatalError) as found:
        sift(table, ROWS)
    assert not isinstance(found.value, RefusedError)


def test_a_state_that_does_not_stand_right_before_the_batch_is_told(table: Target) -> None:
    with pytest.raises(MismatchError):
        sift(table, ROWS, 4)


def test_what_comes_first_is_there_and_what_that_refuses_is_no_row_of_this_one(table: Target, tmp_path: Path) -> None:
    def first(transaction: Transaction) -> None:
        raise RefusedError("another state's")

    with pytest.raises(RefusedError, match="another state's"):
        sifting(table).sift(batch_of(2), ROWS, first, MOST)


def test_a_function_that_refuses_leaves_it_untold(tmp_path: Path) -> None:
    """It folds before anything is tried, with what is stored."""

    def refuse(stored: object, staged: object) -> object:
        return 2**70

    combine = ValueColumn("total", pa.int64(), Merge.COMBINE, combine=refuse)
    layout = StateLayout((KeyColumn("account", pa.string()),), (combine,))
    rows = pa.table({"account": ["ann", "bob"], "total": [1, 2]}, schema=layout.schema())
    with closing(SqliteDatabase(tmp_path / "ledger.sqlite")) as ledger:
        target = begun(SqliteState("totals").open(layout, ledger, DEFAULT_TIMEOUTS))
        put(target, 1, rows)
        assert sift(target, rows) == Sifted(Verdict.UNTOLD, 2)
        target.close()


def test_what_a_function_makes_is_what_is_tried(tmp_path: Path) -> None:
    combine = ValueColumn("total", pa.int64(), Merge.COMBINE, combine=_plus)
    layout = StateLayout((KeyColumn("account", pa.string()),), (combine,))
    rows = pa.table({"account": ["ann", "bob", "carl"], "total": [10, 20, 30]}, schema=layout.schema())
    with closing(SqliteDatabase(tmp_path / "ledger.sqlite")) as ledger:
        target = begun(SqliteState("totals").open(layout, ledger, DEFAULT_TIMEOUTS))
        put(target, 1, rows)
        sql(
            tmp_path,
            "CREATE TRIGGER t BEFORE UPDATE ON totals WHEN NEW.total > 35 BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        assert sift(target, rows) == Sifted(Verdict.SOME, 3, (1, 2))
        target.close()


def _plus(stored: object, staged: object) -> object:
    assert isinstance(stored, int)
    assert isinstance(staged, int)
    return stored + staged


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: rows_of(("ann", 1, WIDE), ("bob", 1, WIDE), ("carl", 1, 1)), (0,)),
        (lambda: rows_of(("bob", 1, WIDE), ("carl", 1, 1)), ()),
    ],
)
def test_memory_tells_it_too(kind: StateKind, made: Callable[[], pa.Table], expected: tuple[int, ...]) -> None:
    database = MemoryDatabase()
    target = begun(MemoryState("totals", kind=kind).open(LAYOUT, database, DEFAULT_TIMEOUTS))
    put(target, 1, rows_of(("ann", 1, WIDE)))
    found = sift(target, made())
    assert found.refused == expected
    position = target.position(OWNER.topology)
    assert position is not None
    assert position.txid == 1
    put(target, 2, made().take(pa.array(found.kept, pa.int64())))


def test_sqlite_names_the_constraint_and_never_the_row(tmp_path: Path) -> None:
    with closing(SqliteDatabase(tmp_path / "a.sqlite")) as database:
        with database.transaction() as transaction:
            transaction.connection.exec_driver_sql(
                "CREATE TABLE t (a TEXT NOT NULL, b INTEGER CONSTRAINT positive CHECK (b > 0), c TEXT UNIQUE, "
                "d INTEGER PRIMARY KEY)"
            )
            transaction.connection.exec_driver_sql(
                "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.b = 99 BEGIN SELECT RAISE(ABORT, 'secret 99'); END"
            )
            transaction.connection.exec_driver_sql("INSERT INTO t VALUES ('x', 1, 'secret', 7)")
        for values, words in (
            ("NULL, 1, 'z', 1", "constraint NOT NULL at column 't.a'"),
            ("'x', -12345, 'z', 1", "constraint CHECK 'positive'"),
            ("'x', 1, 'secret', 1", "constraint UNIQUE at columns 't.c'"),
            ("'x', 1, 'z', 7", "constraint PRIMARY KEY at columns 't.d'"),
            ("'x', 99, 'z', 8", "for good: a constraint;"),
        ):
            with pytest.raises(RefusedError) as refused, database.transaction() as transaction:
                transaction.connection.exec_driver_sql(f"INSERT INTO t VALUES ({values})")
            assert words in str(refused.value)
            assert "secret" not in str(refused.value)
            assert "12345" not in str(refused.value)
