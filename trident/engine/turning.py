"""Makes what waits for a batch's turn: its frames come of Arrow tables that the driver has, and no source is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from trident.base.control import CONTROL
from trident.base.errors import RefusedError, RetryableError
from trident.base.identity import BatchId
from trident.base.trees import TreeWord
from trident.coordinators.batches.processor import StagingRefusedError, TurnRequest, UnprocessableError
from trident.engine.collecting import read_table
from trident.engine.keeping import storage
from trident.engine.lowering import Keep, Lowering, words_of
from trident.engine.messages import tell_of_misuse
from trident.graph.nodes import IS_STORED, End, KeptState, NewValuesNode, Node, QueryNode, RecordOperationNode
from trident.graph.rooted import Trees
from trident.graph.turns import Stages
from trident.operations.aggregators.nested import with_values
from trident.operations.base import HIDDEN, BatchContext, field
from trident.operations.several import aliased
from trident.state.capabilities import Queryable
from trident.state.new_values import BEFORE, new_values, new_values_schema
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
    is_asked: bool = False
    """See `Trees.is_asked`: here nothing is of a message, which whoever fails it is told."""
    forks: Collection[Node] = ()
    """See `Stages.forks`."""

    def run(self) -> dict[str, HeldUpdates]:
        """Return the updates of each end, a state's before those of what is made of its new values."""
        request = self.request
        with storage(f"{request.batch}, in its commit turn") as keep:
            staged = dict(request.staged)
            lowering = TurnLowering(self, staged, BatchContext(request.batch_time, request.batch.txid), keep)
            return self._made(lowering, staged)

    def _made(self, lowering: TurnLowering, staged: dict[str, pa.Table]) -> dict[str, HeldUpdates]:
        request, made, said = self.request, dict[str, HeldUpdates](), dict[TreeWord, None]()
        for end in self.stages.turn:
            is_diverted = end.name in request.diverts
            table = self.on_spark(end.name, partial(_table_of, lowering, end, is_diverted=is_diverted))
            found = read_table(table, end.schema)
            assert found.rows is not None
            said |= dict.fromkeys(word for word in found.words if isinstance(word, TreeWord))
            made[end.name] = HeldUpdates(found.rows)
            if not is_diverted:
                staged[end.name] = found.rows
        tell_of_misuse(list(said))  # what several ends share, each of them returns
        return made

    def stored(self, kept: KeptState, keys: pa.Table) -> pa.Table:
        """Return the values of keys as the txid before has left them."""
        batch, target = self.request.batch, self.stores[kept.name]
        expiring = target.capabilities.expiring
        if expiring is None:
            found = _querying(target).find(batch.owner.topology, keys)
        else:
            found = expiring.find_at(batch.owner.topology, keys, self.request.batch_time)
        if found.position.txid != batch.txid - 1:
            # whoever was replaced finds that out from the ledger, with the attempt that it drops now
            raise RetryableError(
                f"state {kept.name!r} stands at txid {found.position.txid} where {batch} is about to be committed, "
                f"not at {batch.txid - 1}; nothing of the batch was applied"
            )
        return found.rows


class TurnLowering(Lowering):
    """Frames of one attempt in its turn; those of new values and queries are made when they are first asked for."""

    def __init__(self, turn: Turn, staged: Mapping[str, pa.Table], batch: BatchContext, keep: Keep) -> None:
        super().__init__({}, batch, Trees(is_asked=turn.is_asked))
        self._turn = turn
        self._staged = staged
        self._keep = keep
        self._made_once = turn.forks
        for node in turn.stages.carried:
            self._frames[node.input] = self._frame_of(turn.request.carried[node.name])

    def frame(self, node: Node) -> DataFrame:
        """See `Lowering.frame`; of rows that several ways lead on from, it is of one run of the user's code.

        So it is of what an updater writes, and what it emits.
        """
        if node in self._made_once and node not in self._frames:
            fork = self._keep(super().frame(node))
            words_of(fork).toArrow()
            self._frames[node] = fork
        return super().frame(node)

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
            try:
                stored = self._turn.stored(persist.kept, staged.select([key.name for key in layout.keys]))
                texts = persist.aggregate.texts
                shown_texts = {**texts, **{BEFORE + name: type_ for name, type_ in texts.items()}}
                table = with_values(new_values(layout, stored, staged), shown_texts)
            except RefusedError as error:
                raise StagingRefusedError(persist.name, str(error)) from error
        shown = [column("").alias(name) for name, column in node.shown.items()]
        return self._frame_of(table).select(*(field(key.name) for key in layout.keys), *shown, field(CONTROL))

    def _asked(self, node: QueryNode) -> DataFrame:
        # once: the keys that are asked for and the rows that the answers go to must be those of one run
        rows = self.frame(node.input).toArrow()
        layout = node.kept.layout
        keys = [rows.column(name) for name in node.asked.keys]
        asked = pa.table(keys, names=[key.name for key in layout.keys]) if keys else pa.table({})
        frame = self._typed(rows)
        stored = self._typed(self._answers(node, asked) if rows.num_rows else layout.schema().empty_table())
        answers = aliased(stored.withColumn(IS_STORED, F.lit(True)), _STATE)
        joined = frame.join(F.broadcast(answers), self._belongs(node), "left")
        own = [field(name) for name in rows.column_names if name not in HIDDEN]
        hidden = [field(name) for name in rows.column_names if name in HIDDEN]
        shown = [column(_STATE).alias(name) for name, column in node.asked.shown.items()]
        return joined.select(*own, *shown, *hidden)

    def _answers(self, node: QueryNode, asked: pa.Table) -> pa.Table:
        kept = node.kept
        try:
            found = self._turn.stored(kept, asked)
        except RefusedError as error:
            raise UnprocessableError(
                f"the state {kept.name!r} can't be asked for the keys of the batch: {error}. Nothing of the batch was "
                "applied, and the same records would fail again: leave those with such a key out (filter)."
            ) from error
        return with_values(found, kept.layout.texts())

    @staticmethod
    def _belongs(node: QueryNode) -> Column:
        pairs = zip(node.asked.keys, node.kept.layout.keys, strict=True)
        equal = [field(name).eqNullSafe(field(_STATE + key.name)) for name, key in pairs]
        return reduce(Column.__and__, equal, F.lit(True))

    def _frame_of(self, table: pa.Table) -> DataFrame:
        return self._typed(table).withColumn(CONTROL, F.lit(None).cast("string"))

    def _typed(self, table: pa.Table) -> DataFrame:
        # left to itself Spark takes times without a zone for moments in the session's, whatever was declared
        return self._turn.spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def _table_of(lowering: Lowering, end: End, *, is_diverted: bool) -> pa.Table:
    return lowering.updates(end, for_driver=True, is_diverted=is_diverted).toArrow()


def _querying(target: Target) -> Queryable:
    querying = target.capabilities.querying
    assert querying is not None, "checked when the run began"
    return querying


def tag_of(batch: BatchId) -> str:
    """Return the tag of an attempt's jobs: attempts are never reused within an incarnation, and a tag has no commas."""
    return f"trident-{batch.owner.incarnation}-{batch.attempt}".replace(",", "_")
