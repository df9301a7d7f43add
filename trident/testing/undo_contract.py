# ruff: noqa: D102 - the names of the tests are sentences
"""The part of a state's contract that is about a person's decisions: undo, and staged rows read back."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.base.errors import FencedError, MismatchError
from trident.state.capabilities import CannotUndoError
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.staged import WrittenUpdates
from trident.testing.state_harness import (
    COUNTS,
    NEWER,
    OWNER,
    StateHarness,
    apart,
    batch_of,
    counts,
    diverting,
    held,
    put,
    seen,
    undoing,
)


class UndoContract:
    """What every store promises to a person who takes a pinned txid back."""

    def test_an_undo_brings_back_what_was_before(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1), (None, 1, 1)))
        put(harness, store, batch_of(2), counts(("bob", 2, 2)))
        staged = store.stage(batch_of(3), counts(("ann", 5, 50), ("bob", 5, 50), (None, 5, 50)))
        store.apply(batch_of(3), staged)
        undoing(store).check_undo(batch_of(3), staged)
        for _ in range(2):
            undoing(store).undo(batch_of(3), 20, staged)
        assert seen(harness) == {"ann": (1, 10), "bob": (3, 3), None: (1, 1)}
        position = store.position("orders")
        assert position is not None
        assert (position.txid, position.attempt, position.birth_txid) == (2, 20, 0)
        assert {row["txid"] for row in harness.rows(COUNTS)} <= {1, 2}
        put(harness, store, batch_of(3, attempt=31), counts(("ann", 1, 1)))
        assert seen(harness) == {"ann": (2, 11), "bob": (3, 3), None: (1, 1)}

    def test_rows_that_the_undone_batch_made_are_gone(self, harness: StateHarness) -> None:
        store = apart(harness)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10), (None, 1, 1)))
        store.apply(batch_of(1), staged)
        if not harness.can_remove:
            with pytest.raises(CannotUndoError, match="multi_remove_if"):
                undoing(store).check_undo(batch_of(1), staged)
            with pytest.raises(CannotUndoError, match="multi_remove_if"):
                undoing(store).undo(batch_of(1), 0, staged)
            assert seen(harness) == {"ann": (1, 10), None: (1, 1)}
            return
        for _ in range(2):
            undoing(store).undo(batch_of(1), 7, staged)
        assert harness.rows(COUNTS) == []
        position = store.position("orders")
        assert position is not None
        assert (position.txid, position.attempt) == (0, 0)
        put(harness, store, batch_of(1, attempt=11), counts(("ann", 2, 20)))
        assert seen(harness) == {"ann": (2, 20)}

    def test_a_txid_can_be_undone_once_per_attempt(self, harness: StateHarness) -> None:
        store = apart(harness)
        before = {"ann": (1, 10), "bob": (2, 20), "cyd": (3, 30)}
        put(harness, store, batch_of(1), counts(*[(key, *values) for key, values in before.items()]))
        contents = [[("ann", 5, 5), ("bob", 6, 6)], [("ann", 7, 7), ("cyd", 8, 8)], [("bob", 1, 1), ("cyd", 1, 1)]]
        for attempt, rows in enumerate(contents, start=20):
            staged = store.stage(batch_of(2, attempt), counts(*rows))
            store.apply(batch_of(2, attempt), staged)
            assert seen(harness) != before
            undoing(store).undo(batch_of(2, attempt), 10, staged)
            assert seen(harness) == before

    def test_what_the_state_does_not_have_is_not_undone(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        staged = store.stage(batch_of(2), counts(("ann", 5, 50), ("bob", 1, 1)))
        undoing(store).check_undo(batch_of(2), staged)
        undoing(store).undo(batch_of(2), 10, staged)
        assert seen(harness) == {"ann": (1, 10)}
        store.apply(batch_of(2), staged)
        other = store.stage(batch_of(2, attempt=21), counts(("ann", 5, 50)))
        for wrong, updates in ((batch_of(2, attempt=21), other), (batch_of(1), other), (batch_of(4), other)):
            with pytest.raises(MismatchError, match="stands at txid 2 attempt 20"):
                undoing(store).undo(wrong, 10, updates)
        assert seen(harness) == {"ann": (6, 60), "bob": (1, 1)}

    @pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL])
    def test_only_an_opaque_state_knows_what_was_before(self, harness: StateHarness, kind: StateKind) -> None:
        store = apart(harness, kind)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
        store.apply(batch_of(1), staged)
        with pytest.raises(CannotUndoError, match="only an opaque one"):
            undoing(store).check_undo(batch_of(1), staged)
        with pytest.raises(CannotUndoError, match="only an opaque one"):
            undoing(store).undo(batch_of(1), 0, staged)
        assert seen(harness) == {"ann": (1, 10)}
        position = store.position("orders")
        assert position is not None
        assert position.txid == 1

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_a_batch_without_rows_can_be_undone_by_any_kind(self, harness: StateHarness, kind: StateKind) -> None:
        store = apart(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        staged = store.stage(batch_of(2), counts())
        store.apply(batch_of(2), staged)
        undoing(store).check_undo(batch_of(2), staged)
        undoing(store).undo(batch_of(2), 10, staged)
        put(harness, store, batch_of(2, attempt=21), counts(("ann", 1, 1)))
        assert seen(harness) == {"ann": (2, 11)}

    def test_an_old_epoch_undoes_nothing(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        staged = store.stage(batch_of(2), counts(("ann", 1, 1)))
        store.apply(batch_of(2), staged)
        store.raise_fence(OWNER, NEWER)
        with pytest.raises(FencedError):
            undoing(store).undo(batch_of(2), 10, staged)
        assert seen(harness) == {"ann": (2, 11)}
        undoing(store).undo(batch_of(2, epoch=NEWER), 10, staged)
        assert seen(harness) == {"ann": (1, 10)}

    def test_money_is_exact_after_an_undo(self, harness: StateHarness) -> None:
        layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("m", pa.decimal128(20, 2), Merge.ADD),))
        store = apart(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, ("a", Decimal("12345678901234567.89"))))
        staged = store.stage(batch_of(2), held(layout, ("a", Decimal("0.01"))))
        store.apply(batch_of(2), staged)
        assert str(seen(harness, layout)["a"][0]) == "12345678901234567.90"
        undoing(store).undo(batch_of(2), 10, staged)
        assert str(seen(harness, layout)["a"][0]) == "12345678901234567.89"

    def test_staged_rows_can_be_read_back(self, harness: StateHarness) -> None:
        layout = StateLayout(
            (KeyColumn("k", pa.string()), KeyColumn("d", pa.date32())),
            (
                ValueColumn("m", pa.decimal128(20, 2), Merge.ADD),
                ValueColumn("n", pa.int64(), Merge.ADD),
                ValueColumn("t", pa.timestamp("us", "UTC"), Merge.GREATEST),
                ValueColumn("b", pa.binary(), Merge.GREATEST),
            ),
        )
        store = apart(harness, layout=layout)
        moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=datetime.UTC)
        day = datetime.date(2024, 5, 6)
        updates = held(
            layout,
            ("a", day, Decimal("12345678901234567.89"), 2**62, moment, b"\x00x"),
            (None, None, None, None, None, None),
        )
        staged = store.stage(batch_of(1), updates)
        found = diverting(store).staged_rows(batch_of(1), staged)
        assert found.schema == layout.schema()
        assert found.sort_by("k").to_pylist() == updates.rows.sort_by("k").to_pylist()
        empty = store.stage(batch_of(2), held(layout))
        assert diverting(store).staged_rows(batch_of(2), empty).num_rows == 0
        assert isinstance(staged, WrittenUpdates)
        with pytest.raises(MismatchError):
            diverting(store).staged_rows(batch_of(1, attempt=9), staged)
