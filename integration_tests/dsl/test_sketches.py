"""Estimates beside plain Python's exact results: of a batch, of a state over many, of every type, within bounds."""

from __future__ import annotations

import math
import random
import sqlite3
import sys
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import rows_of
from integration_tests.dsl.fakes import small_spout
from tests.effort import base_seed
from trident import ApproxCountDistinct, ConfigurationError, Quantiles, SqliteLedger, Topology
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteState, SqliteTable

NAN, ENDLESS, GREATEST = math.nan, math.inf, sys.float_info.max
AT = (0.0, 0.07, 0.5, 0.9, 0.99, 1.0)
NUMBERS: dict[str, dict[str, Sequence[object]]] = {
    "bigint": {
        "several": [3, 1, 4, 1, 5, 9, None, -2, 6],
        "one": [7],
        "none": [None, None],
        "long": [12_345, 12_355, -12_345, 99_999, 2**63 - 1, -(2**63)],
        "a hundred": list(range(1, 101)),
    },
    "decimal(10,2)": {"several": [Decimal("1.50"), Decimal("-0.25"), None, Decimal("0.00"), Decimal("123.45")]},
    "double": {
        "several": [0.1, -0.1, 1e-300, 1e300, 2.5, 2.5],
        "ends": [NAN, ENDLESS, -ENDLESS, 0.0, -0.0, NAN],
        "only nan": [NAN],
        "greatest": [GREATEST, -GREATEST, 1.7951e308, ENDLESS, -ENDLESS, -1.7951e308, GREATEST],
    },
}


def rounded(value: object, digits: int) -> float:
    """Python's decimals, half up, no number farther away than the greatest one."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    found = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(repr(float(str(value)))))
    return float(min(max(found, Decimal(-GREATEST)), Decimal(GREATEST)))


def quantiles(values: Sequence[object], digits: int) -> list[float] | None:
    known = [rounded(value, digits) for value in values if value is not None]
    known.sort(key=lambda value: (math.isnan(value), 0.0 if math.isnan(value) else value))
    if not known:
        return None
    return [known[max(math.ceil(Decimal(repr(share)) * len(known)), 1) - 1] for share in AT]


def same(found: object, wanted: list[float] | None) -> bool:
    if wanted is None:
        return found is None
    assert isinstance(found, list)
    return [repr(each) for each in found] == [repr(each + 0.0) for each in wanted]


@pytest.mark.parametrize("digits", [1, 3, 6])
@pytest.mark.parametrize("ddl", NUMBERS)
def test_quantiles_are_those_of_the_rounded_values(spark: SparkSession, ddl: str, digits: int) -> None:
    rows = [(name, value) for name, values in NUMBERS[ddl].items() for value in values]
    stream = Topology("t").stream("s", small_spout(f"k string, x {ddl}", rows[::2], rows[1::2]))
    made = stream.group_by("k").aggregate(q=Quantiles("x", AT, digits))
    found = {row[0]: row[1] for row in rows_of(made, ordered=False)}
    assert set(found) == set(NUMBERS[ddl])
    for name, values in NUMBERS[ddl].items():
        assert same(found[name], quantiles(values, digits)), (name, found[name], quantiles(values, digits))


def test_up_to_so_many_different_values_are_counted_exactly_and_of_every_type(spark: SparkSession) -> None:
    rows = [
        (1, "a", Decimal("1.0"), 0.0, True),
        (1, "A", Decimal("1.0"), -0.0, True),
        (None, "a ", Decimal("2.0"), NAN, None),
        (2, None, None, NAN, False),
    ]
    schema = "i int, s string, c decimal(38,1), d double, b boolean"
    stream = Topology("t").stream("s", small_spout(schema, rows[:1], rows[1:]))
    results = {name: ApproxCountDistinct(name) for name in "iscdb"}
    assert rows_of(stream.aggregate(**results), ordered=False) == [(2, 3, 2, 2, 2)]


@pytest.mark.parametrize("count", [401, 402, 403, 20_000])
def test_more_of_them_are_estimated_within_the_error(spark: SparkSession, count: int) -> None:
    chosen = random.Random(base_seed())
    rows = [(chosen.getrandbits(60),) for _ in range(count)]
    stream = Topology("t").stream("s", small_spout("x bigint", rows + rows[::3]))
    ((found,),) = rows_of(stream.aggregate(n=ApproxCountDistinct("x")), ordered=False)
    exact = len(set(rows))
    assert isinstance(found, int)
    assert found == exact if exact < 402 else abs(found - exact) < 6 * 0.05 * exact


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_state_comes_to_the_same_over_batches_of_any_size(spark: SparkSession, tmp_path: Path, size: int) -> None:
    rows = [("a" if n % 3 else "b", n * n % 31, Decimal(n * 37 % 1000) / 4) for n in range(40)]
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout("k string, n int, x decimal(9,2)", rows, max_records_per_batch=size))
    state = stream.group_by("k").persistent_aggregate(
        SqliteState("kept"), n=ApproxCountDistinct("n", relative_error=0.4), q=Quantiles("x", AT, 2)
    )
    shown = state.new_values().each(median=F.get("q", F.lit(2)), most=F.get("q", F.lit(5)))
    shown = shown.project("k", "n", "median", "most")
    shown.to_table(SqliteTable("latest"), write="upsert", key="k")
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    whole = Topology("t").stream("s", small_spout("k string, n int, x decimal(9,2)", rows))
    of_all = whole.group_by("k").aggregate(n=ApproxCountDistinct("n", 0.4), q=Quantiles("x", AT, 2))
    shown = of_all.each(median=F.get("q", F.lit(2)), most=F.get("q", F.lit(5))).project("k", "n", "median", "most")
    wanted = set(rows_of(shown, ordered=False))
    with sqlite3.connect(file) as connection:
        assert set(connection.execute("SELECT k, n, median, most FROM latest")) == wanted
    for key, _, median, most in wanted:
        of_key = quantiles([x for k, _, x in rows if k == key], 2)
        assert of_key is not None
        assert (median, most) == (of_key[2], of_key[5])


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Quantiles("s"), "needs numbers, but the field 's' is string"),
        (Quantiles("y"), "names a field that the stream does not have"),
        (ApproxCountDistinct("m"), "field 'm'"),
    ],
)
def test_what_can_not_be_estimated_is_refused_when_it_is_built(spark: SparkSession, made: object, text: str) -> None:
    stream = Topology("t").stream("s", small_spout("s string, m map<string, int>", []))
    for build in (lambda: stream.persistent_aggregate(MemoryState("s"), d=made), lambda: stream.aggregate(d=made)):  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=text):
            build()
