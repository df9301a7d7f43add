"""What a job's one Arrow table says: staged updates, and the words of its tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.control import CONTROL, ControlRow, decode
from trident.base.errors import FatalError, RetryableError
from trident.base.ranges import BadRecordRow, Edge, RangeManifest
from trident.base.writes import WriteManifest
from trident.coordinators.batches.processor import JobResult
from trident.coordinators.records import DeadLetter
from trident.operations.aggregate import COPIES, REPEATED
from trident.state.layout import StateLayout
from trident.state.staged import HeldUpdates, WrittenUpdates

_READ_TWICE = "a task's word came more than once, so a range was read twice; nothing was applied"


@dataclass(frozen=True, slots=True)
class Collected:
    """A job's table, split."""

    words: tuple[ControlRow, ...]
    rows: pa.Table | None
    """The staged updates in the layout's schema; None when tasks staged them."""


def read_table(table: pa.Table, layout: StateLayout | None) -> Collected:
    """Split a job's table; without a layout it holds words only.

    Raises `RetryableError` when a word came more than once: then a range was read twice.
    """
    column = table.column(CONTROL)
    if COPIES in table.column_names:
        _refuse_copies(table)
    words = tuple(_decoded(str(text)) for text in column.drop_null().to_pylist())
    if layout is None:
        return Collected(words, None)
    schema = layout.schema()
    rows = table.select(schema.names) if not words else table.filter(pc.is_null(column)).select(schema.names)
    return Collected(words, rows.cast(schema).combine_chunks())


def result_of(state: str, collected: Collected, edges: Mapping[str, tuple[Edge, ...]]) -> JobResult:
    """Return the job's result for the coordinator."""
    spout_of = {edge.id: spout for spout, items in edges.items() for edge in items}
    by_partition = {edge.range.id: spout for spout, items in edges.items() for edge in items}
    manifests: list[tuple[str, RangeManifest]] = []
    bad: list[DeadLetter] = []
    writes: list[WriteManifest] = []
    for word in collected.words:
        match word:
            case RangeManifest():
                spout = _only(edges) if word.id is None else spout_of.get(word.edge)
                manifests.append((_known(spout, state), word))
            case BadRecordRow():
                bad.append(DeadLetter(_known(by_partition.get(word.id), state), word))
            case WriteManifest():
                writes.append(word)
    updates = WrittenUpdates(tuple(writes)) if collected.rows is None else HeldUpdates(collected.rows)
    return JobResult(state, tuple(manifests), tuple(bad), updates)


def empty_result(state: str, layout: StateLayout) -> JobResult:
    """Return the result of a job that had nothing to read."""
    return JobResult(state, (), (), HeldUpdates(layout.schema().empty_table()))


def _refuse_copies(table: pa.Table) -> None:
    words = table.filter(pc.is_valid(table.column(CONTROL)))
    if any(copies != 1 for copies in words.column(COPIES).to_pylist()):
        raise RetryableError(_READ_TWICE)


def _only(spouts: Collection[str]) -> str | None:
    """Return the one spout that a job reads: a word that can't name its range is about that one."""
    return next(iter(spouts)) if len(spouts) == 1 else None


def _known(spout: str | None, state: str) -> str:
    if spout is None:
        raise RetryableError(f"the job of the state {state!r} returned a range that it was not given; nothing applied")
    return spout


def _decoded(text: str) -> ControlRow:
    if text.startswith(REPEATED):
        raise RetryableError(_READ_TWICE)
    try:
        return decode(text)
    except ValueError as error:
        raise FatalError(
            "a task returned a word that can't be read; nothing was applied. Are all executors on one version?"
        ) from error
