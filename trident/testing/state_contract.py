# ruff: noqa: D102, S106 - the names of the tests are sentences, and a fencing token is no password
"""The contract of a state as a suite of tests; public as `trident.testing`."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.base.errors import ConfigurationError, FencedError, MismatchError, RefusedError
from trident.base.identity import Owner
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.staged import WrittenUpdates
from trident.testing.query_contract import QueryContract
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    NEWER,
    OWNER,
    StateHarness,
    batch_of,
    counts,
    held,
    put,
    ready,
    resetting,
    seen,
)
from trident.testing.undo_contract import UndoContract

__all__ = ["StateContract", "StateHarness"]


class StateContract(UndoContract, QueryContract):
    """What every store promises; subclass it and define the fixture `harness`."""

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
        store.prepare(store.capabilities.beside is not None)
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
        store.prepare(store.capabilities.beside is not None)
        store.raise_fence(OWNER, EPOCH)
        store.register(OWNER, EPOCH, 41)
        put(harness, store, batch_of(42), counts(("ann", 1, 10)))
        position = store.position("orders")
        assert position is not None
        assert (position.txid, position.birth_txid) == (42, 41)

    def test_an_old_epoch_writes_nothing(self, harness: StateHarness) -> None:
        store = ready(harness)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10)))
        successor = harness.open(COUNTS, StateKind.OPAQUE)
        successor.prepare(False)
        successor.raise_fence(OWNER, NEWER)
        store.prepare(False)
        with pytest.raises(FencedError):
            store.apply(batch_of(1), staged)
        with pytest.raises(FencedError):
            store.raise_fence(OWNER, EPOCH)
        with pytest.raises(FencedError):
            store.clean_up(OWNER, EPOCH, 1)
        assert harness.rows(COUNTS) == []
        successor.raise_fence(OWNER, NEWER)
        successor.apply(batch_of(1, epoch=NEWER), successor.stage(batch_of(1, epoch=NEWER), counts(("ann", 1, 10))))
        assert seen(harness) == {"ann": (1, 10)}

    def test_an_old_epoch_that_finds_a_later_txid_hears_that_it_was_fenced(self, harness: StateHarness) -> None:
        store = ready(harness)
        store.prepare(False)
        successor = harness.open(COUNTS, StateKind.OPAQUE)
        successor.prepare(False)
        successor.raise_fence(OWNER, NEWER)
        for txid in (1, 2):
            batch = batch_of(txid, epoch=NEWER)
            successor.apply(batch, successor.stage(batch, counts(("ann", 1, 10))))
        with pytest.raises(FencedError):
            store.apply(batch_of(1), counts(("ann", 1, 10)))

    def test_two_epochs_of_one_number_are_told_apart(self, harness: StateHarness) -> None:
        store = ready(harness)
        store.prepare(False)
        store.raise_fence(OWNER, EPOCH)
        with pytest.raises(FencedError):
            store.raise_fence(OWNER, dataclasses.replace(EPOCH, token="other"))

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_null_is_a_key_like_any_other(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        put(harness, store, batch_of(1), counts((None, 1, 10), ("ann", 1, 1)))
        put(harness, store, batch_of(2), counts((None, 2, 20), ("ann", 1, 1), ("", 5, 5)))
        assert seen(harness) == {None: (3, 30), "ann": (2, 2), "": (5, 5)}
        assert len(harness.rows(COUNTS)) == 3

    def test_partly_null_keys_are_told_apart(self, harness: StateHarness) -> None:
        layout = StateLayout(
            (KeyColumn("a", pa.string()), KeyColumn("b", pa.int32())), (ValueColumn("n", pa.int64(), Merge.ADD),)
        )
        store = ready(harness, layout=layout)
        keys = [("x", 1), ("x", None), (None, 1), (None, None)]
        for txid in (1, 2, 3):
            put(harness, store, batch_of(txid), held(layout, *[(*key, index) for index, key in enumerate(keys)]))
        found = {(row["a"], row["b"]): row["n"] for row in harness.rows(layout)}
        assert found == {key: 3 * index for index, key in enumerate(keys)}
        assert len(harness.rows(layout)) == 4

    def test_without_key_columns_there_is_a_single_row(self, harness: StateHarness) -> None:
        layout = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))
        store = ready(harness, layout=layout)
        for txid in (1, 2):
            put(harness, store, batch_of(txid), held(layout, (4,)))
        assert [row["n"] for row in harness.rows(layout)] == [8]

    def test_every_merge_and_its_nulls(self, harness: StateHarness) -> None:
        layout = StateLayout(
            (KeyColumn("k", pa.string()),),
            (
                ValueColumn("added", pa.int32(), Merge.ADD),
                ValueColumn("least", pa.int32(), Merge.LEAST),
                ValueColumn("greatest", pa.int32(), Merge.GREATEST),
                ValueColumn("joined", pa.string(), Merge.COMBINE, lambda stored, staged: f"{stored}+{staged}"),
            ),
        )
        store = ready(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, ("a", 1, 5, 5, "x"), ("b", None, None, None, None)))
        put(harness, store, batch_of(2), held(layout, ("a", 2, 3, 3, "y"), ("b", 7, 7, 7, "z"), ("c", 1, 1, 1, "n")))
        put(harness, store, batch_of(3), held(layout, ("a", None, None, None, None), ("b", 1, 9, 9, "w")))
        assert seen(harness, layout) == {"a": (3, 3, 5, "x+y"), "b": (8, 7, 9, "z+w"), "c": (1, 1, 1, "n")}

    def test_money_is_exact(self, harness: StateHarness) -> None:
        layout = StateLayout(
            (KeyColumn("k", pa.string()),),
            tuple(
                ValueColumn(name, pa.decimal128(20, 2), merge)
                for name, merge in (("added", Merge.ADD), ("least", Merge.LEAST), ("greatest", Merge.GREATEST))
            ),
        )
        store = ready(harness, layout=layout)
        values = [Decimal("12345678901234567.89"), Decimal("0.28"), Decimal("-9.00")]
        for txid, value in enumerate(values, 1):
            put(harness, store, batch_of(txid), held(layout, ("a", value, value, value)))
        expected = tuple(str(value) for value in (sum(values), min(values), max(values)))
        assert tuple(str(value) for value in seen(harness, layout)["a"]) == expected

    @pytest.mark.parametrize(
        ("type_", "top"),
        [(pa.int16(), 2**15 - 1), (pa.int64(), 2**63 - 1), (pa.decimal128(5, 2), Decimal("999.99"))],
        ids=str,
    )
    def test_an_overflow_is_refused_and_changes_nothing(
        self, harness: StateHarness, type_: pa.DataType, top: object
    ) -> None:
        layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("n", type_, Merge.ADD),))
        store = ready(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, ("a", top)))
        with pytest.raises(RefusedError) as refusal:
            put(harness, store, batch_of(2), held(layout, ("b", 1), ("a", 1)))
        assert str(top) not in str(refusal.value)
        assert [str(row["n"]) for row in harness.rows(layout)] == [str(top)]
        position = store.position("orders")
        assert position is not None
        assert position.txid == 1

    def test_opaque_values_keep_what_was_before(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        put(harness, store, batch_of(2), counts(("ann", 2, 20)))
        ann, bob = sorted(harness.rows(COUNTS), key=lambda row: str(row["account"]))
        beside = ("n", "previous_n", "total", "previous_total", "txid", "previous_txid")
        assert tuple(ann.get(name) for name in beside[:5]) == (3, 1, 30, 10, 2)
        assert tuple(bob.get(name) for name in beside[:5]) == (1, None, 1, None, 1)

    def test_transactional_values_keep_their_txid(self, harness: StateHarness) -> None:
        store = ready(harness, StateKind.TRANSACTIONAL)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        put(harness, store, batch_of(2), counts(("ann", 2, 20)))
        assert {row["account"]: row["txid"] for row in harness.rows(COUNTS)} == {"ann": 2, "bob": 1}

    def test_a_key_staged_twice_is_refused(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        with pytest.raises((MismatchError, RefusedError)):
            put(harness, store, batch_of(2), counts(("ann", 1, 10), ("ann", 1, 10)))
        assert seen(harness) == {"ann": (1, 10)}

    def test_written_updates_must_be_what_was_accepted(self, harness: StateHarness) -> None:
        store = ready(harness)
        store.prepare(False)
        store.raise_fence(OWNER, EPOCH)
        staged = store.stage(batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        assert isinstance(staged, WrittenUpdates)
        (write,) = staged.writes
        fewer = dataclasses.replace(write, digest=dataclasses.replace(write.digest, count=1))
        other = dataclasses.replace(write, digest=dataclasses.replace(write.digest, xor=write.digest.xor ^ 1))
        unknown = dataclasses.replace(write, write_id="nobody")
        for wrong in ((fewer,), (other,), (unknown,), (write, write)):
            with pytest.raises(MismatchError):
                store.apply(batch_of(1), WrittenUpdates(wrong))
        assert harness.rows(COUNTS) == []
        store.apply(batch_of(1), staged)
        assert seen(harness) == {"ann": (1, 10), "bob": (1, 1)}

    def test_garbage_of_other_writes_is_never_read(self, harness: StateHarness) -> None:
        store = ready(harness)
        store.prepare(False)
        store.raise_fence(OWNER, EPOCH)
        store.stage(batch_of(1), counts(("ann", 100, 100)))
        store.stage(batch_of(1, attempt=9), counts(("ann", 100, 100)))
        first = store.stage(batch_of(1), counts(("ann", 1, 10)))
        store.apply(batch_of(1), first)
        later = store.stage(batch_of(2), counts(("ann", 1, 10)))
        store.clean_up(OWNER, EPOCH, 1)
        store.apply(batch_of(2), later)
        assert seen(harness) == {"ann": (2, 20)}

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
        store.prepare(store.capabilities.beside is not None)
        store.raise_fence(OWNER, EPOCH)
        if not harness.sees_foreign_rows:  # a store that can't list its rows can't know
            store.register(OWNER, EPOCH, 0)
            assert store.position("orders") is not None
            return
        with pytest.raises(MismatchError, match="has rows but no owner"):
            store.register(OWNER, EPOCH, 0)
        resetting(store).adopt(OWNER, EPOCH, 3)
        position = store.position("orders")
        assert position is not None
        assert position.txid == 3

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        """Put rows where the state will look for them; to be overridden for stores that can list their rows."""
        assert not harness.sees_foreign_rows, "this store can list its rows: say how rows get there without an owner"
