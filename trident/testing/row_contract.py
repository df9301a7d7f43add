# ruff: noqa: D102 - the names of the tests are sentences, and a fencing token is no password
"""The part of a state's contract that is about rows: keys, merges, types, and what is staged."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.base.errors import MismatchError, RefusedError
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.staged import WrittenUpdates
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    OWNER,
    StateHarness,
    apart,
    batch_of,
    counts,
    held,
    put,
    ready,
    seen,
)


class RowContract:
    """What every store promises about the rows that it is given."""

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
        ("type_", "high"),
        [(pa.int16(), 2**15 - 6), (pa.int64(), 2**63 - 6), (pa.decimal128(5, 2), Decimal("994.99"))],
        ids=str,
    )
    def test_an_overflow_is_refused_and_changes_nothing(
        self, harness: StateHarness, type_: pa.DataType, high: object
    ) -> None:
        layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("n", type_, Merge.ADD),))
        store = ready(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, ("a", high)))
        with pytest.raises(RefusedError) as refusal:
            put(harness, store, batch_of(2), held(layout, ("b", 1), ("a", 6)))
        assert str(high) not in str(refusal.value), "a text may name the limit of a column, and no value"
        assert [str(row["n"]) for row in harness.rows(layout)] == [str(high)]
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
        store = apart(harness)
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
        store = apart(harness)
        store.stage(batch_of(1), counts(("ann", 100, 100)))
        store.stage(batch_of(1, attempt=9), counts(("ann", 100, 100)))
        first = store.stage(batch_of(1), counts(("ann", 1, 10)))
        store.apply(batch_of(1), first)
        later = store.stage(batch_of(2), counts(("ann", 1, 10)))
        store.clean_up(OWNER, EPOCH, 1)
        store.apply(batch_of(2), later)
        assert seen(harness) == {"ann": (2, 20)}
