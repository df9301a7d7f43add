"""Makes what waits for a batch's turn: its frames come of Arrow tables that the driver has, and no source is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from trident.base.control import CONTROL
from trident.base.errors import RefusedError, RetryableError
from trident.base.identity import BatchId
from trident.coordinators.batches.processor import StagingRefusedError, TurnRequest
from trident.engine.collecting import read_table
from trident.engine.lowering import Lowering
from trident.graph.nodes import End, NewValuesNode, Node, PersistNode, QueryNode, RecordOperationNode
from trident.graph.turns import Stages
from trident.operations.base import HIDDEN, BatchContext, field
from trident.operations.several import aliased
from trident.state.capabilities import Queryable
from trident.state.new_values import new_values, new_values_schema
from trident.state.staged import HeldUpdates
from trident.state.target import Target

_STATE = "state."


@dataclass(frozen=True)
class Turn:
    """One attempt's work in its turn; for one thread."""

    spark: SparkSession
    stages: Stages
    stores: Mapping[str, Target]
    request: TurnRequest
    on_spark: Callable[[str, Callable[[], pa.Table]], pa.Table]
    """Runs an action, tagged and watched; given the end's name."""

    def run(self) -> dict[str, HeldUpdates]:
        """Return the updates of each end, a state's before those of what is made of its new values."""
        request = self.request
        staged, made = dict(request.staged), dict[str, HeldUpdates]()
        context = BatchContext(request.batch_time, request.batch.txid)
        lowering = TurnLowering(self, staged, context)
        for end in self.stages.turn:
            lowered = lowering.within(replace(context, is_diverted=end.name in request.diverts))
            table = self.on_spark(end.name, partial(_table_of, lowered, end))
            rows = read_table(table, end.schema).rows
            assert rows is not None
            made[end.name] = HeldUpdates(rows)
            if end.name not in request.diverts:
                staged[end.name] = rows
        return made

    def stored(self, persist: PersistNode, keys: pa.Table) -> pa.Table:
        """Return the values of keys as the txid before has left them."""
        batch = self.request.batch
        found = _querying(self.stores[persist.name]).find(batch.owner.topology, keys)
        if found.position.txid != batch.txid - 1:
            # whoever was replaced finds that out from the ledger, with the attempt that it drops now
            raise RetryableError(
                f"state {persist.name!r} stands at txid {found.position.txid} where {batch} is about to be committed, "
                f"not at {batch.txid - 1}; nothing of the batch was applied"
            )
        return found.rows


class TurnLowering(Lowering):
    """Frames of one attempt in its turn; those of new values and queries are made when they are first asked for."""

    def __init__(self, turn: Turn, staged: Mapping[str, pa.Table], batch: BatchContext) -> None:
        super().__init__({}, batch)
        self._turn = turn
        self._staged = staged
        for node in turn.stages.carried:
            self._frames[node.input] = self._frame_of(turn.request.carried[node.name])

    def within(self, batch: BatchContext) -> TurnLowering:
        """Return the same for an end of which the batch is something else; what was made before is shared."""
        other: TurnLowering = object.__new__(TurnLowering)
        other.__dict__.update(self.__dict__)
        other._batch = batch
        return other

    def _words_of(self, node: RecordOperationNode) -> list[DataFrame]:
        return []  # what was read was accounted for when it was processed

    def _lower(self, node: Node) -> DataFrame:
        match node:
            case NewValuesNode():
                return self._new_values(node)
            case QueryNode():
                return self._asked(node)
            case _:
                return super()._lower(node)

    def _new_values(self, node: NewValuesNode) -> DataFrame:
        persist, layout = node.persist, node.persist.layout
        staged = self._staged.get(persist.name)
        if staged is None or not staged.num_rows:
            table = new_values_schema(layout).empty_table()
        else:
            stored = self._turn.stored(persist, staged.select([key.name for key in layout.keys]))
            try:
                table = new_values(layout, stored, staged)
            except RefusedError as error:
                raise StagingRefusedError(persist.name, str(error)) from error
        shown = [column("").alias(name) for name, column in node.shown.items()]
        return self._frame_of(table).select(*(field(key.name) for key in layout.keys), *shown, field(CONTROL))

    def _asked(self, node: QueryNode) -> DataFrame:
        # once: the keys that are asked for and the rows that the answers go to must be those of one run
        rows = self.frame(node.input).toArrow()
        layout = node.persist.layout
        keys = [rows.column(name) for name in node.asked.keys]
        asked = pa.table(keys, names=[key.name for key in layout.keys]) if keys else pa.table({})
        found = self._turn.stored(node.persist, asked) if rows.num_rows else layout.schema().empty_table()
        frame = self._turn.spark.createDataFrame(rows)
        answers = aliased(self._turn.spark.createDataFrame(found), _STATE)
        joined = frame.join(F.broadcast(answers), self._belongs(node), "left")
        own = [field(name) for name in rows.column_names if name not in HIDDEN]
        hidden = [field(name) for name in rows.column_names if name in HIDDEN]
        shown = [column(_STATE).alias(name) for name, column in node.asked.shown.items()]
        return joined.select(*own, *shown, *hidden)

    @staticmethod
    def _belongs(node: QueryNode) -> Column:
        pairs = zip(node.asked.keys, node.persist.layout.keys, strict=True)
        equal = [field(name).eqNullSafe(field(_STATE + key.name)) for name, key in pairs]
        return reduce(Column.__and__, equal, F.lit(True))

    def _frame_of(self, table: pa.Table) -> DataFrame:
        frame = self._turn.spark.createDataFrame(table)
        return frame.withColumn(CONTROL, F.lit(None).cast("string"))


def _table_of(lowering: Lowering, end: End) -> pa.Table:
    return lowering.updates(end, for_driver=True).toArrow()


def _querying(target: Target) -> Queryable:
    querying = target.capabilities.querying
    assert querying is not None, "checked when the run began"
    return querying


def tag_of(batch: BatchId) -> str:
    """Return the tag of an attempt's jobs: attempts are never reused within an incarnation, and a tag has no commas."""
    return f"trident-{batch.owner.incarnation}-{batch.attempt}".replace(",", "_")
