"""What actions return as Arrow tables: staged updates, and the words of their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.control import CONTROL, BadRecordWord, ControlRow, decode
from trident.base.errors import FatalError, RetryableError
from trident.base.ranges import Edge, RangeManifest
from trident.base.trees import TreeWord
from trident.base.writes import WriteManifest
from trident.coordinators.batches.processor import ProcessResult
from trident.coordinators.pinned import DeadLetter
from trident.graph.nodes import Way, sources_of
from trident.operations.aggregate import COPIES, REPEATED
from trident.state.staged import HeldUpdates, WrittenUpdates

_READ_TWICE = "a task's word came more than once, so a range was read twice; nothing was applied"


@dataclass(frozen=True, slots=True)
class Collected:
    """An action's table, split."""

    words: tuple[ControlRow, ...]
    rows: pa.Table | None
    """The staged updates in the end's schema; None when tasks staged them."""

    @property
    def updates(self) -> HeldUpdates | WrittenUpdates:
        """The updates as the coordinator gets them."""
        if self.rows is not None:
            return HeldUpdates(self.rows)
        return WrittenUpdates(tuple(word for word in self.words if isinstance(word, WriteManifest)))

    @property
    def read(self) -> tuple[RangeManifest | BadRecordWord, ...]:
        """What was said of ranges and records."""
        return tuple(word for word in self.words if isinstance(word, RangeManifest | BadRecordWord))


def read_table(table: pa.Table, schema: pa.Schema | None) -> Collected:
    """Split an action's table; without a schema it holds words only.

    Raises `RetryableError` when a word came more than once: then a range was read twice.
    """
    column = table.column(CONTROL)
    if COPIES in table.column_names:
        _refuse_copies(table)
    words = words_in(column)
    if schema is None:
        return Collected(words, None)
    rows = table.select(schema.names) if not words else table.filter(pc.is_null(column)).select(schema.names)
    return Collected(words, rows.cast(schema).combine_chunks())


def words_in(column: pa.StringArray | pa.ChunkedArray[pa.StringScalar]) -> tuple[ControlRow, ...]:
    """Return the words of a control column; raises `RetryableError` when one is there more than once."""
    texts = [str(text) for text in column.drop_null().to_pylist()]
    if len(set(texts)) < len(texts):
        raise RetryableError(_READ_TWICE)
    return tuple(map(_decoded, texts))


@dataclass(frozen=True, slots=True)
class Readings:
    """What was said of each source that one job read; `edges` are what it was given, by spout."""

    edges: Mapping[str, tuple[Edge, ...]]
    _found: dict[str, tuple[RangeManifest | BadRecordWord, ...]] = field(default_factory=dict)

    def add(self, spout: str, words: Iterable[ControlRow]) -> None:
        """Take what was said while a source was read; raises `RetryableError` for a range that nobody gave."""
        given = {edge.id for edge in self.edges.get(spout, ())}
        read = tuple(word for word in words if isinstance(word, RangeManifest | BadRecordWord))
        for word in read:
            named = isinstance(word, BadRecordWord) or word.id is not None
            if named and word.edge not in given:
                raise RetryableError(
                    f"a task of the stream {spout!r} returned a range that it was not given; nothing was applied"
                )
        self._found[spout] = read

    def require_agreement(self, end: Way, collected: Collected) -> None:
        """Raise `RetryableError` unless an action on kept records saw all of its sources as they were read at first.

        Kept records that were lost with their executor are read again, under the same edges.
        """
        expected = Counter(word for source in sources_of(end) for word in self._found[source.name])
        if Counter(collected.read) != expected:
            raise RetryableError(
                f"two reads of one attempt found different records, the second one for {end.name!r}; "
                "nothing was applied"
            )

    def result(self, collected: Mapping[str, Collected]) -> ProcessResult:
        """Return the job's result for the coordinator; `collected` is by target."""
        manifests: list[tuple[str, RangeManifest]] = []
        bad: list[DeadLetter] = []
        for spout, words in self._found.items():
            for word in words:
                match word:
                    case RangeManifest():
                        manifests.append((spout, word))
                    case BadRecordWord():
                        bad.append(DeadLetter(spout, word.record))
        updates = {target: item.updates for target, item in collected.items()}
        said = (word for item in collected.values() for word in item.words if isinstance(word, TreeWord))
        # what ends share, each of them returns
        return ProcessResult(tuple(manifests), tuple(bad), updates, trees=tuple(dict.fromkeys(said)))


def empty_result(ends: Sequence[Way]) -> ProcessResult:
    """Return the result of a job that had nothing to read."""
    return ProcessResult((), (), {end.name: HeldUpdates(end.schema.empty_table()) for end in ends})


def joined(results: Iterable[ProcessResult]) -> ProcessResult:
    """Return the results of jobs, which share no spout and no target, as one."""
    found = tuple(results)
    return ProcessResult(
        tuple(pair for result in found for pair in result.manifests),
        tuple(letter for result in found for letter in result.bad_records),
        {target: updates for result in found for target, updates in result.updates.items()},
        trees=tuple(word for result in found for word in result.trees),
    )


def carrying(result: ProcessResult, names: Sequence[str]) -> ProcessResult:
    """Return the result with what is carried to the turn apart from what goes to targets."""
    if not names:
        return result
    updates = dict(result.updates)
    carried: dict[str, pa.Table] = {}
    for name in names:
        held = updates.pop(name)
        assert isinstance(held, HeldUpdates), "tasks stage nothing that is carried"
        carried[name] = held.rows
    return replace(result, updates=updates, carried=carried)


def _refuse_copies(table: pa.Table) -> None:
    words = table.filter(pc.is_valid(table.column(CONTROL)))
    if any(copies != 1 for copies in words.column(COPIES).to_pylist()):
        raise RetryableError(_READ_TWICE)


def _decoded(text: str) -> ControlRow:
    if text.startswith(REPEATED):
        raise RetryableError(_READ_TWICE)
    try:
        return decode(text)
    except ValueError as error:
        raise FatalError(
            "a task returned a word that can't be read; nothing was applied. Are all executors on one version?"
        ) from error
