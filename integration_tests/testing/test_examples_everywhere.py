"""The examples come to the same wherever their coordinators die, over two batches of what they show.

`examples/overdrawn.py` is played in test_topology_test.py, border by border.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from examples import devices, enrichment, refunds, word_count
from trident import Topology
from trident.spouts.row_logs import Row
from trident.testing import TopologyTest, check_exactly_once
from trident.testing.playing import Rows

EXAMPLES: dict[str, tuple[Callable[[SparkSession], Topology], str, Sequence[Row]]] = {
    "devices": (lambda _: devices.devices(), "readings", devices.READINGS),
    "enrichment": (enrichment.enrichment, "orders", enrichment.ORDERS),
    "refunds": (lambda _: refunds.refunds(), "entries", refunds.ENTRIES),
    "word count": (lambda _: word_count.word_count(), "sentences", [(each,) for each in word_count.SENTENCES]),
}


def halves(stream: str, rows: Sequence[Row]) -> list[Rows]:
    middle = len(rows) // 2
    return [{stream: list(rows[:middle])}, {stream: list(rows[middle:])}]


@pytest.mark.timeout(900)  # many runs
@pytest.mark.drawn(one_in=5)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_comes_to_the_same_wherever_it_dies(spark: SparkSession, name: str) -> None:
    make, stream, rows = EXAMPLES[name]
    assert len(check_exactly_once(make(spark), spark, halves(stream, rows))) >= 8


@pytest.mark.parametrize("name", ["devices", "refunds", "word count"])
def test_a_state_is_the_same_however_batches_are_cut(spark: SparkSession, name: str) -> None:
    make, stream, rows = EXAMPLES[name]
    found = []
    for batches in ([{stream: list(rows)}], halves(stream, rows)):
        with TopologyTest(make(spark), spark) as test:
            for batch in batches:
                test.batch(batch)
            found.append({end.name: test.rows(end.name) for end in make(spark).compile().ends})
    assert found[0] == found[1]
    assert all(found[0].values())
