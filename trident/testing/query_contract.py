# ruff: noqa: D102 - the names of the tests are sentences
"""The part of a state's contract that is about the values of given keys."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.base.errors import MismatchError
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.target import Target
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
    querying,
    ready,
    undoing,
)

KEYS = COUNTS.key_schema()


class QueryContract:
    """What every store that can be queried promises about the values of given keys."""

    @pytest.mark.parametrize("kind", list(StateKind))
    def test_keys_are_found_with_their_current_values(self, harness: StateHarness, kind: StateKind) -> None:
        store = ready(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1), (None, 5, 5), ("", 6, 6)))
        put(harness, store, batch_of(2), counts(("ann", 2, 20)))
        found = querying(store).find("orders", accounts("ann", None, "nobody"))
        assert found.rows.schema == COUNTS.schema()
        assert _values(found.rows) == {("ann", 3, 30), (None, 5, 5)}
        assert found.position == store.position("orders")
        assert found.position.txid == 2

    def test_no_key_finds_nothing_but_the_position(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), (None, 1, 1)))
        for keys in (accounts(), accounts("nobody"), accounts("NULL", "")):
            found = querying(store).find("orders", keys)
            assert found.rows.num_rows == 0
            assert (found.position.txid, found.position.attempt) == (1, 10)

    def test_a_key_that_is_asked_twice_is_found_once(self, harness: StateHarness) -> None:
        store = ready(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), (None, 2, 2)))
        found = querying(store).find("orders", accounts("ann", "ann", None, None))
        assert _values(found.rows) == {("ann", 1, 10), (None, 2, 2)}

    def test_keys_of_several_columns_are_told_apart(self, harness: StateHarness) -> None:
        layout = StateLayout(
            (KeyColumn("a", pa.string()), KeyColumn("b", pa.int32())), (ValueColumn("n", pa.int64(), Merge.ADD),)
        )
        store = ready(harness, layout=layout)
        rows: list[tuple[object, ...]] = [("x", 1, 1), ("x", None, 2), (None, 1, 3), (None, None, 4), ("y", 1, 5)]
        put(harness, store, batch_of(1), held(layout, *rows))
        for asked in ([row[:2] for row in rows[:4]], [("x", 1)], [(None, 1), (None, None)], [("y", None)]):
            columns = [[key[index] for key in asked] for index in (0, 1)]
            keys = pa.table([pa.array(columns[0], pa.string()), pa.array(columns[1], pa.int32())], ["a", "b"])
            assert _values(querying(store).find("orders", keys).rows) == {row for row in rows if row[:2] in asked}

    def test_values_come_back_as_they_went_in(self, harness: StateHarness) -> None:
        moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=datetime.UTC)
        layout = StateLayout(
            (KeyColumn("day", pa.date32()), KeyColumn("fee", pa.decimal128(10, 2))),
            (
                ValueColumn("total", pa.decimal128(20, 4), Merge.ADD),
                ValueColumn("latest", pa.timestamp("us", "UTC"), Merge.GREATEST),
                ValueColumn("share", pa.float64(), Merge.GREATEST),
            ),
        )
        store = ready(harness, layout=layout)
        row = (datetime.date(2024, 2, 29), Decimal("-1.50"), Decimal("12345678901234.5678"), moment, 0.1)
        put(harness, store, batch_of(1), held(layout, row, (datetime.date(2024, 3, 1), *row[1:])))
        asked = held(layout, row).rows.select(["day", "fee"])
        found = querying(store).find("orders", asked).rows
        assert found.schema == layout.schema()
        assert found.to_pylist() == held(layout, row).rows.to_pylist()

    def test_a_state_without_key_columns_has_one_row_to_find(self, harness: StateHarness) -> None:
        layout = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))
        store = ready(harness, layout=layout)
        assert querying(store).find("orders", pa.table({})).rows.num_rows == 0
        put(harness, store, batch_of(1), held(layout, (3,)))
        assert querying(store).find("orders", pa.table({})).rows.to_pylist() == [{"n": 3}]

    def test_what_was_undone_is_not_found_any_more(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        staged = store.stage(batch_of(2), counts(("ann", 5, 50)))
        store.apply(batch_of(2), staged)
        assert _values(querying(store).find("orders", accounts("ann")).rows) == {("ann", 6, 60)}
        undoing(store).undo(batch_of(2), 10, staged)
        found = querying(store).find("orders", accounts("ann"))
        assert (_values(found.rows), found.position.txid) == ({("ann", 1, 10)}, 1)

    def test_a_query_changes_nothing_and_another_state_or_topology_has_nothing_to_say(
        self, harness: StateHarness
    ) -> None:
        store: Target = harness.open(COUNTS, StateKind.OPAQUE)
        store.prepare()
        store.raise_fence(OWNER, EPOCH)
        with pytest.raises(MismatchError, match="never been registered"):
            querying(store).find("orders", accounts("ann"))
        store.register(OWNER, EPOCH, 0)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        before = harness.rows(COUNTS)
        querying(store).find("orders", accounts("ann", "new"))
        assert harness.rows(COUNTS) == before
        with pytest.raises(MismatchError, match=r"never been registered|belongs to"):
            querying(store).find("payments", accounts("ann"))


def accounts(*names: str | None) -> pa.Table:
    """Return keys of `COUNTS`."""
    return pa.table([pa.array(names, pa.string())], schema=KEYS)


def _values(rows: pa.Table) -> set[tuple[object, ...]]:
    found = [tuple(row.values()) for row in rows.to_pylist()]
    assert len(set(found)) == len(found)
    return set(found)
