"""What the benchmarks measure can be built: they run by hand only, so nothing else would notice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from pyspark.sql import SparkSession

from benchmarks.programs import PROGRAMS
from benchmarks.systems.trident_append import to_table
from benchmarks.systems.trident_four_states import four_states
from benchmarks.systems.trident_outbox import with_outbox
from benchmarks.systems.trident_to_kafka import to_kafka
from benchmarks.systems.trident_two_states import two_states
from benchmarks.systems.trident_without import without
from trident import Topology

Build = Callable[[str, str, int], Topology]
BUILDS: dict[str, Build] = {
    "append": partial(to_table, "rows"),
    "outbox": partial(with_outbox, "alerts"),
    "to_kafka": partial(to_kafka, "sent", None),
    "to_kafka_bulk": partial(to_kafka, "sent", "/staging"),
    "two_states": two_states,
    "four_states": four_states,
    "without": partial(without, "postgresql://localhost/payments"),
}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_each_can_be_built(build: Build, spark: SparkSession) -> None:
    assert build("localhost:9092", "payments", 1_000).compile().spec().name == "payments"


def test_what_is_counted_beside_the_balances_is_there(spark: SparkSession) -> None:
    states = four_states("localhost:9092", "payments", 1_000).compile().spec().states
    others = PROGRAMS["trident_four_states"].other_tables
    assert sorted(states) == sorted(("balances", *others))
