"""Every type's extremes, and batches at the border of the two ways of staging: the same exact rows by both."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from integration_tests.dsl.fakes import FileWriter, UnopenedState, WriterStore, request_for, rows_spout, run
from trident import Count, Max, Min, Staging, Topology
from trident.engine.processor import SparkProcessor
from trident.engine.staging import StagingChoice
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.state.target import Target

EXTREMES: dict[str, list[object]] = {
    "boolean": [False, True, None],
    "tinyint": [-128, 127, None],
    "smallint": [-(2**15), 2**15 - 1],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**53 + 1, 2**63 - 1],
    "float": [-math.inf, -0.0, 0.0, 2.0**-149, math.inf, math.nan],
    "double": [-math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, math.inf, math.nan],
    "decimal(38,0)": [Decimal(-(10**38) + 1), Decimal(0), Decimal(10**38 - 1)],
    "decimal(38,38)": [Decimal(f"-0.{'9' * 38}"), Decimal(f"0.{'0' * 37}1")],
    "date": [date.min, date(1969, 12, 31), date.max],
    "timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)],  # noqa: DTZ001 - so they are
    "string": ["", " ", "a\0b", "caf\u00e9", "cafe\u0301", "\U0001f600", "x" * 100_000, None],
    "binary": [b"", b"\0", b"\xff" * 1_000],
}


def one_form(value: object) -> object:
    """Return a key as results have it: -0.0 is 0.0, and NaN equals itself as a text."""
    if isinstance(value, float):
        return str(value + 0.0)
    return value


def test_every_types_extremes_by_both_ways_of_staging(spark: SparkSession, tmp_path: Path) -> None:
    """One stream for all types: its key, its Min and its Max are columns of each type."""
    fields = ", ".join(f"c{number} {ddl}" for number, ddl in enumerate(EXTREMES))
    rows = [
        tuple(value if column == number else None for column in range(len(EXTREMES)))
        for number, values in enumerate(EXTREMES.values())
        for value in values
        for _ in range(2)
    ]
    names = [f"c{number}" for number in range(len(EXTREMES))]
    topology = Topology("extremes")
    stream = topology.stream("rows", rows_spout(fields, rows[::2], rows[1::2]))
    ordered = [name for name, ddl in zip(names, EXTREMES, strict=True) if ddl != "binary"]
    bounds = {f"{which}_{name}": make(name) for name in ordered for which, make in (("low", Min), ("high", Max))}
    stream.group_by(*names).persistent_aggregate(UnopenedState("s"), n=Count(), **bounds)
    compiled = topology.compile()

    held = run(compiled, spark, staging=Staging.DRIVER).updates["s"]
    assert isinstance(held, HeldUpdates)
    folder = WriterStore(FileWriter(str(tmp_path), "s"))
    written = run(compiled, spark, staging=Staging.EXECUTORS, stores={"s": cast("Target", folder)}).updates["s"]
    assert isinstance(written, WrittenUpdates)
    by_tasks = pa.concat_tables([pa.ipc.open_file(str(path)).read_all() for path in tmp_path.iterdir()])

    expected: dict[tuple[object, ...], int] = {}
    for row in rows:
        key = tuple(map(one_form, row))
        expected[key] = expected.get(key, 0) + 1
    for table in (held.rows, by_tasks):
        found = {tuple(one_form(stored[name]) for name in names): stored for stored in table.to_pylist()}
        assert {key: stored["n"] for key, stored in found.items()} == expected
        assert table.num_rows == len(expected)
        for stored in found.values():
            for name in ordered:
                bounds_of = [one_form(stored[f"{which}_{name}"]) for which in ("low", "high")]
                assert bounds_of == [one_form(stored[name])] * 2


@pytest.mark.parametrize("above", [0, 1])
def test_the_largest_batch_that_the_driver_holds_and_the_smallest_that_tasks_write(
    spark: SparkSession, tmp_path: Path, above: int
) -> None:
    rows = [(number % 5, number) for number in range(20)]
    topology = Topology("border")
    stream = topology.stream("rows", rows_spout("k bigint, v bigint", rows))
    stream.group_by("k").persistent_aggregate(UnopenedState("s"), n=Count(), last=Max("v"))
    compiled = topology.compile()
    (end,) = compiled.ends
    border = StagingChoice(Staging.AUTO, 1, end.schema).expected_bytes(len(rows))
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    stores = {"s": cast("Target", WriterStore(FileWriter(str(tmp_path), "s")))}
    processor = SparkProcessor(compiled, spark, sources, stores, staging_threshold=int(border) - above)
    updates = processor.process(request_for(compiled, sources)).updates["s"]
    assert isinstance(updates, WrittenUpdates) == bool(above)
    table = updates.rows if isinstance(updates, HeldUpdates) else None
    if table is None:
        table = pa.concat_tables([pa.ipc.open_file(str(path)).read_all() for path in tmp_path.iterdir()])
    assert {row["k"]: (row["n"], row["last"]) for row in table.to_pylist()} == {k: (4, 15 + k) for k in range(5)}
