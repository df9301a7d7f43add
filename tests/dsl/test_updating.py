"""What a state updater is given and what becomes of its changes, without Spark."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import pyarrow as pa
import pytest

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.operations.asking import FOUND, StoredRows
from trident.operations.row_functions import Row
from trident.operations.updating import EmittedRow, StateChanges, StateUpdater, UpdateGroups
from trident.operations.user_objects import OperationContext

_KEPT: list[tuple[str, pa.DataType]] = [("k", pa.string()), ("total", pa.int64()), ("last", pa.string())]
KEPT = pa.schema(_KEPT)
EMITTED = pa.schema([pa.field("said", pa.string())])
NONE: list[tuple[str, pa.DataType]] = []
_COLUMNS: list[tuple[str, pa.DataType]] = [("__trident_written", pa.bool_())]
_COLUMNS += [(f"__trident_kept{place}", each.type) for place, each in enumerate(KEPT)]
MADE = pa.schema([*_COLUMNS, ("__trident_emitted0", pa.string()), (ORDER, pa.binary())])
Update = Callable[[StoredRows, Sequence[Row]], object]
Record = tuple[bytes | None, str | None, int, dict[str, object] | None]


class Given(StateUpdater):
    """Does what a test says."""

    values = "total bigint, last string"
    schema = "said string"

    def __init__(self, update: Update) -> None:
        self._update = update
        self.told: list[str] = []

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        return self._update(stored, rows)  # type: ignore[return-value]

    def prepare(self, context: OperationContext) -> None:
        self.told.append(context.verb)

    def cleanup(self) -> None:
        self.told.append("cleaned up")


def partition(*records: Record) -> pa.RecordBatch:
    stored = pa.struct([pa.field("total", pa.int64()), pa.field("last", pa.string())])
    row = pa.struct([pa.field("k", pa.string()), pa.field("n", pa.int64()), pa.field(FOUND, stored)])
    type_ = pa.list_(pa.struct([pa.field(ORDER, pa.binary()), pa.field("__trident_row", row)]))
    rows = [{ORDER: order, "__trident_row": {"k": k, "n": n, FOUND: found}} for order, k, n, found in records]
    return pa.record_batch({"__trident_of": pa.array([0], pa.int32()), "__trident_rows": pa.array([rows], type_)})


RECORDS: tuple[Record, ...] = (
    (b"c", "ann", 3, {"total": 5, "last": None}),
    (b"a", "bob", 1, None),
    (b"b", "ann", 2, {"total": 5, "last": None}),
)


def made(update: Update, *records: Record) -> list[dict[str, Any]]:
    given = Given(update)
    batches = list(UpdateGroups(given, ("k",), KEPT, EMITTED, MADE)([partition(*(records or RECORDS))]))
    assert given.told == ["partition_persist", "cleaned up"]
    (batch,) = batches
    assert batch.schema == MADE
    return list(batch.to_pylist())


def kept(rows: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [tuple(row[f"__trident_kept{place}"] for place in range(3)) for row in rows if row["__trident_written"]]


def test_it_is_given_the_records_in_their_order_and_what_was_there() -> None:
    seen: list[object] = []

    def look(stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        seen.append((list(rows), stored.multi_get([("ann",), ("bob",)])))
        return StateChanges()

    assert made(look) == []
    in_order = [{"k": "bob", "n": 1}, {"k": "ann", "n": 2}, {"k": "ann", "n": 3}]
    assert seen == [(in_order, [{"total": 5, "last": None}, None])]


def test_records_without_an_order_are_in_that_of_their_values() -> None:
    seen: list[object] = []

    def look(stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        seen.append([row["n"] for row in rows])
        return StateChanges()

    records: list[Record] = [(None, "a", n, None) for n in (3, 1, 2)]
    made(look, *records)
    made(look, *records[::-1])
    assert seen == [[1, 2, 3], [1, 2, 3]]


def test_writes_and_emitted_rows_come_out_apart_and_in_order() -> None:
    writes = {("ann",): {"last": "x", "total": 10}, ("bob",): (1, None)}
    rows = made(lambda stored, rows: StateChanges(writes, ["one", ("two",), {"said": "three"}]))
    assert kept(rows) == [("ann", 10, "x"), ("bob", 1, None)]
    emitted = [row for row in rows if not row["__trident_written"]]
    assert [row["__trident_emitted0"] for row in emitted] == ["one", "two", "three"]
    assert all(row["__trident_kept0"] is None for row in emitted)
    orders = [row[ORDER] for row in rows]
    assert orders == [None] * 5  # of no record: nothing says which of two partitions' rows came first


def test_an_emitted_row_stands_where_its_record_does() -> None:
    def last_first(stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        return StateChanges(rows=[EmittedRow(row, f"{row['n']}{part}") for row in reversed(rows) for part in "ab"])

    emitted = made(last_first)
    in_order = [row["__trident_emitted0"] for row in sorted(emitted, key=lambda row: row[ORDER])]
    assert in_order == ["1a", "1b", "2a", "2b", "3a", "3b"]
    assert [row[ORDER][:1] for row in emitted] == [b"c", b"c", b"b", b"b", b"a", b"a"]


def test_without_a_key_rows_are_in_the_order_in_which_they_are_given() -> None:
    kept_alone = pa.schema(_KEPT[1:])
    made_alone = MADE.remove(1).set(1, pa.field("__trident_kept0", pa.int64()))
    made_alone = made_alone.set(2, pa.field("__trident_kept1", pa.string()))
    alone = partition(*((*record[:3], None) for record in RECORDS))
    update = Given(lambda stored, rows: StateChanges(rows=["one", "two"]))
    (batch,) = UpdateGroups(update, (), kept_alone, EMITTED, made_alone, "partition_persist")([alone])
    orders = batch.column(ORDER).to_pylist()
    assert orders == sorted(orders)  # type: ignore[type-var]
    assert all(str(order).startswith("b'a") for order in orders)


def test_a_key_that_is_removed_has_a_row_of_nulls() -> None:
    assert kept(made(lambda stored, rows: StateChanges({("ann",): None}))) == [("ann", None, None)]


def test_to_remove_what_is_not_there_changes_nothing() -> None:
    assert made(lambda stored, rows: StateChanges({("bob",): None})) == []


def test_nothing_is_emitted_by_rows_that_are_a_generator_of_none() -> None:
    assert made(lambda stored, rows: StateChanges(rows=iter(()))) == []


WRONG: dict[str, tuple[object, str]] = {
    "nothing": (None, r"returned NoneType, not StateChanges.*missing return"),
    "a dict": ({}, "returned dict"),
    "writes that are none": (StateChanges([("ann",)]), "writes that are list"),  # type: ignore[arg-type]
    "an unknown key": (StateChanges({("zoe",): (1, "a")}), "writes a key that none of its records names"),
    "a bare key": (StateChanges({"ann": (1, "a")}), "writes a key that none"),
    "nulls": (StateChanges({("ann",): (None, None)}), "a row of nulls only.*say None"),
    "a missing value": (StateChanges({("ann",): {"total": 1}}), "a dict of other names"),
    "a value that is not held": (StateChanges({("ann",): (2.5, "a")}), "'total'"),
    "rows that are a text": (StateChanges(rows="said"), "rows that are str"),
    "a row that is not held": (StateChanges(rows=[5]), "'said'"),
    "a row of another record": (StateChanges(rows=[EmittedRow({"k": "ann"}, "a")]), "none of the records.*copy"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_must_not_return_is_refused(name: str) -> None:
    changes, text = WRONG[name]
    with pytest.raises(ConfigurationError, match=f"{text}.*nothing of the batch was applied") as refused:
        made(lambda stored, rows: changes)
    assert str(refused.value).startswith("partition_persist: Given.update "), "whose it is"


def test_rows_without_a_schema_are_refused() -> None:
    groups = UpdateGroups(Given(lambda s, r: StateChanges(rows=[()])), ("k",), KEPT, pa.schema(NONE), MADE)
    with pytest.raises(ConfigurationError, match=r"emits rows, but has no schema.*nothing of the batch was applied"):
        list(groups([partition(*RECORDS)]))


def test_equal_keys_are_written_once() -> None:
    """Two NaN are one key, though a dict has room for both."""
    row = pa.struct([pa.field("k", pa.float64()), pa.field(FOUND, pa.struct([pa.field("v", pa.int64())]))])
    type_ = pa.list_(pa.struct([pa.field(ORDER, pa.binary()), pa.field("__trident_row", row)]))
    rows = [{ORDER: b"a", "__trident_row": {"k": math.nan, FOUND: None}}]
    batch = pa.record_batch({"__trident_rows": pa.array([rows], type_)})
    columns: list[tuple[str, pa.DataType]] = [("k", pa.float64()), ("v", pa.int64())]
    schema = pa.schema(columns)
    writes = {(float("nan"),): (number,) for number in range(2)}
    assert len(writes) == 2
    groups = UpdateGroups(Given(lambda s, r: StateChanges(writes)), ("k",), schema, pa.schema(NONE), MADE)
    with pytest.raises(ConfigurationError, match=r"writes a key twice.*nothing of the batch was applied"):
        list(groups([batch]))


class LastOne(StateUpdater):
    values = "v bigint"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        return StateChanges({(row["k"],): {"v": row["v"]} for row in rows})


def test_records_that_share_an_order_come_in_that_of_their_values_whatever_spark_does() -> None:
    """As those of a stream that was merged with what was made of it."""
    fields: list[tuple[str, pa.DataType]] = [("k", pa.string()), ("v", pa.int64())]
    columns: list[tuple[str, pa.DataType]] = [("w", pa.bool_()), ("kept0", pa.string()), ("kept1", pa.int64())]
    kept, schema = pa.schema(fields), pa.schema([*columns, (ORDER, pa.binary())])
    row = pa.struct([("k", pa.string()), ("v", pa.int64()), (FOUND, pa.struct([("v", pa.int64())]))])
    group = pa.struct([(ORDER, pa.binary()), ("__trident_row", row)])
    work = UpdateGroups(LastOne(), ("k",), kept, pa.schema([]), schema)
    several = [{ORDER: b"t", "__trident_row": {"k": "a", "v": value, FOUND: None}} for value in (9, 10, 2)]
    for given in itertools.permutations(several):
        made = work._updated(cast("pa.StructArray", pa.array(given, group)))
        assert made.column("kept1").to_pylist() == [10]
