# ruff: noqa: D102 - the names of the tests are sentences
"""The part of a state's contract that is about versions: another order of columns, a value that is added."""

from __future__ import annotations

import pyarrow as pa
import pytest

from trident.base.errors import FencedError
from trident.state.evolving import HeldColumns
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.target import Target
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    NEWER,
    OWNER,
    StateHarness,
    apart,
    batch_of,
    counts,
    evolving,
    held,
    put,
    querying,
    ready,
    seen,
    undoing,
)

TURNED = StateLayout(COUNTS.keys, COUNTS.values[::-1])
"""What `COUNTS` has, in another order."""
MOST = ValueColumn("most", pa.int64(), Merge.GREATEST)
GROWN = StateLayout(COUNTS.keys, (MOST, *COUNTS.values))
"""As a version says it that has one value more."""
STORED = StateLayout(COUNTS.keys, (*COUNTS.values, MOST))
"""As it is stored then."""
KNOWN = HeldColumns(("account",), ("n", "total"), is_other=True)
COMING = HeldColumns(("account",), ("n", "total"), ("most",), is_other=True)
TAKEN_BACK = HeldColumns(("account",), ("n", "total"), empty=frozenset({"most"}), is_other=True)
KINDS = pytest.mark.parametrize("kind", list(StateKind))


class EvolutionContract:
    """What every store promises that can follow a newer version of its topology."""

    @KINDS
    def test_an_order_changes_nothing_of_what_is_stored_or_staged(self, harness: StateHarness, kind: StateKind) -> None:
        store = apart(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        pinned = store.stage(batch_of(2), counts(("bob", 2, 20), ("eve", 1, 5)))
        store = _reopened(harness, TURNED, kind, KNOWN)
        for _ in range(2):
            store.apply(batch_of(2), pinned)
        assert seen(harness) == {"ann": (1, 10), "bob": (3, 21), "eve": (1, 5)}
        put(harness, store, batch_of(3), held(TURNED, ("ann", 100, 4)))
        assert seen(harness) == {"ann": (5, 110), "bob": (3, 21), "eve": (1, 5)}
        assert _found(store, "ann") == {"n": 5, "total": 110}

    def test_an_undo_knows_what_another_order_has_left(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        pinned = store.stage(batch_of(2), counts(("ann", 2, 20)))
        store.apply(batch_of(2), pinned)
        store = _reopened(harness, TURNED, StateKind.OPAQUE, KNOWN)
        undoing(store).check_undo(batch_of(2), pinned)
        undoing(store).undo(batch_of(2), 10, pinned)
        assert seen(harness) == {"ann": (1, 10)}
        put(harness, store, batch_of(2, attempt=21), held(TURNED, ("ann", 200, 3)))
        assert seen(harness) == {"ann": (4, 210)}

    def test_keys_may_stand_in_another_order_too(self, harness: StateHarness) -> None:
        pair = StateLayout((KeyColumn("a", pa.string()), KeyColumn("b", pa.string())), COUNTS.values)
        turned = StateLayout(pair.keys[::-1], TURNED.values)
        store = apart(harness, layout=pair)
        put(harness, store, batch_of(1), held(pair, ("x", "y", 1, 10), ("y", "x", 5, 50)))
        pinned = store.stage(batch_of(2), held(pair, ("x", "y", 1, 10)))
        known = HeldColumns(("a", "b"), ("n", "total"), is_other=True)
        store = _reopened(harness, turned, StateKind.OPAQUE, known)
        store.apply(batch_of(2), pinned)
        put(harness, store, batch_of(3), held(turned, ("x", "y", 100, 2)))
        shown = {(row["a"], row["b"]): (row["n"], row["total"]) for row in harness.rows(pair)}
        assert shown == {("x", "y"): (2, 20), ("y", "x"): (7, 150)}

    @KINDS
    def test_a_new_value_holds_what_comes_after_it_and_nothing_of_what_is_pinned(
        self, harness: StateHarness, kind: StateKind
    ) -> None:
        store = apart(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        pinned = store.stage(batch_of(2), counts(("bob", 2, 20), ("eve", 1, 5)))
        store = _reopened(harness, GROWN, kind, COMING)
        store.apply(batch_of(2), pinned)
        assert seen(harness) == {"ann": (1, 10), "bob": (3, 21), "eve": (1, 5)}
        _grow(store)
        assert seen(harness, STORED) == {"ann": (1, 10, None), "bob": (3, 21, None), "eve": (1, 5, None)}
        put(harness, store, batch_of(3), held(GROWN, ("bob", 7, 1, 7), ("joe", 3, 1, 3)))
        put(harness, store, batch_of(4), held(GROWN, ("bob", 5, 1, 5)))
        assert seen(harness, STORED) == {
            "ann": (1, 10, None),
            "bob": (5, 33, 7),
            "eve": (1, 5, None),
            "joe": (1, 3, 3),
        }
        assert _found(store, "ann") == {"n": 1, "total": 10, "most": None}

    @KINDS
    def test_what_is_pinned_may_also_be_applied_once_the_value_is_there(
        self, harness: StateHarness, kind: StateKind
    ) -> None:
        store = apart(harness, kind)
        pinned = store.stage(batch_of(1), counts(("ann", 1, 10)))
        store = _reopened(harness, GROWN, kind, COMING)
        _grow(store)
        store.apply(batch_of(1), pinned)
        assert seen(harness, STORED) == {"ann": (1, 10, None)}
        put(harness, store, batch_of(2), held(GROWN, ("ann", 7, 1, 7)))
        assert seen(harness, STORED) == {"ann": (2, 17, 7)}

    def test_an_undo_takes_a_new_value_back_to_nothing(self, harness: StateHarness) -> None:
        put(harness, apart(harness), batch_of(1), counts(("ann", 1, 10)))
        store = _reopened(harness, GROWN, StateKind.OPAQUE, COMING)
        _grow(store)
        pinned = store.stage(batch_of(2), held(GROWN, ("ann", 7, 1, 7)))
        store.apply(batch_of(2), pinned)
        assert seen(harness, STORED) == {"ann": (2, 17, 7)}
        undoing(store).check_undo(batch_of(2), pinned)
        undoing(store).undo(batch_of(2), 10, pinned)
        assert seen(harness, STORED) == {"ann": (1, 10, None)}
        store = _reopened(harness, COUNTS, StateKind.OPAQUE, TAKEN_BACK)
        put(harness, store, batch_of(2, attempt=21), counts(("ann", 2, 20)))
        assert seen(harness) == {"ann": (3, 30)}

    @KINDS
    def test_the_version_before_goes_on_while_nothing_is_in_the_new_value(
        self, harness: StateHarness, kind: StateKind
    ) -> None:
        put(harness, apart(harness, kind), batch_of(1), counts(("ann", 1, 10)))
        store = _reopened(harness, GROWN, kind, COMING)
        _grow(store)
        store.stage(batch_of(2, attempt=20), held(GROWN, ("ann", 7, 1, 7)))  # an attempt that is dropped
        store = _reopened(harness, COUNTS, kind, TAKEN_BACK)
        put(harness, store, batch_of(2, attempt=21), counts(("ann", 2, 20), ("bob", 1, 1)))
        assert seen(harness) == {"ann": (3, 30), "bob": (1, 1)}
        again = HeldColumns(("account",), ("n", "total"), ("most",), frozenset({"most"}), is_other=True)
        store = _reopened(harness, GROWN, kind, again)
        _grow(store, again)
        put(harness, store, batch_of(3), held(GROWN, ("bob", 4, 1, 4)))
        assert seen(harness, STORED) == {"ann": (3, 30, None), "bob": (2, 5, 4)}

    def test_a_start_that_was_cut_off_is_finished_by_the_next_one(self, harness: StateHarness) -> None:
        put(harness, apart(harness), batch_of(1), counts(("ann", 1, 10)))
        _reopened(harness, GROWN, StateKind.OPAQUE, COMING)  # and it died once that was recorded
        store = _reopened(harness, GROWN, StateKind.OPAQUE, COMING.grown())
        put(harness, store, batch_of(2), held(GROWN, ("ann", 7, 1, 7)))
        assert seen(harness, STORED) == {"ann": (2, 17, 7)}

    def test_an_owner_of_the_version_before_writes_nothing_once_it_is_replaced(self, harness: StateHarness) -> None:
        before = apart(harness)
        put(harness, before, batch_of(1), counts(("ann", 1, 10)))
        staged = before.stage(batch_of(2), counts(("ann", 2, 20)))
        after = harness.open_apart(GROWN, StateKind.OPAQUE)
        evolving(after).keep(COMING)
        after.prepare()
        after.raise_fence(OWNER, NEWER)
        _grow(after)
        with pytest.raises(FencedError):
            before.apply(batch_of(2), staged)
        assert seen(harness, STORED) == {"ann": (1, 10, None)}
        newer = batch_of(2, attempt=21, epoch=NEWER)
        put(harness, after, newer, held(GROWN, ("ann", 5, 1, 5)))
        assert seen(harness, STORED) == {"ann": (2, 15, 5)}

    def test_a_look_makes_nothing_of_what_is_to_come(self, harness: StateHarness) -> None:
        put(harness, ready(harness), batch_of(1), counts(("ann", 1, 10)))
        store = harness.open(GROWN, StateKind.OPAQUE)
        evolving(store).keep(COMING)
        position = store.look("orders")
        assert position is not None
        assert position.txid == 1
        assert all("most" not in row for row in harness.rows(COUNTS))


def _reopened(harness: StateHarness, layout: StateLayout, kind: StateKind, columns: HeldColumns) -> Target:
    """Return the store as another version opens it, taken over."""
    store = harness.open_apart(layout, kind)
    evolving(store).keep(columns)
    store.look("orders")
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    return store


def _grow(store: Target, columns: HeldColumns = COMING) -> None:
    evolving(store).keep(columns.grown())
    store.prepare()


def _found(store: Target, account: str) -> dict[str, object]:
    rows = querying(store).find("orders", pa.table({"account": pa.array([account], pa.string())})).rows
    (row,) = rows.to_pylist()
    return {name: value for name, value in row.items() if name != "account"}
