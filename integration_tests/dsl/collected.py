"""What comes out of a stream, record by record, for tests of what streams compute."""

from __future__ import annotations

from integration_tests.dsl.fakes import run
from tests.dsl.sinks import UnopenedSink
from trident.base.order import ORDER
from trident.coordinators.batches.processor import ProcessResult
from trident.graph.nodes import SinkNode
from trident.language.stream import Stream
from trident.operations.base import nullable
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


def rows_of(stream: Stream, *, ordered: bool = True) -> list[Row]:
    """Run all records of the stream's topology as one batch, and return what comes out."""
    add_sink(stream, ordered=ordered)
    spark = stream._sample.sparkSession
    return sent_rows(run(stream._topology.compile(), spark))
