"""What tests of prepared plans share: batches of attempts, and what a plan makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from integration_tests.dsl.fakes import BATCH_TIME, SmallRowsSource, small_spout
from trident import Topology
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.engine import prepared
from trident.engine.collecting import Collected, read_table
from trident.engine.prepared import PreparedPlans, SmallUpdates
from trident.graph.nodes import End, sources_of
from trident.language.stream import Stream
from trident.operations.base import BatchContext
from trident.spouts.base import SmallBatch

SPOUT = PartitionId("rows", 0)


@dataclass
class Attempts:
    """Hands out batches, each under an edge of its own, as attempts are."""

    source: SmallRowsSource
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 1 << 62)))

    def batch(self, spark: SparkSession, start: int, stop: int, *, in_order: bool = True) -> SmallBatch:
        edge = Edge(next(self.numbers), OffsetRange(SPOUT, "id", start, stop))
        found = self.source.read_small(spark, [edge], in_order=in_order)
        assert found is not None
        return found


def counted_uses(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how many frames are made of a batch, and how often one is run with other rows."""
    counted: Counter[str] = Counter()

    def counting(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: object, **named: object) -> object:
            counted[name] += 1
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    counting(SmallUpdates, "rows")
    counting(prepared._Prepared, "exchange")
    return counted


def ends_of(*ways: Callable[[Stream], None], ddl: str) -> tuple[End, ...]:
    topology = Topology("t")
    rows = topology.stream("rows", small_spout(ddl, []))
    for way in ways:
        way(rows)
    return topology.compile().ends


def updates_of(
    plans: PreparedPlans, spark: SparkSession, end: End, batch: SmallBatch, context: BatchContext | None = None
) -> SmallUpdates:
    (source,) = sources_of(end)
    return SmallUpdates(spark, plans, end, source, batch, context or BatchContext(BATCH_TIME))


def comparable(collected: Collected) -> tuple[list[str], list[str]]:
    assert collected.rows is not None
    return sorted(map(repr, collected.rows.to_pylist())), sorted(map(repr, collected.words))


def found(updates: SmallUpdates) -> tuple[list[str], list[str]]:
    return comparable(read_table(updates.table(), updates.end.schema))


def made_alone(updates: SmallUpdates) -> tuple[list[str], list[str]]:
    return comparable(read_table(updates.frame().toArrow(), updates.end.schema))
