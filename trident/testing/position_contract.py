# ruff: noqa: D102, S106 - the names of the tests are sentences, and a fencing token is no password
"""The part of a state's contract that is about positions and epochs: what is applied, once, and by whom."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from functools import partial

import pytest

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Owner
from trident.state.layout import StateKind
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    NEWER,
    OWNER,
    StateHarness,
    apart,
    batch_of,
    counts,
    put,
    ready,
    seen,
)


class PositionContract:
    """What every store promises about the order of batches and about who may write."""

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_batches_add_up(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 2, 20)))
        put(harness, store, batch_of(2), counts(("bob", 1, 5), ("cyd", 1, 7)))
        assert seen(harness) == {"ann": (1, 10), "bob": (3, 25), "cyd": (1, 7)}
        position = store.position("orders")
        assert position is not None
        assert (position.owner, position.txid, position.attempt, position.birth_txid) == (OWNER, 2, 20, 0)

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_the_same_batch_again_is_skipped(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
        harness.commit(store, batch_of(1), staged)
        harness.commit(store, batch_of(1), staged)
        assert seen(harness) == {"ann": (1, 10)}

    def test_a_skipped_batch_does_not_need_its_staged_rows(self, harness: StateHarness) -> None:
        store = ready(harness)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
        harness.commit(store, batch_of(1), staged)
        store.clean_up(OWNER, EPOCH, 1)
        harness.commit(store, batch_of(1), staged)
        assert seen(harness) == {"ann": (1, 10)}

    def test_all_that_is_staged_can_be_forgotten(self, harness: StateHarness) -> None:
        store = apart(harness)
        store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 10))))
        never = store.stage(batch_of(2), counts(("ann", 1, 10)))
        for _ in range(2):
            store.forget_staging(OWNER, EPOCH)
        with pytest.raises(MismatchError):
            store.apply(batch_of(2), never)
        assert seen(harness) == {"ann": (1, 10)}

    def test_what_a_successor_has_staged_is_not_forgotten(self, harness: StateHarness) -> None:
        store = apart(harness)
        store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 1, 10))))
        successor = harness.open_apart(COUNTS, StateKind.OPAQUE)
        successor.prepare()
        successor.raise_fence(OWNER, NEWER)
        later = batch_of(2, epoch=NEWER)
        updates = successor.stage(later, counts(("ann", 1, 10)))
        for forget in (store.forget_staging, partial(store.clean_up, done=2)):
            with pytest.raises(FencedError):
                forget(OWNER, EPOCH)
        successor.apply(later, updates)
        assert seen(harness) == {"ann": (2, 20)}

    def test_an_epoch_that_holds_no_fence_deletes_nothing(self, harness: StateHarness) -> None:
        """A store that was put back to an earlier moment has an older epoch than whoever lived on."""
        store = apart(harness)
        updates = store.stage(batch_of(1), counts(("ann", 1, 10)))
        with pytest.raises(MismatchError):
            store.forget_staging(OWNER, NEWER)
        with suppress(MismatchError):
            store.clean_up(OWNER, NEWER, 1)
        store.apply(batch_of(1), updates)
        assert seen(harness) == {"ann": (1, 10)}

    def test_another_attempt_at_an_applied_txid_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        with pytest.raises(MismatchError, match="stands at txid 1 attempt 10"):
            put(harness, store, batch_of(1, attempt=11), counts(("ann", 5, 50)))
        assert seen(harness) == {"ann": (1, 10)}

    def test_a_gap_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        with pytest.raises(MismatchError, match="stands at txid 1"):
            put(harness, store, batch_of(3), counts(("ann", 5, 50)))
        assert seen(harness) == {"ann": (1, 10)}

    def test_an_older_txid_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        put(harness, store, batch_of(2), counts(("ann", 1, 10)))
        with pytest.raises(MismatchError, match="stands at txid 2"):
            put(harness, store, batch_of(1), counts(("ann", 1, 10)))

    def test_another_incarnation_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        stranger = Owner("orders", "other-life")
        with pytest.raises(MismatchError, match="first-life"):
            put(harness, store, batch_of(1, owner=stranger), counts(("ann", 1, 10)))
        with pytest.raises(MismatchError, match="first-life"):
            store.register(stranger, EPOCH, 0)
        assert harness.rows(COUNTS) == []

    def test_another_topology_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        with pytest.raises(MismatchError, match="belongs to"):
            store.position("payments")

    def test_a_batch_without_rows_moves_the_position(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts())
        put(harness, store, batch_of(2), counts(("ann", 1, 10)))
        assert seen(harness) == {"ann": (1, 10)}

    def test_a_state_that_was_never_registered_takes_nothing(self, harness: StateHarness) -> None:
        store = harness.open(COUNTS, StateKind.OPAQUE)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        assert store.position("orders") is None
        with pytest.raises(MismatchError, match="never been registered"):
            put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        assert harness.rows(COUNTS) == []

    def test_registering_and_preparing_again_change_nothing(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        again = ready(harness)
        position = again.position("orders")
        assert position is not None
        assert position.txid == 1
        assert seen(harness) == {"ann": (1, 10)}

    def test_a_birth_txid_is_where_it_starts(self, harness: StateHarness) -> None:
        store = harness.open(COUNTS, StateKind.OPAQUE)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        store.register(OWNER, EPOCH, 41)
        put(harness, store, batch_of(42), counts(("ann", 1, 10)))
        position = store.position("orders")
        assert position is not None
        assert (position.txid, position.birth_txid) == (42, 41)

    def test_an_old_epoch_writes_nothing(self, harness: StateHarness) -> None:
        store = apart(harness)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
        successor = harness.open_apart(COUNTS, StateKind.OPAQUE)
        successor.prepare()
        successor.raise_fence(OWNER, NEWER)
        with pytest.raises(FencedError):
            store.apply(batch_of(1), staged)
        with pytest.raises(FencedError):
            store.raise_fence(OWNER, EPOCH)
        with pytest.raises(FencedError):
            store.clean_up(OWNER, EPOCH, 1)
        with pytest.raises(FencedError):
            store.forget_staging(OWNER, EPOCH)
        assert harness.rows(COUNTS) == []
        successor.raise_fence(OWNER, NEWER)
        successor.apply(batch_of(1, epoch=NEWER), successor.stage(batch_of(1, epoch=NEWER), counts(("ann", 1, 10))))
        assert seen(harness) == {"ann": (1, 10)}

    def test_an_old_epoch_that_finds_a_later_txid_hears_that_it_was_fenced(self, harness: StateHarness) -> None:
        store = apart(harness)
        successor = harness.open_apart(COUNTS, StateKind.OPAQUE)
        successor.prepare()
        successor.raise_fence(OWNER, NEWER)
        for txid in (1, 2):
            batch = batch_of(txid, epoch=NEWER)
            successor.apply(batch, successor.stage(batch, counts(("ann", 1, 10))))
        with pytest.raises(FencedError):
            store.apply(batch_of(1), counts(("ann", 1, 10)))

    def test_two_epochs_of_one_number_are_told_apart(self, harness: StateHarness) -> None:
        store = apart(harness)
        with pytest.raises(FencedError):
            store.raise_fence(OWNER, dataclasses.replace(EPOCH, token="other"))
