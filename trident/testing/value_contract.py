# ruff: noqa: D102 - the names of the tests are sentences
"""The part of a state's contract that is about values: one equality, one order, exact or refused.

A store may refuse a value that it can't hold; it may never make another one of it, nor count it apart from its equal.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import TypeAlias

import pyarrow as pa
import pytest

from trident.base.errors import RefusedError
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.rows import json_rows
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing.state_harness import StateHarness, batch_of, held, put, querying, ready

NAN, INF = math.nan, math.inf
MOMENT = pa.timestamp("us", "UTC")
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
SUMMER = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
"""02:30 in Berlin, for the first time of that night; forty minutes later it is 02:10 there."""
WINTER = SUMMER + timedelta(minutes=40)

Pairs: TypeAlias = Mapping[str, tuple[pa.DataType, object, object]]

EQUAL: Pairs = {
    "NaN": (pa.float64(), NAN, -float("nan")),
    "NaN of 32 bits": (pa.float32(), NAN, NAN),
    "zeros": (pa.float64(), -0.0, 0.0),
    "zeros of 32 bits": (pa.float32(), 0.0, -0.0),
    "infinity": (pa.float64(), INF, INF),
    "decimals of other scale": (pa.decimal128(20, 4), Decimal("1.5"), Decimal("1.5000")),
    "negative zero": (pa.decimal128(5, 2), Decimal("-0.00"), Decimal(0)),
    "null": (pa.string(), None, None),
    "nothing": (pa.string(), "", ""),
    "a long key": (pa.string(), "k" * 2_000, "k" * 2_000),
}
"""Pairs of keys that are one."""
OTHER: Pairs = {
    "case": (pa.string(), "ann", "ANN"),
    "case of other letters": (pa.string(), "straße", "STRASSE"),
    "normal forms": (pa.string(), "caf\u00e9", "cafe\u0301"),
    "padding": (pa.string(), "ann", "ann   "),
    "nothing and null": (pa.string(), "", None),
    "zero and null": (pa.int64(), 0, None),
    "a NUL": (pa.string(), "a", "a\0"),
    "NaN and null": (pa.float64(), NAN, None),
    "NaN and infinity": (pa.float64(), NAN, INF),
    "neighbours": (pa.float64(), 0.1, math.nextafter(0.1, 1)),
    "beyond floats": (pa.int64(), 2**53, 2**53 + 1),
    "microseconds": (MOMENT, SUMMER, SUMMER + timedelta(microseconds=1)),
    "an hour that comes twice": (MOMENT, SUMMER, SUMMER + timedelta(hours=1)),
    "bytes": (pa.binary(), b"\xff", b"\xff\x00"),
}
"""Pairs of keys that are two."""
ORDER: Mapping[pa.DataType, tuple[object, ...]] = {
    pa.bool_(): (False, True),
    pa.int8(): (-128, -1, 0, 127),
    pa.int64(): (-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1),
    pa.float32(): (-INF, -1.5, 0.0, 2.0**-149, 1.5, INF, NAN),
    pa.float64(): (-INF, -1e308, -5e-324, 0.0, 5e-324, 0.1, 1e308, INF, NAN),
    pa.decimal128(38, 2): tuple(Decimal(f"{sign}{'9' * 36}.{end}") for sign, end in (("-", 99), ("", 98), ("", 99))),
    pa.string(): ("", "A", "B", "a", "a ", "b", "cafe\u0301", "caf\u00e9", "ß", "\uffff", "\U0001f600"),
    pa.date32(): (date.min, date(1969, 12, 31), date(2000, 2, 29), date.max),
    MOMENT: (FIRST, SUMMER, WINTER, SUMMER + timedelta(hours=1), LAST),
    pa.timestamp("us"): (datetime(1, 1, 1), datetime(2026, 10, 25, 2, 30), datetime.max),  # noqa: DTZ001, DTZ901 - so it is
}
"""Values of each type, ascending."""


MADE: Sequence[tuple[pa.DataType, object, object]] = (
    (pa.int64(), 1, 2.5),
    (pa.int64(), 1, 2**63),
    (pa.int32(), 1, "2"),
    (pa.float32(), 1.0, 1e300),
    (pa.decimal128(10, 2), Decimal(1), Decimal("0.005")),
    (pa.decimal128(10, 2), Decimal(1), Decimal("NaN")),
    (pa.string(), "a", "\ud800"),
    (pa.date32(), date(2024, 1, 1), datetime(2024, 1, 1, 12, tzinfo=UTC)),
    (MOMENT, SUMMER, datetime(2024, 1, 1)),  # noqa: DTZ001 - that is what is wrong with it
    (pa.timestamp("us"), datetime(2024, 1, 1), SUMMER),  # noqa: DTZ001 - so it is
    (pa.timestamp("s"), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 5)),  # noqa: DTZ001 - so it is
)
"""A column's type, what is in it, and what a combiner makes of that: nothing that the column holds exactly."""


def poison() -> Iterator[tuple[str, pa.Array[pa.Scalar[pa.DataType]]]]:
    """Yield what Spark can hold and Python can't, each in a column of its own."""
    text = pa.py_buffer(b"a\xff\xfe")
    yield "no UTF-8", pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0"), text])
    day = 86_400_000_000
    for name, days in (("year 0", -719_163), ("year 10000", 2_932_897), ("year 290000", 105_000_000)):
        yield f"a day of {name}", pa.array([days], pa.date32())
        yield f"a moment of {name}", pa.array([days * day], MOMENT)
        yield f"digits of {name}", pa.array([days * day], pa.timestamp("us"))
    yield "the last moment of all", pa.array([2**63 - 1], MOMENT)


class ValueContract:
    """What every store promises about equality, order and exactness."""

    def test_equal_keys_are_one(self, harness: StateHarness) -> None:
        assert set(_counted(harness, EQUAL).values()) <= {(2,), "refused"}

    def test_other_keys_are_two(self, harness: StateHarness) -> None:
        assert set(_counted(harness, OTHER).values()) <= {(1, 1), "refused"}

    def test_the_least_and_the_greatest_depend_on_no_order_of_batches(self, harness: StateHarness) -> None:
        """Each type has two columns, and each pair of its values a key of its own."""
        merges = {"low": Merge.LEAST, "high": Merge.GREATEST}
        columns = [ValueColumn(f"{w}{i}", t, merge) for i, t in enumerate(ORDER) for w, merge in merges.items()]
        layout = _layout(pa.int64(), *columns)
        store = ready(harness, layout=layout)
        cases: list[tuple[int, int, int]] = []
        batches: list[list[tuple[object, ...]]] = [[], []]
        for column, (type_, values) in enumerate(ORDER.items()):
            taken = [number for number, value in enumerate(values) if _is_held(store, layout, column, value)]
            assert len(taken) >= len(values) - 1, f"too much of {type_} is refused"
            for one, other in product(taken, taken):
                batches[0].append(_single(layout, len(cases), column, values[one]))
                batches[1].append(_single(layout, len(cases), column, values[other]))
                cases.append((column, one, other))
        for txid, rows in enumerate(batches, 1):
            put(harness, store, batch_of(txid), held(layout, *rows))
        keys = pa.table([pa.array(range(len(cases)), pa.int64())], names=["k"])
        found = querying(store).find("orders", keys).rows
        places = {key: place for place, key in enumerate(found.column("k").to_pylist())}
        for key, (column, one, other) in enumerate(cases):
            type_ = list(ORDER)[column]
            merged = [repr(found.column(f"{which}{column}")[places[key]]) for which in merges]
            expected = [repr(pa.scalar(ORDER[type_][number], type_)) for number in (min(one, other), max(one, other))]
            assert merged == expected

    def test_a_value_that_another_column_chooses_depends_on_no_order_of_batches(self, harness: StateHarness) -> None:
        """A row for each pair of (what it is chosen by, the value), nulls among them; batches in both orders."""
        pairs = [(by, value) for by in (None, Decimal("-1.50"), Decimal("2.00")) for value in (None, "a", "B")]
        given = [(by, None if by is None else value) for by, value in pairs]
        kept_by = pa.decimal128(10, 2)
        layout = _layout(
            pa.int64(),
            ValueColumn("low", pa.string(), Merge.LEAST_BY, by="low_by"),
            ValueColumn("low_by", kept_by, Merge.LEAST),
            ValueColumn("high", pa.string(), Merge.GREATEST_BY, by="high_by"),
            ValueColumn("high_by", kept_by, Merge.GREATEST),
        )
        store = ready(harness, layout=layout)
        cases = list(product(given, given))
        for txid, side in ((1, 0), (2, 1)):
            rows = [(key, value, by, value, by) for key, (by, value) in enumerate(case[side] for case in cases)]
            put(harness, store, batch_of(txid), held(layout, *rows))
        found = querying(store).find("orders", pa.table([pa.array(range(len(cases)), pa.int64())], names=["k"])).rows
        rows_by_key = {row["k"]: row for row in found.to_pylist()}
        for key, case in enumerate(cases):
            known = [(by, value) for by, value in case if by is not None]
            low = min(known, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or ""), default=(None, None))
            high = max(known, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or ""), default=(None, None))
            row = rows_by_key[key]
            assert (row["low_by"], row["low"]) == low, case
            assert (row["high_by"], row["high"]) == high, case

    def test_what_replaces_a_value_is_what_was_staged_and_nulls_too(self, harness: StateHarness) -> None:
        layout = _layout(
            pa.string(), ValueColumn("n", pa.int64(), Merge.REPLACE), ValueColumn("said", pa.string(), Merge.REPLACE)
        )
        store = ready(harness, layout=layout)
        batches: list[list[tuple[object, ...]]] = [
            [("a", 5, "x"), ("b", None, None)],
            [("a", 3, None), ("b", 1, "y")],
            [("a", None, None)],
        ]
        seen = []
        for txid, rows in enumerate(batches, 1):
            put(harness, store, batch_of(txid), held(layout, *rows))
            seen.append([(row["n"], row["said"]) for row in _found(store, layout, "a", "b")])
        assert seen == [[(5, "x"), (None, None)], [(3, None), (1, "y")], [(None, None), (1, "y")]]

    def test_sums_are_exact_whatever_the_process_does_with_decimals(self, harness: StateHarness) -> None:
        layout = _layout(pa.string(), ValueColumn("n", pa.decimal128(38, 2), Merge.ADD))
        store = ready(harness, layout=layout)
        values = [Decimal(f"{'9' * 35}.99"), Decimal("0.01"), Decimal(f"-{'8' * 34}.88")]
        with decimal.localcontext(prec=5) as context:
            context.traps[decimal.Inexact] = context.traps[decimal.Rounded] = True
            for txid, value in enumerate(values, 1):
                put(harness, store, batch_of(txid), held(layout, ("a", value)))
            (row,) = _found(store, layout, "a")
        assert str(row["n"]) == "91111111111111111111111111111111111.12"

    def test_an_hour_that_comes_twice_has_two_halves(self, harness: StateHarness) -> None:
        """In Berlin 00:30Z is 02:30 and 01:10Z is 02:10: Python compares what the clock on the wall says."""
        last = ValueColumn("last", MOMENT, Merge.GREATEST)
        layout = _layout(pa.string(), last, ValueColumn("folded", MOMENT, Merge.COMBINE, max))  # type: ignore[arg-type]
        store = ready(harness, layout=layout)
        for txid, moment in enumerate((SUMMER, WINTER), 1):
            local = pa.array([moment], pa.timestamp("us", "Europe/Berlin"))
            rows = pa.table([pa.array(["a"]), local, local], names=layout.schema().names)
            put(harness, store, batch_of(txid), HeldUpdates(rows))
        (row,) = _found(store, layout, "a")
        assert (row["last"], row["folded"]) == (WINTER, WINTER)

    def test_what_a_combiner_makes_is_held_exactly_or_refused(self, harness: StateHarness) -> None:
        columns = [
            ValueColumn(f"v{number}", type_, Merge.COMBINE, _always(made))
            for number, (type_, _, made) in enumerate(MADE)
        ]
        layout = _layout(pa.int64(), *columns)
        store = ready(harness, layout=layout)
        keys = range(len(MADE))
        rows = [(key, *[given if key == n else None for n, (_, given, _) in enumerate(MADE)]) for key in keys]
        put(harness, store, batch_of(1), held(layout, *rows))
        before = _found(store, layout, *keys)
        for number, (_, _, made) in enumerate(MADE):
            with pytest.raises(RefusedError, match=f"'v{number}'") as refusal:
                put(harness, store, batch_of(2, attempt=number + 20), held(layout, rows[number]))
            assert repr(made) not in str(refusal.value)
        assert _found(store, layout, *keys) == before

    @pytest.mark.parametrize(
        ("type_", "given", "made"), [(pa.float64(), 1.0, math.nan), (pa.string(), "a", "x\0y")], ids=["NaN", "NUL"]
    )
    def test_what_a_combiner_makes_is_held_as_what_is_staged_is(
        self, harness: StateHarness, type_: pa.DataType, given: object, made: object
    ) -> None:
        layout = _layout(pa.int64(), ValueColumn("v", type_, Merge.COMBINE, lambda stored, staged: made))
        store = ready(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, (1, given)))
        is_refused = False
        try:
            put(harness, store, batch_of(2), held(layout, (1, given)))
        except RefusedError:
            is_refused = True
        (kept,) = _found(store, layout, 1)
        assert repr(kept["v"]) == repr(given if is_refused else made)

    def test_a_combiner_that_raises_is_a_refusal_and_shows_no_value(self, harness: StateHarness) -> None:
        layout = _layout(pa.string(), ValueColumn("v", pa.string(), Merge.COMBINE, _raise))
        store = ready(harness, layout=layout)
        put(harness, store, batch_of(1), held(layout, ("a", "secret")))
        with pytest.raises(RefusedError, match=r"'v'.*raised ZeroDivisionError at .*value_contract") as refusal:
            put(harness, store, batch_of(2), held(layout, ("a", "secret")))
        assert "secret" not in str(refusal.value)
        assert refusal.value.__suppress_context__

    def test_combined_values_have_the_form_of_their_column(self, harness: StateHarness) -> None:
        layout = _layout(
            pa.string(),
            ValueColumn("d", pa.decimal128(10, 2), Merge.COMBINE, lambda stored, staged: Decimal(7)),
            ValueColumn("f", pa.float32(), Merge.COMBINE, lambda stored, staged: 0.1),
            ValueColumn("z", pa.float64(), Merge.COMBINE, lambda stored, staged: -0.0),
        )
        store = ready(harness, layout=layout)
        for txid in (1, 2):
            put(harness, store, batch_of(txid), held(layout, ("a", Decimal(1), 1.0, 1.0)))
        ((_, *values),) = [tuple(row[name] for name in layout.schema().names) for row in harness.rows(layout)]
        assert [str(value) for value in values][::2] == ["7.00", "0.0"]
        assert pa.scalar(values[1], pa.float32()).as_py() == pa.scalar(0.1, pa.float32()).as_py()

    def test_what_python_can_not_hold_is_refused_and_can_be_diverted(self, harness: StateHarness) -> None:
        cases = [column for _, column in poison()]
        columns = [ValueColumn(f"v{number}", column.type, Merge.LEAST) for number, column in enumerate(cases)]
        layout = _layout(pa.int64(), *columns)
        store = ready(harness, layout=layout)
        for number, column in enumerate(cases):
            others = [column if n == number else pa.array([None], other.type) for n, other in enumerate(cases)]
            rows = HeldUpdates(pa.table([pa.array([1], pa.int64()), *others], names=layout.schema().names))
            with pytest.raises(RefusedError, match=f"column 'v{number}'"):
                store.stage(batch_of(1), rows)
            (text,) = json_rows(rows.rows)
            assert text.count("{") == 2
        assert harness.rows(layout) == []


def _raise(stored: object, staged: object) -> object:
    raise ZeroDivisionError(f"{stored} and {staged}")


def _layout(key: pa.DataType, *values: ValueColumn) -> StateLayout:
    return StateLayout((KeyColumn("k", key),), values)


def _always(made: object) -> Callable[[object, object], object]:
    return lambda stored, staged: made


def _counted(harness: StateHarness, pairs: Pairs) -> dict[str, tuple[object, ...] | str]:
    """Return what is counted of each pair when its keys come in two batches, or "refused" if the store can't hold one.

    The number of the pair is a key column, and each pair has one of its own.
    """
    columns = [KeyColumn(f"k{number}", type_) for number, (type_, _, _) in enumerate(pairs.values())]
    layout = StateLayout((KeyColumn("pair", pa.int64()), *columns), (ValueColumn("n", pa.int64(), Merge.ADD),))
    store = ready(harness, StateKind.OPAQUE, layout)
    counted: dict[str, tuple[object, ...] | str] = dict.fromkeys(pairs, "refused")
    batches: list[list[tuple[object, ...]]] = [[], []]
    for number, (_, *keys) in enumerate(pairs.values()):
        rows = [(number, *[key if n == number else None for n in range(len(columns))], 1) for key in keys]
        if all(_is_taken(store, layout, row) for row in rows):
            for batch, row in zip(batches, rows, strict=True):
                batch.append(row)
    for txid, batch in enumerate(batches, 1):
        put(harness, store, batch_of(txid), held(layout, *batch))
    asked = held(layout, *batches[0], *batches[1]).rows.select(layout.key_schema().names)
    found: dict[str, list[object]] = {}
    for stored in querying(store).find("orders", asked).rows.to_pylist():
        found.setdefault(list(pairs)[stored["pair"]], []).append(stored["n"])
    assert len(harness.rows(layout)) == sum(map(len, found.values()))
    return counted | {what: tuple(each) for what, each in found.items()}


def _single(layout: StateLayout, key: int, column: int, value: object) -> tuple[object, ...]:
    """Return a row with a value in the two columns of one type."""
    return (key, *[value if n // 2 == column else None for n in range(len(layout.values))])


def _is_held(store: Target, layout: StateLayout, column: int, value: object) -> bool:
    return _is_taken(store, layout, _single(layout, 0, column, value))


def _is_taken(store: Target, layout: StateLayout, row: tuple[object, ...]) -> bool:
    """Tell whether the store stages a row, which is never applied."""
    try:
        store.stage(batch_of(1, attempt=1), held(layout, row))
    except RefusedError:
        return False
    return True


def _found(store: Target, layout: StateLayout, *keys: object) -> list[dict[str, object]]:
    """Return the rows of keys as the store gives them back, by key."""
    asked = pa.table([pa.array(keys, layout.keys[0].type)], names=["k"])
    rows: list[dict[str, object]] = querying(store).find("orders", asked).rows.to_pylist()
    return sorted(rows, key=lambda row: str(row["k"]))
