"""A user's function runs while nobody is kept waiting, and what it made counts only for the values that it saw."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import text

from tests.state.harnesses import SqliteHarness
from trident.base.errors import MismatchError
from trident.state import SqliteState
from trident.state.capabilities import beside_of
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.sqlite.database import SqliteDatabase
from trident.state.tables import combining
from trident.testing.state_harness import apart, batch_of, held, put, ready, seen

_FILES: list[Path] = []


def join_while_another_writes(stored: object, staged: object) -> object:
    """Write to the same file from elsewhere, which must not wait."""
    with sqlite3.connect(_FILES[-1], timeout=0) as other:
        other.execute("CREATE TABLE IF NOT EXISTS elsewhere (n int)")
    other.close()
    return f"{stored}{staged}"


TEXTS = StateLayout(
    (KeyColumn("k", pa.string()),), (ValueColumn("v", pa.string(), Merge.COMBINE, join_while_another_writes),)
)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SqliteHarness]:
    _FILES.append(tmp_path / "state.db")
    harness = SqliteHarness(tmp_path, beside=True)
    yield harness
    harness.close()


def test_the_file_is_free_while_a_combiner_runs(harness: SqliteHarness) -> None:
    for txid, open_it in ((1, ready), (2, ready), (3, apart)):
        put(harness, open_it(harness, layout=TEXTS), batch_of(txid), held(TEXTS, ("a", str(txid)), (None, "n")))
    assert seen(harness, TEXTS) == {"a": ("123",), None: ("nnn",)}


def test_what_was_folded_counts_only_where_it_was_read(harness: SqliteHarness) -> None:
    """A successor that has moved the state meanwhile: nothing of the old fold goes in."""
    store = ready(harness, StateKind.OPAQUE, TEXTS)
    put(harness, store, batch_of(1), held(TEXTS, ("a", "x")))
    late = beside_of(store).ready(batch_of(2), store.stage(batch_of(2), held(TEXTS, ("a", "y"))))
    with harness.database.transaction() as transaction:
        transaction.connection.execute(text("UPDATE trident_applied SET attempt = 11"))
    with harness.database.transaction() as transaction:
        beside_of(store).copy_in(transaction, batch_of(2), late)
        with pytest.raises(MismatchError, match="moved while it was read"):
            beside_of(store).apply_in(transaction, batch_of(2), late)
    assert seen(harness, TEXTS) == {"a": ("x",)}


def test_a_batch_that_is_in_is_skipped_although_it_was_folded(harness: SqliteHarness) -> None:
    store = ready(harness, StateKind.OPAQUE, TEXTS)
    put(harness, store, batch_of(1), held(TEXTS, ("a", "x")))
    staged = store.stage(batch_of(2), held(TEXTS, ("a", "y")))
    late = beside_of(store).ready(batch_of(2), staged)
    harness.commit(store, batch_of(2), staged)
    for updates in (late, beside_of(store).ready(batch_of(2), staged)):
        with harness.database.transaction() as transaction:
            beside_of(store).copy_in(transaction, batch_of(2), updates)
            beside_of(store).apply_in(transaction, batch_of(2), updates)
    assert seen(harness, TEXTS) == {"a": ("xy",)}


def test_updates_that_are_not_ready_never_reach_a_transaction(harness: SqliteHarness) -> None:
    store = ready(harness, StateKind.OPAQUE, TEXTS)
    staged = store.stage(batch_of(1), held(TEXTS, ("a", "x")))
    for step in (beside_of(store).copy_in, beside_of(store).apply_in):
        with pytest.raises(TypeError, match="before `ready`"), harness.database.transaction() as transaction:
            step(transaction, batch_of(1), staged)


def test_every_name_of_a_table_leaves_room_for_what_is_folded(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "state.db")
    for size in range(1, 64):
        target = SqliteState("n" * size).open(TEXTS, database)
        assert len(combining._table(target._place)) <= 63
    database.close()
