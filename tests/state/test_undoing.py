"""What an undo finds in a table that somebody else changed, or that has lost what was before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.state.harnesses import SqliteHarness
from trident.state.target import CannotUndoError
from trident.testing.state_harness import apart, batch_of, counts, put, seen


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
    found = harness.rows(store.layout)
    for call in (lambda: store.check_undo(batch_of(2), staged), lambda: store.undo(batch_of(2), 10, staged)):
        with pytest.raises(CannotUndoError, match=word):
            call()
    assert harness.rows(store.layout) == found


def test_a_row_that_was_undone_says_that_it_lost_what_was_before(harness: SqliteHarness) -> None:
    store = apart(harness)
    put(harness, store, batch_of(1), counts(("ann", 1, 1)))
    put(harness, store, batch_of(2), counts(("ann", 2, 2)))
    staged = store.stage(batch_of(3), counts(("ann", 3, 3)))
    store.apply(batch_of(3), staged)
    store.undo(batch_of(3), 20, staged)
    assert seen(harness) == {"ann": (3, 3)}
    with pytest.raises(CannotUndoError, match="have lost what was before this txid"):
        store.undo(batch_of(2), 10, counts(("ann", 2, 2)))
    assert seen(harness) == {"ann": (3, 3)}
