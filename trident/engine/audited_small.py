"""An audit of a small batch in one plan: its records are counted as they are read, and at an end.

Behind each step stands no count there, since each takes a Python worker and keeps the plan from being run again with
other rows. Only what Spark's own columns do lies between the two counts: what was left out goes along as a mark up to
the end. Where the two do not agree, the batch is counted step by step, which says whose fault it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from trident.base.audit import DONE, ID, Accounts, ids_of
from trident.base.control import CONTROL
from trident.base.order import ORDER
from trident.base.ranges import Edge
from trident.engine.audited import AuditError, Step, require_accounts
from trident.engine.auditing import AuditedLowering, end_step, read_of, reading_step, said_of_end
from trident.engine.collecting import Collected, read_table
from trident.engine.lowering import Lowering
from trident.engine.measuring import accounts_of
from trident.engine.prepared import SmallUpdates
from trident.graph.jobs import Trunk
from trident.graph.nodes import Node, OperationNode, PersistNode, SourceNode, Way
from trident.operations.accounting import Account
from trident.operations.base import HIDDEN, BatchContext, control, field
from trident.operations.columns import EachColumns, FilterColumn, MapColumns, Project, Rename
from trident.spouts.base import SmallBatch

_IN_COLUMNS: Final = (EachColumns, FilterColumn, MapColumns, Project, Rename)
"""The steps that pass on a record as the row that it was; a subclass may do otherwise."""


def is_counted_at_end(end: Way) -> bool:
    """Whether nothing but Spark's own columns stands between the one source of an end and what is staged for it."""
    node = end.input
    while isinstance(node, OperationNode) and type(node.operation) in _IN_COLUMNS:
        node = node.input
    return isinstance(node, SourceNode) and (not isinstance(end, PersistNode) or end.aggregate.is_one_grouping)


def with_ids(batch: SmallBatch, *, keeps_order: bool) -> SmallBatch:
    """Return a batch that was read in order with its records' ids, in the place of their order unless it is wanted."""
    rows = batch.rows
    is_record = pc.is_null(batch.words)
    values = np.zeros(rows.num_rows, dtype=np.int64)
    mask = is_record.to_numpy(zero_copy_only=False)
    values[mask] = ids_of(cast(pa.BinaryArray, rows.column(ORDER).filter(is_record))).view(np.int64)
    kept = [each for each in batch.schema.fields if keeps_order or each.name != ORDER]
    columns = [rows.column(each.name) for each in kept]
    names = [*(each.name for each in kept), ID]
    schema = StructType([*kept, StructField(ID, LongType())])
    return SmallBatch(pa.RecordBatch.from_arrays([*columns, pa.array(values, mask=~mask)], names=names), schema)


def lowered_with_marks(source: SourceNode, frame: DataFrame, batch: BatchContext) -> Lowering:
    """See `from_source`; what a filter leaves out stays as a mark, whose values nothing is computed of."""
    return _MarkingLowering({Trunk(source, source): frame}, batch)


class AuditedAtEnd:
    """See `Updates`: an end's, of a small batch whose records have ids; for one action.

    `updates` are lowered by `lowered_with_marks`; `by_steps` begins a lowering that counts behind each step, which is
    what tasks stage, and what says whose fault it is.
    """

    def __init__(self, updates: SmallUpdates, by_steps: Callable[[], AuditedLowering]) -> None:
        self._updates = updates
        self._by_steps = by_steps
        self._lowered: AuditedLowering | None = None
        self._found = Accounts()

    @property
    def audited_as(self) -> str:
        """See `Updates.audited_as`."""
        return end_step(reading_step(self._updates.source.name).name)

    def table(self) -> pa.Table:
        """Run the plan, and take the marks."""
        table = self._updates.table()
        is_record = pc.is_null(table.column(CONTROL))
        is_mark = pc.starts_with(table.column(CONTROL), DONE)
        for counted in (accounts_of(table.filter(is_record)), accounts_of(table.filter(is_mark))):
            # groups say what they are made of, rows what they are
            self._found += Accounts(done=counted.passed + counted.done)
        return table.filter(pc.or_kleene(is_record, pc.invert(is_mark)))

    def frame(self) -> DataFrame:
        """Return the frame that is counted step by step."""
        self._lowered = self._by_steps()
        return self._lowered.of(self._updates.end).frame()

    def vouched(self, collected: Collected, edges: Mapping[str, Sequence[Edge]]) -> Collected:
        """See `Lowering.vouched`."""
        if self._lowered is not None:
            return self._lowered.vouched(collected, edges)
        try:
            self._require(collected, edges)
        except AuditError:
            self._updates.plans.forget(self._updates.end.name)
            self._require_by_steps(edges)
            raise
        return collected

    def _require(self, collected: Collected, edges: Mapping[str, Sequence[Edge]]) -> None:
        reading = reading_step(self._updates.source.name)
        end = Step(self.audited_as, f"a step up to {said_of_end(self._updates.end)}", (reading.name,), Account.GATHERS)
        manifests, bad = read_of(collected, {edge.id for edge in edges.get(self._updates.source.name, ())})
        read = accounts_of(self._updates.batch.rows.filter(pc.is_null(self._updates.batch.words))).passed
        counted = {reading.name: Accounts(read, bad), end.name: self._found}
        require_accounts((reading, end), counted, {reading.name: manifests})

    def _require_by_steps(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        lowering = self._by_steps()
        end = self._updates.end
        lowering.vouched(read_table(lowering.of(end).table(), end.schema), edges)


class _MarkingLowering(Lowering):
    def _lower(self, node: Node) -> DataFrame:
        made = super()._lower(node)
        is_filter = isinstance(node, OperationNode) and isinstance(node.operation, FilterColumn)
        return _without_values(made) if is_filter else made


def _without_values(frame: DataFrame) -> DataFrame:
    """Return the frame with nothing in the fields of rows that are marks: else an aggregate would compute them."""
    fields = [F.when(control().isNull(), field(name)).alias(name) for name in frame.columns if name not in HIDDEN]
    return frame.select(*fields, *(field(name) for name in frame.columns if name in HIDDEN))
