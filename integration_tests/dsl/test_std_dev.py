"""StdDev against Python's exact statistics: of one batch, of a state over many, at the borders of its types."""

from __future__ import annotations

import math
import sqlite3
import statistics
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration_tests.dsl.collected import rows_of
from integration_tests.dsl.fakes import small_spout
from trident import ConfigurationError, SqliteLedger, StdDev, StdDevOf, Topology
from trident.base.errors import TridentError
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteState, SqliteTable

Number = int | Decimal | None
UNIT = Decimal(1).scaleb(-17)
CASES: dict[str, dict[str, Sequence[Number]]] = {
    "bigint": {
        "several": [3, 1, 4, 1, 5, 9, None, -2, 6],
        "one": [7],
        "none": [None, None],
        "same": [10**9] * 5,
        "far from zero": [10**18, 10**18 + 1, 10**18 + 1, 10**18 + 2],
        "far below zero": [-(10**18), -(10**18) - 1, -(10**18) - 5],
        "half way": [10**15, 10**15 + 1],
        "widest": [-(2**62), 2**62 - 1, 0],
    },
    "tinyint": {"several": [-128, 127, 0, None], "one": [-1]},
    "decimal(10,2)": {
        "several": [Decimal("1.50"), Decimal("-0.25"), None, Decimal("0.00")],
        "zeros": [Decimal("0.00"), Decimal("0.00")],
        "small": [Decimal("-0.05"), Decimal("0.05"), Decimal("-0.01")],
        "far from zero": [Decimal("99999999.98"), Decimal("99999999.99"), Decimal("99999999.97")],
    },
    "decimal(17,17)": {
        "smallest": [UNIT, -UNIT, 3 * UNIT],
        "zeros": [Decimal(0), Decimal(0), Decimal(0)],
        "close": [Decimal("0.3") + UNIT * step for step in (0, 1, 2, 7)],
    },
    "decimal(30,3)": {"several": [Decimal("1000000000000000.125"), Decimal("1000000000000000.250"), Decimal("-0.001")]},
}


def exact(values: Sequence[Number], *, of: StdDevOf) -> float | None:
    """Python's own: the root of an exact fraction, correctly rounded."""
    known = [Fraction(value) for value in values if value is not None]
    if len(known) < (1 if of is StdDevOf.POPULATION else 2):
        return None
    return float((statistics.pstdev if of is StdDevOf.POPULATION else statistics.stdev)(known))


def is_near(found: object, wanted: float | None) -> bool:
    if wanted is None:
        return found is None
    return isinstance(found, float) and math.isclose(found, wanted, rel_tol=2e-15, abs_tol=0.0)


@pytest.mark.parametrize("ddl", CASES)
def test_is_exact_at_the_borders_of_each_type(spark: SparkSession, ddl: str) -> None:
    rows = [(name, value) for name, values in CASES[ddl].items() for value in values]
    stream = Topology("t").stream("s", small_spout(f"k string, x {ddl}", rows[::2], rows[1::2]))
    made = stream.group_by("k").aggregate(sample=StdDev("x"), all=StdDev("x", of="population"))
    found = {row[0]: row[1:] for row in rows_of(made, ordered=False)}
    assert set(found) == set(CASES[ddl])
    for name, values in CASES[ddl].items():
        for value, of in zip(found[name], StdDevOf, strict=True):
            assert is_near(value, exact(values, of=of)), (name, of, value)


@pytest.mark.parametrize("size", [1, 4])
def test_is_the_same_over_batches_of_any_size(spark: SparkSession, tmp_path: Path, size: int) -> None:
    rows = [(name, value) for name, values in CASES["decimal(10,2)"].items() for value in values]
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout("k string, x decimal(10,2)", rows, max_records_per_batch=size))
    state = stream.group_by("k").persistent_aggregate(
        SqliteState("kept"), d=StdDev("x"), p=StdDev("x", of="population")
    )
    state.new_values().to_table(SqliteTable("latest"), write="upsert", key="k")
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        latest = {key: shown for key, *shown in connection.execute("SELECT k, d, p FROM latest")}
    for name, values in CASES["decimal(10,2)"].items():
        for value, of in zip(latest[name], StdDevOf, strict=True):
            assert is_near(value, exact(values, of=of)), (name, of, value)


def test_squares_that_no_decimal_holds_are_refused_with_nothing_applied(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout("x bigint", [(2**63 - 1,), (-(2**63),)]))
    stream.persistent_aggregate(SqliteState("kept"), d=StdDev("x"))
    with pytest.raises(TridentError, match="the sum of the squares of the field 'x' over a group is out of range"):
        topology.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    plain = Topology("t").stream("s", small_spout("x bigint", [(2**63 - 1,), (-(2**63),)]))
    with pytest.raises(TridentError, match="can't compute it from these records"):
        rows_of(plain.aggregate(d=StdDev("x")), ordered=False)


@pytest.mark.parametrize(
    ("ddl", "text"),
    [
        ("x double", "needs integers or decimals"),
        ("x decimal(19,4)", "at most 18 digits .*, or 3 behind it"),
        ("x decimal(18,18)", "at most 18 digits .* at least"),
        ("y int", "names a field that the stream does not have"),
    ],
)
def test_what_has_no_exact_squares_is_refused_when_it_is_built(spark: SparkSession, ddl: str, text: str) -> None:
    stream = Topology("t").stream("s", small_spout(ddl, []))
    with pytest.raises(ConfigurationError, match=text):
        stream.persistent_aggregate(MemoryState("s"), d=StdDev("x"))
    with pytest.raises(ConfigurationError, match=text):
        stream.aggregate(d=StdDev("x"))


def test_what_it_is_of_is_said_by_name() -> None:
    assert StdDev("x", of="population") == StdDev("x", of=StdDevOf.POPULATION)
    with pytest.raises(ConfigurationError, match="StdDev: of must be one of 'sample', 'population'"):
        StdDev("x", of="some")
