"""A graph's nodes as Spark frames of one attempt, control rows among the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trident.base.control import CONTROL, audited_by, said_of_trees_by
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.ranges import Edge
from trident.base.trees import ROOTS
from trident.engine.audited import Step
from trident.engine.collecting import Collected
from trident.engine.updates import Updates
from trident.graph.jobs import Trunk
from trident.graph.nodes import (
    NewValuesNode,
    Node,
    OperationNode,
    PersistNode,
    QueryNode,
    RecordOperationNode,
    SourceNode,
    Way,
    sources_of,
    walk,
)
from trident.graph.rooted import NO_TREES, Trees, looks_after_acks
from trident.operations.base import BatchContext, control
from trident.operations.roots import with_roots

Keep = Callable[[DataFrame], DataFrame]
"""Has Spark keep a frame, and returns it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A frame that others begin with; of an audit, the step behind which its records were counted."""

    frame: DataFrame
    step: str = ""
    before: tuple[Step, ...] = ()
    """That step and all that led to it, where another action may use them."""
    said_by: str = ""
    """Of a fork, the run whose words are in it alone; empty where that said nothing."""


NO_FORKS: Final[Mapping[Node, Counted]] = MappingProxyType({})


class Lowering:
    """Frames of one attempt, each node's made once; for one thread.

    `tops` are the frames at the tops of trunks, with their sources' control rows; `forks` those that are kept behind
    them.
    """

    def __init__(
        self,
        tops: Mapping[Trunk, DataFrame],
        batch: BatchContext,
        trees: Trees = NO_TREES,
        run: str = "",
        forks: Mapping[Node, Counted] = NO_FORKS,
    ) -> None:
        """`run` is its own among those of its attempt."""
        self._batch = batch
        self._trees = trees
        self._run = run
        self._places = 0
        self._forks = forks
        self._frames: dict[Node, DataFrame] = {trunk.top: frame for trunk, frame in tops.items()}
        self._frames |= {node: fork.frame for node, fork in forks.items()}
        self._tops = {trunk.source: frame for trunk, frame in tops.items()}

    def frame(self, node: Node) -> DataFrame:
        """Return the node's records and the control rows of all its sources, each once."""
        found = self._frames.get(node)
        if found is None:
            found = self._frames[node] = self._lower(node)
        return found

    def kept(self, node: Node, keep: Keep) -> Counted:
        """Return the node's frame as Spark keeps it, for others to begin with."""
        frame = keep(self.frame(node))
        return Counted(frame, said_by=self._run if self._places else "")

    def updates(self, end: Way, *, for_driver: bool, is_diverted: bool = False) -> DataFrame:
        """Return the end's staged updates and the control rows; `for_driver` says that `read_table` reads it.

        `is_diverted` says it of this end alone, where the frames of others are made by the same lowering.
        """
        before = self._given(end.input, end)
        if not isinstance(end, PersistNode):
            lacks = ORDER in end.schema.names and ORDER not in before.columns
            return before.withColumn(ORDER, F.lit(None).cast("binary")) if lacks else before
        aggregate = end.aggregate
        batch = replace(self._batch, is_diverted=is_diverted or self._batch.is_diverted, needs=end.needs)
        return aggregate.lower_last(before, batch) if for_driver else aggregate.lower(before, batch)

    def of(self, end: Way) -> Updates:
        """Return the end's updates as `Ends` takes them."""
        return LoweredUpdates(self, end)

    def vouched(self, collected: Collected, edges: Mapping[str, Sequence[Edge]]) -> Collected:
        """Return what an action on its frames has returned; raises `RetryableError` where it does not vouch for it."""
        return collected

    def _given(self, node: Node, follower: Node | Way) -> DataFrame:
        """Return a node's frame as a follower is given it: with roots only where somebody asks for them further on."""
        return self._with_roots_if_wanted(self.frame(node), follower)

    def _with_roots_if_wanted(self, frame: DataFrame, follower: Node | Way) -> DataFrame:
        is_wanted = follower in self._trees.rooted or looks_after_acks(follower)
        return frame if is_wanted or not self._trees.rooted else frame.drop(ROOTS)

    def _context(self, node: OperationNode | RecordOperationNode) -> BatchContext:
        if not (self._trees.is_asked and looks_after_acks(node)):
            return replace(self._batch, needs=node.needs)
        self._places += 1
        return replace(self._batch, needs=node.needs, place=f"{self._run} {self._places}")

    def _words_of(self, node: RecordOperationNode) -> list[DataFrame]:
        """Return what was said on the way to an operation's inputs, each once: of sources, and on the way to forks."""
        before = set(walk(node))
        of_forks = [fork for each, fork in self._forks.items() if fork.said_by and each in before]
        of_sources = [self._tops[source].select(control()) for source in sources_of(node)]
        return [*of_sources, *(words_said_by(fork.said_by, fork.frame) for fork in of_forks)]

    def _lower(self, node: Node) -> DataFrame:
        match node:
            case OperationNode():
                return node.operation.lower(self._given(node.input, node), self._context(node))
            case RecordOperationNode():
                given = [self._given(each, node) for each in node.inputs]
                inputs = [records_of(frame) for frame in given]
                made = node.operation.lower(inputs, self._context(node)).withColumn(CONTROL, F.lit(None).cast("string"))
                return with_words(made, self._words_of(node))
            case SourceNode():
                raise ConfigurationError(f"the stream {node.name!r} is not read in this job")
            case QueryNode() | NewValuesNode():
                raise AssertionError("what waits for the commit turn is not processed before it")


@dataclass(frozen=True, slots=True)
class LoweredUpdates:
    """See `Updates`: an end's, of frames that are lowered for one attempt."""

    lowering: Lowering
    end: Way

    @property
    def audited_as(self) -> str | None:
        """They are not."""
        return None

    def table(self) -> pa.Table:
        """Run the frame."""
        return self.lowering.updates(self.end, for_driver=True).toArrow()

    def frame(self) -> DataFrame:
        """Return the frame."""
        return self.lowering.updates(self.end, for_driver=False)


def from_source(
    source: SourceNode,
    frame: DataFrame,
    batch: BatchContext,
    trees: Trees = NO_TREES,
    run: str = "",
    *,
    keeps_order: bool = True,
) -> Lowering:
    """Return a lowering of all that hangs on one source, given its frame as it is read."""
    given = rooted(source, frame, trees, keeps_order=keeps_order)
    return Lowering({Trunk(source, source): given}, batch, trees, run)


def from_sources(frames: Mapping[SourceNode, DataFrame], batch: BatchContext) -> Lowering:
    """Return a lowering of all that hangs on some sources, as if nothing of it were shared."""
    return Lowering({Trunk(source, source): frame for source, frame in frames.items()}, batch)


def rooted(source: SourceNode, frame: DataFrame, trees: Trees, *, keeps_order: bool = True) -> DataFrame:
    """Return a source's frame as it is read, in order, with roots where its rows are to have some."""
    if source not in trees.rooted:
        return frame
    given = with_roots(frame, trees.streams[source.name])
    return given if keeps_order else given.drop(ORDER)


def words_of(frame: DataFrame) -> DataFrame:
    """Return the control rows alone, as one column."""
    return frame.filter(control().isNotNull()).select(control())


def words_said_by(run: str, frame: DataFrame) -> DataFrame:
    """Return what a run's operations have said of messages on the way to a frame, and what an audit has counted."""
    said = control().startswith(said_of_trees_by(run)) | control().startswith(audited_by(steps_of(run)))
    return frame.filter(said).select(control())


def steps_of(run: str) -> str:
    """Return how the names of a run's steps begin."""
    return f"{run}#"


def records_of(frame: DataFrame) -> DataFrame:
    """Return the records alone, without the control column."""
    return frame.filter(control().isNull()).drop(CONTROL)


def with_words(together: DataFrame, words: Sequence[DataFrame]) -> DataFrame:
    """Return the frame, and with it the control rows of others."""
    for frame in words:
        together = together.unionByName(frame.filter(control().isNotNull()), allowMissingColumns=True)
    return together
