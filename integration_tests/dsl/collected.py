"""What comes out of a stream, record by record, for tests of what streams compute."""

from __future__ import annotations

from pyspark.sql import DataFrame

from integration_tests.dsl.fakes import run
from tests.dsl.sinks import UnopenedSink
from trident.base.order import ORDER
from trident.coordinators.batches.processor import ProcessResult
from trident.graph.nodes import SinkNode
from trident.language.stream import Stream
from trident.operations.base import BatchContext, Fields, guarded, nullable
from trident.operations.partitioning import source_partition
from trident.spouts.arrow_types import arrow_schema
from trident.state.staged import HeldUpdates

Row = tuple[object, ...]


def add_sink(stream: Stream, name: str = "out", *, ordered: bool = True) -> None:
    """Let the stream end in a sink that is never opened, and that asks for the order of its records."""
    schema = arrow_schema(nullable(stream.schema.fields))
    if ordered:
        import pyarrow as pa

        schema = schema.append(pa.field(ORDER, pa.binary()))
    stream._topology._add_end(SinkNode(UnopenedSink(name, schema), stream._node))


def sent_rows(result: ProcessResult, name: str = "out") -> list[Row]:
    """Return the rows in the order that every attempt gives them; those without one in that of their values."""
    updates = result.updates[name]
    assert isinstance(updates, HeldUpdates)
    rows = [(row.pop(ORDER, None) or b"", tuple(row.values())) for row in updates.rows.to_pylist()]
    return [row for _, row in sorted(rows, key=lambda each: (each[0], repr(each[1])))]


class ShowPartition:
    """Adds a field with the number of each record's logical partition, as `source_partition` says it."""

    verb = "show_partition"
    makes_groups = False
    runs_user_code = False

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        return frame.withColumn("at", guarded(source_partition(frame, self._partitions)))


def placed(stream: Stream, field: str = "n") -> dict[int, list[object]]:
    """Return a field's values by the number of the logical partition that each record is in, in order."""
    shown = stream._then(ShowPartition(stream._topology.partitions)).project("at", field)
    found: dict[int, list[object]] = {}
    for at, value in rows_of(shown):
        assert isinstance(at, int)
        found.setdefault(at, []).append(value)
    return found


def rows_of(stream: Stream, *, ordered: bool = True) -> list[Row]:
    """Run all records of the stream's topology as one batch, and return what comes out."""
    add_sink(stream, ordered=ordered)
    spark = stream._sample.sparkSession
    return sent_rows(run(stream._topology.compile(), spark))
