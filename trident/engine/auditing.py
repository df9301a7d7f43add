"""A topology that is audited, lowered: behind each step stands one that counts what came out of it.

A node that several others follow is lowered once for each of them, down to what Spark keeps: so each count is of what
one step was given. Control rows go round joins and other operations on several streams; what was counted on the way
to one is of the very rows that it is given, since Spark keeps those too while the audit is on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField

from trident.base.audit import ID, Accounts, AuditWord
from trident.base.control import CONTROL, BadRecordWord, Undecoded, audited_by
from trident.base.digest import Digest
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.ranges import Edge, RangeManifest
from trident.engine.audited import Step, require_accounts
from trident.engine.collecting import Collected
from trident.engine.lowering import NO_FORKS, Counted, Keep, Lowering, records_of, rooted, steps_of, with_words
from trident.engine.measuring import Measure, accounts_of
from trident.graph.jobs import Trunk
from trident.graph.nodes import (
    CarriedNode,
    Node,
    OperationNode,
    PersistNode,
    RecordOperationNode,
    SinkNode,
    SourceNode,
    Way,
)
from trident.graph.rooted import NO_TREES, Trees
from trident.operations.accounting import SUMS, Account, Accounted, with_new_ids
from trident.operations.base import HIDDEN, BatchContext, control, nullable
from trident.operations.called import called
from trident.operations.uniting import MergeStreams
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.tally import position_digest


class AuditedLowering(Lowering):
    """See `Lowering`; `name` is its own among those of its attempt, `keep` has Spark keep a frame for it."""

    def __init__(
        self,
        name: str,
        tops: Mapping[Trunk, Counted],
        batch: BatchContext,
        keep: Keep = lambda frame: frame,
        trees: Trees = NO_TREES,
        forks: Mapping[Node, Counted] = NO_FORKS,
    ) -> None:
        super().__init__({trunk: top.frame for trunk, top in tops.items()}, batch, trees, name, forks)
        self._keep = keep
        self._name = steps_of(name)
        self._end = end_step(name)
        self._begun: Mapping[Node, Counted] = {**{trunk.top: top for trunk, top in tops.items()}, **forks}
        self._steps: list[Step] = []
        self._last = ""
        self._staged = Accounts()

    def frame(self, node: Node) -> DataFrame:
        """See `Lowering.frame`."""
        found = self.counted(node)
        self._last = found.step
        return found.frame

    def counted(self, node: Node) -> Counted:
        """Return the node's frame, and behind which step it was counted."""
        begun = self._begun.get(node)
        if begun is not None:
            self._steps += [step for step in begun.before if step not in self._steps]
            return begun
        match node:
            case OperationNode():
                return self._behind_operation(node)
            case RecordOperationNode():
                return self._behind_records(node)
            case _:
                raise ConfigurationError("what is not read in this job, or waits for its turn, is not lowered in it")

    def kept(self, node: Node, keep: Keep) -> Counted:
        """Return the node's frame as Spark keeps it, for others to begin with."""
        found = self.counted(node)
        return replace(found, frame=keep(found.frame), before=tuple(self._steps), said_by=self._run)

    def updates(self, end: Way, *, for_driver: bool, is_diverted: bool = False) -> DataFrame:
        """See `Lowering.updates`; beside the rows are their ids, or what their groups say of those of their records."""
        made = super().updates(end, for_driver=for_driver, is_diverted=is_diverted)
        account = Account.GATHERS if isinstance(end, PersistNode) else Account.KEEPS
        self._steps.append(Step(self._end, said_of_end(end), (self._last,), account))
        return made

    def of(self, end: Way) -> AuditedUpdates:
        """See `Lowering.of`."""
        return AuditedUpdates(self, end, self._end)

    def staged(self, table: pa.Table) -> None:
        """Count what the driver was given to stage."""
        records = table.filter(pc.is_null(table.column(CONTROL)))
        self._staged = accounts_of(records)

    def vouched(self, collected: Collected, edges: Mapping[str, Sequence[Edge]]) -> Collected:
        """Raise `AuditError` unless each step has accounted for the records that it was given."""
        if any(isinstance(word, Undecoded) for word in collected.words):
            return collected  # nothing of it is used
        counted: dict[str, Accounts] = {self._end: self._staged} if self._staged != Accounts() else {}
        for word in collected.words:
            if isinstance(word, AuditWord):
                counted[word.step] = counted.get(word.step, Accounts()) + word.accounts
        read: dict[str, Digest] = {}
        for stream, given in edges.items():
            name = reading_step(stream).name
            manifests, bad = read_of(collected, {edge.id for edge in given})
            read[name] = manifests
            if bad.count:
                counted[name] = counted.get(name, Accounts()) + Accounts(done=bad)
        require_accounts(self._steps, counted, read)
        return collected

    def _behind_operation(self, node: OperationNode) -> Counted:
        before, operation = self.counted(node.input), node.operation
        account = account_of(operation)
        given = self._with_roots_if_wanted(before.frame, node)
        given = given if account is not None else given.drop(ID)
        made = operation.lower(given, self._context(node))
        made = made if account is not None else with_new_ids(made)
        return self._behind(made, called(operation), account, (before.step,))

    def _behind_records(self, node: RecordOperationNode) -> Counted:
        inputs = [self._input(each, node) for each in node.inputs]
        account, batch = account_of(node.operation), self._context(node)
        mine = control().startswith(audited_by(self._name))
        words = self._words_of(node)
        if isinstance(node.operation, MergeStreams):
            frames = [each.frame.filter(control().isNull() | mine) for each in inputs]
            made = node.operation.lower(frames, batch)
        else:
            records = [records_of(each.frame) for each in inputs]
            given = records if account is not None else [each.drop(ID) for each in records]
            made = node.operation.lower(given, batch)
            made = made if account is not None else with_new_ids(made)
            made = made.withColumn(CONTROL, F.lit(None).cast("string"))
            words += [each.frame.filter(mine).select(control()) for each in inputs]
        return self._behind(
            with_words(made, words), called(node.operation), account, tuple(each.step for each in inputs)
        )

    def _input(self, node: Node, follower: RecordOperationNode) -> Counted:
        """Return an input, kept where its records and the words about them go different ways from here."""
        found = self.counted(node)
        given = replace(found, frame=self._with_roots_if_wanted(found.frame, follower))
        if node in self._begun or isinstance(follower.operation, MergeStreams):
            return given
        return replace(given, frame=self._keep(given.frame))

    def _behind(self, frame: DataFrame, says: str, account: Account | None, inputs: tuple[str, ...]) -> Counted:
        step = Step(f"{self._name}{len(self._steps)}", f"the operation {says}", inputs, account)
        self._steps.append(step)
        return Counted(measured(frame, step.name), step.name)


@dataclass(frozen=True, slots=True)
class AuditedUpdates:
    """See `Updates`: an end's, of frames that are audited."""

    lowering: AuditedLowering
    end: Way
    audited_as: str

    def table(self) -> pa.Table:
        """Run the frame, and count what it makes."""
        table = self.lowering.updates(self.end, for_driver=True).toArrow()
        self.lowering.staged(table)
        return table

    def frame(self) -> DataFrame:
        """Return the frame."""
        return self.lowering.updates(self.end, for_driver=False)


def audited_from_source(
    source: SourceNode, frame: DataFrame, batch: BatchContext, trees: Trees = NO_TREES, *, keeps_order: bool
) -> AuditedLowering:
    """Return a lowering of all that hangs on a source, given its frame as it is read in order.

    Its records have ids, in the place of their order unless somebody wants that too.
    """
    step = reading_step(source.name)
    counted = measured(rooted(source, frame, trees), step.name, is_source=True, keeps_order=keeps_order)
    return AuditedLowering(step.name, {Trunk(source, source): Counted(counted, step.name, (step,))}, batch, trees=trees)


def said_of_end(end: Way) -> str:
    """Return what the end's step is called."""
    match end:
        case PersistNode():
            return f"what is staged for the state {end.name!r}"
        case CarriedNode():
            return "what is kept for the commit turn"
        case SinkNode():
            return f"what is staged for the sink {end.name!r}"


def reading_step(stream: str) -> Step:
    """Return the step that reads a stream."""
    return Step(f"stream {stream}", f"the reading of the stream {stream!r}", (), Account.SELECTS)


def end_step(name: str) -> str:
    """Return the name of the last step of a lowering of this name."""
    return f"{steps_of(name)}end"


def account_of(operation: object) -> Account | None:
    """Return the rule that an operation keeps, None for one that names none."""
    return operation.account if isinstance(operation, Accounted) else None


def measured(frame: DataFrame, step: str, *, is_source: bool = False, keeps_order: bool = True) -> DataFrame:
    """Return the frame with its records counted as those behind a step."""
    left_out = SUMS if keeps_order else (*SUMS, ORDER)
    # Spark looks columns up by their bare names there, which may hold dots and backticks
    names = [name if name in (*HIDDEN, *SUMS) else f"field {place}" for place, name in enumerate(frame.columns)]
    fields = [
        (given.name, StructField(name, given.dataType))
        for given, name in zip(frame.schema.fields, names, strict=True)
        if given.name not in left_out
    ]
    fields += [(ID, StructField(ID, LongType()))] if is_source else []
    schema = nullable([each for _, each in fields])
    counted = frame.toDF(*names).mapInArrow(Measure(step, arrow_schema(schema), is_source), schema)
    return counted.toDF(*(name for name, _ in fields))


def read_of(collected: Collected, edges: set[int]) -> tuple[Digest, Digest]:
    """Return the positions that were read under some edges, and those of them that hold bad records."""
    read = bad = Digest()
    for word in collected.words:
        match word:
            case RangeManifest() if word.edge in edges:
                read += word.digest
            case BadRecordWord() if word.edge in edges:
                id_ = word.record.id
                bad += position_digest(id_.topic, id_.partition, np.array([word.record.offset], dtype=np.int64))
    return read, bad
