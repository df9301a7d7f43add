# ruff: noqa: D102 - the names of the tests are sentences, and a fencing token is no password
"""The part of a state's contract that is about a new incarnation."""

from __future__ import annotations

import pytest

from trident.base.errors import ConfigurationError, FencedError, MismatchError
from trident.base.identity import Owner
from trident.state.layout import StateKind
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    NEWER,
    OWNER,
    StateHarness,
    batch_of,
    counts,
    put,
    ready,
    resetting,
    seen,
)


class ResetContract:
    """What every store that can follow a reset promises."""

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_clear_starts_a_new_life_once(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        second = Owner("orders", "second-life")
        store.raise_fence(OWNER, NEWER)
        if not harness.can_clear:
            with pytest.raises(ConfigurationError):
                resetting(store).clear(second, NEWER, 7)
            return
        resetting(store).clear(second, NEWER, 7)
        assert harness.rows(COUNTS) == []
        put(harness, store, batch_of(8, epoch=NEWER, owner=second), counts(("bob", 1, 1)))
        resetting(store).clear(second, NEWER, 7)
        assert seen(harness) == {"bob": (1, 1)}

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_adopt_keeps_the_rows_under_a_new_owner(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        second = Owner("orders", "second-life")
        store.raise_fence(OWNER, NEWER)
        # 0: rows that carry no txid; 2: a store that can't list its keys, some of which may have the next txid
        assert resetting(store).check_adopt(OWNER.topology) in (0, 1, 2)
        resetting(store).adopt(second, NEWER, 7)
        resetting(store).adopt(second, NEWER, 7)
        put(harness, store, batch_of(8, epoch=NEWER, owner=second), counts(("ann", 1, 1)))
        assert seen(harness) == {"ann": (2, 11)}

    def test_an_old_epoch_can_neither_clear_nor_adopt(self, harness: StateHarness) -> None:
        store = ready(harness)
        store.raise_fence(OWNER, NEWER)
        put(harness, store, batch_of(1, epoch=NEWER), counts(("ann", 1, 10)))
        for change in (resetting(store).clear, resetting(store).adopt):
            with pytest.raises(FencedError):
                change(Owner("orders", "second-life"), EPOCH, 7)
        assert seen(harness) == {"ann": (1, 10)}

    def test_rows_that_nobody_owns_are_refused(self, harness: StateHarness) -> None:
        self.leave_rows_without_owner(harness)
        store = harness.open(COUNTS, StateKind.OPAQUE)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        if not harness.sees_foreign_rows:  # a store that can't list its rows can't know
            store.register(OWNER, EPOCH, 0)
            assert store.position("orders") is not None
            return
        with pytest.raises(MismatchError, match="has rows but no owner"):
            store.register(OWNER, EPOCH, 0)
        assert resetting(store).check_adopt(OWNER.topology) is not None
        resetting(store).adopt(OWNER, EPOCH, 3)
        position = store.position("orders")
        assert position is not None
        assert position.txid == 3

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        """Put rows where the state will look for them; to be overridden for stores that can list their rows."""
        assert not harness.sees_foreign_rows, "this store can list its rows: say how rows get there without an owner"
