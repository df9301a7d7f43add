"""What an undo finds in a table that somebody else changed, or that has lost what was before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.state.harnesses import BackingHarness, ConditionalMap, MemoryHarness, SqliteHarness
from trident.base.errors import MismatchError
from trident.state.capabilities import CannotUndoError
from trident.state.staged import AppliedUpdates
from trident.testing.state_harness import COUNTS, apart, batch_of, counts, put, ready, seen, undoing


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SqliteHarness]:
    harness = SqliteHarness(tmp_path, beside=False)
    yield harness
    harness.close()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("UPDATE counts SET previous_txid = txid WHERE account = 'ann'", "1 rows .* have lost what was before"),
        ("DELETE FROM counts WHERE account = 'ann'", "has 1 rows of this txid, 2 were applied"),
        ("UPDATE counts SET txid = 2", "has 3 rows of this txid, 2 were applied"),
    ],
)
def test_a_table_that_was_changed_by_hand_is_not_undone(harness: SqliteHarness, change: str, word: str) -> None:
    store = apart(harness)
    put(harness, store, batch_of(1), counts(("ann", 1, 1), ("bob", 1, 1), ("cyd", 1, 1)))
    staged = store.stage(batch_of(2), counts(("ann", 2, 2), ("bob", 2, 2)))
    store.apply(batch_of(2), staged)
    with harness.database.transaction() as transaction:
        transaction.connection.exec_driver_sql(change)
    found = harness.rows(COUNTS)
    for call in (
        lambda: undoing(store).check_undo(batch_of(2), staged),
        lambda: undoing(store).undo(batch_of(2), 10, staged),
    ):
        with pytest.raises(CannotUndoError, match=word):
            call()
    assert harness.rows(COUNTS) == found


def test_a_row_that_was_undone_says_that_it_lost_what_was_before(harness: SqliteHarness) -> None:
    store = apart(harness)
    put(harness, store, batch_of(1), counts(("ann", 1, 1)))
    put(harness, store, batch_of(2), counts(("ann", 2, 2)))
    staged = store.stage(batch_of(3), counts(("ann", 3, 3)))
    store.apply(batch_of(3), staged)
    undoing(store).undo(batch_of(3), 20, staged)
    assert seen(harness) == {"ann": (3, 3)}
    with pytest.raises(CannotUndoError, match="have lost what was before this txid"):
        undoing(store).undo(batch_of(2), 10, counts(("ann", 2, 2)))
    assert seen(harness) == {"ann": (3, 3)}


@pytest.mark.parametrize("store_of", ["memory", "sqlite"])
def test_what_the_pin_applied_is_undone_by_its_number_alone(tmp_path: Path, store_of: str) -> None:
    harness = MemoryHarness(beside=True) if store_of == "memory" else SqliteHarness(tmp_path, beside=True)
    store = ready(harness)
    undo = undoing(store)
    put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
    put(harness, store, batch_of(2), counts(("ann", 2, 20), ("cyd", 1, 1)))
    for wrong in (1, 3):
        with pytest.raises(CannotUndoError, match=f"has 2 rows of this txid, {wrong} were applied"):
            undo.check_undo(batch_of(2), AppliedUpdates(wrong))
    undo.check_undo(batch_of(2), AppliedUpdates(2))
    undo.undo(batch_of(2), 10, AppliedUpdates(2))
    assert seen(harness) == {"ann": (1, 10), "bob": (1, 1)}


def test_a_map_is_never_applied_by_a_pin() -> None:
    store = ready(BackingHarness(ConditionalMap()))
    with pytest.raises(MismatchError, match="applied with the pin, which a map never is"):
        undoing(store).undo(batch_of(1), 0, AppliedUpdates(2))
