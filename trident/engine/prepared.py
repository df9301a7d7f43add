"""Plans of Spark's that run again with other rows, as prepared statements do: of a small batch, planning costs most.

A plan is prepared by the first small batch of an end. Its only leaf is an RDD with one partition, which holds that
batch as Arrow bytes; of every later batch a partition takes that one's place, and the plan runs as it is: not analysed,
optimized or compiled again. So what is prepared must not depend on anything else of a batch, and must not keep anything
of a run that a later one would find: only steps are allowed that are known not to (a shuffle keeps its files), and no
subquery, whose result is kept.

That a run has seen its own batch and no other is looked at each time: the words among the rows name the edges of one
attempt, and exactly those that were given must come back. That all else is the same in each run is what
`engine/building.py` sees to when a topology is built: nothing random, no moment of its own, no UDF in a column.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.audit import DONE
from trident.base.control import CONTROL
from trident.engine.errors import SPARK_FAILURES
from trident.engine.lowering import Lowering, from_source
from trident.engine.spark import is_classic, is_stopped, items_of
from trident.graph.nodes import SourceNode, Way
from trident.operations.base import BatchContext
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import SmallBatch
from trident.spouts.wanted import is_wanted

_log = logging.getLogger("trident.engine")

_STEPS: Final = frozenset(
    {
        "Coalesce",
        "Expand",
        "Filter",
        "Generate",
        "HashAggregate",
        "InputAdapter",
        "ObjectHashAggregate",
        "Project",
        "Scan ExistingRDD",
        "Sort",
        "SortAggregate",
        "WholeStageCodegen",
    }
)
"""Steps of a physical plan that begin anew in each run.

None in Python: a user's function is pickled with its plan, with what its closure held then.
"""
_LEAF: Final = "LogicalRDD"
_MOST_BYTES: Final = 512 << 10
"""A plan keeps the batch that it was prepared by, and an end as many plans as it has batches at once."""
_MOST_FAILURES: Final = 2
"""One may be of what its batch holds."""


class PreparedPlans:
    """Runs ends over small batches; called from several threads at once, each plan is used by one of them at a time.

    Each that is kept holds the bytes of its first batch, and of none that it ran for later.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Prepared]] = {}
        self._are_trusted = is_classic(spark)
        self._failed_at_first = 0
        """How many runs of prepared plans have failed before one has found its own batch; negative once one has."""

    def run(self, small: SmallUpdates) -> pa.Table:
        """Return an end's updates and the words; with a plan that was prepared before where there is one.

        Whatever is raised, the plan that was used is not used again.
        """
        end, batch = small.end.name, small.batch
        prepared = None if small.context.is_diverted or not _is_sparks(batch) else self._taken(end, batch.schema)
        if prepared is not None and self._exchange(prepared, batch):
            with self._doubted():
                table = prepared.updates.toArrow()
            if _words(table) == _words(batch.rows):
                with self._lock:
                    self._failed_at_first = -1
                if self._emptied(prepared):
                    self._keep(end, prepared)
                return table
            self._distrust()
        return self._prepare(small)

    def forget(self, end: str) -> None:
        """Let go of the plans of an end that are not in use."""
        with self._lock:
            self._idle.pop(end, None)

    def _exchange(self, prepared: _Prepared, batch: SmallBatch) -> bool:
        try:
            prepared.exchange(self._spark, batch.rows)
        except SPARK_FAILURES:
            self._distrust()
            return False
        return True

    def _emptied(self, prepared: _Prepared) -> bool:
        try:
            prepared.give_back()
        except SPARK_FAILURES:
            return False  # what it ran for has its results
        return True

    @contextmanager
    def _doubted(self) -> Iterator[None]:
        """Let an error through; where no prepared plan has ever run again, several may come of that."""
        try:
            yield
        except SPARK_FAILURES:
            if not is_wanted():
                raise  # it was cancelled, which says nothing of the plan
            with self._lock:
                self._failed_at_first += self._failed_at_first >= 0
                are_too_many = self._failed_at_first >= _MOST_FAILURES
            if are_too_many:
                self._distrust()
            raise

    def _prepare(self, small: SmallUpdates) -> pa.Table:
        given = small.context
        noticing = _Noticing(given.batch_time, given.txid, given.is_diverted, in_runs=given.in_runs)
        rows = small.rows()
        updates = small.lower(small.source, rows, noticing).updates(small.end, for_driver=True)
        table = updates.toArrow()
        if not (small.context.is_diverted or noticing.asked):
            self._keep_plan(small, rows, updates)
        return table

    def _keep_plan(self, small: SmallUpdates, rows: DataFrame, updates: DataFrame) -> None:
        """Keep a plan that has run, where that can be; the batch that it ran for is as good without it."""
        if not self._are_trusted or small.batch.rows.nbytes > _MOST_BYTES:
            return
        try:
            partitions = _partitions(rows) if _begins_anew(updates) else None
        except SPARK_FAILURES:
            self._distrust()
            return
        if partitions is not None:
            self._keep(small.end.name, _Prepared(small.batch.schema, updates, partitions, partitions[0]))

    def _taken(self, end: str, schema: StructType) -> _Prepared | None:
        with self._lock:
            idle = self._idle.get(end)
            found = idle.pop() if idle else None
        return found if found is not None and found.schema == schema else None

    def _keep(self, end: str, prepared: _Prepared) -> None:
        with self._lock:
            if self._are_trusted:
                self._idle.setdefault(end, []).append(prepared)

    def _distrust(self) -> None:
        with self._lock:
            was_trusted, self._are_trusted = self._are_trusted, False
            self._idle.clear()
        if was_trusted and not is_stopped(self._spark):
            _log.warning(
                "this Spark does not run a prepared plan with other rows: each small batch is planned anew from now "
                "on, which takes longer. Nothing of what was found so was applied"
            )


def frame_of(spark: SparkSession, batch: SmallBatch) -> DataFrame:
    """Return a small batch as a frame; `coalesce` tells Spark that all is in one place, so that nothing is shuffled."""
    return spark.createDataFrame(pa.Table.from_batches([batch.rows]), batch.schema).coalesce(1)


@dataclass(frozen=True, slots=True)
class SmallUpdates:
    """See `Updates`: an end's, of a small batch that was read in this process."""

    spark: SparkSession
    plans: PreparedPlans
    end: Way
    source: SourceNode
    batch: SmallBatch
    context: BatchContext
    lower: Callable[[SourceNode, DataFrame, BatchContext], Lowering] = from_source
    """The same for each batch of an end."""

    @property
    def audited_as(self) -> str | None:
        """They are not."""
        return None

    def rows(self) -> DataFrame:
        """Return the batch as a frame."""
        return frame_of(self.spark, self.batch)

    def table(self) -> pa.Table:
        """Run a prepared plan, or prepare one."""
        return self.plans.run(self)

    def frame(self) -> DataFrame:
        """Return the frame of the updates, of this batch alone."""
        return self.lower(self.source, self.rows(), self.context).updates(self.end, for_driver=False)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan, and the partitions of its leaf, which are Spark's own and not a copy."""

    schema: StructType
    updates: DataFrame
    partitions: JavaObject
    first: JavaObject
    """The partition that it was prepared by: its RDD has it as long as there is a plan."""

    def give_back(self) -> None:
        """Let go of the rows that it has run on."""
        self.partitions[0] = self.first

    def exchange(self, spark: SparkSession, rows: pa.RecordBatch) -> None:
        """Have the plan run on other rows from now on."""
        assert spark._jvm is not None
        values = spark._jvm.java.util.ArrayList()
        values.add(rows.serialize().to_pybytes())
        self.partitions[0] = spark.sparkContext._jsc.parallelize(values, 1).rdd().partitions()[0]


@dataclass(frozen=True, slots=True)
class _Noticing(BatchContext):
    """Notices whether a frame depends on the batch's time or number."""

    asked: list[None] = field(default_factory=list)

    def literal(self) -> Column:
        """Return it, and keep in mind that it was asked for."""
        self.asked.append(None)
        return BatchContext.literal(self)

    def number(self) -> int:
        """Return it, and keep in mind that it was asked for."""
        self.asked.append(None)
        return BatchContext.number(self)


def _is_sparks(batch: SmallBatch) -> bool:
    """Whether the rows are bytes as Spark reads them; others are converted by `createDataFrame` alone."""
    return batch.rows.schema.types == arrow_schema(batch.schema).types


def _words(table: pa.Table | pa.RecordBatch) -> list[str]:
    texts = map(str, table.column(CONTROL).drop_null().to_pylist())
    return sorted(text for text in texts if not text.startswith(DONE))


def _begins_anew(frame: DataFrame) -> bool:
    """Whether every step of a frame's plan is known to begin anew in each run."""
    plan = frame._jdf.queryExecution().executedPlan()
    return bool(plan.subqueriesAll().isEmpty()) and all(name in _STEPS for name in _names(plan))


def _names(plan: JavaObject) -> Iterator[str]:
    # a number in brackets, or an RDD's own name, follows some of them
    name = str(plan.nodeName())
    yield next((step for step in _STEPS if name == step or name.startswith((f"{step} ", f"{step}["))), name)
    for child in items_of(plan.children()):
        yield from _names(child)


def _partitions(rows: DataFrame) -> JavaObject | None:
    """Return the partitions of the RDD that a frame was made of; None where it is made in another way."""
    plan = rows._jdf.queryExecution().analyzed()
    while plan.children().size() == 1:
        plan = plan.children().apply(0)
    if str(plan.nodeName()) != _LEAF:
        return None
    rdd = plan.rdd()
    while rdd.dependencies().size() == 1:
        rdd = rdd.dependencies().apply(0).rdd()
    is_of_values = rdd.getClass().getSimpleName() == "ParallelCollectionRDD"
    partitions = rdd.partitions()
    return partitions if is_of_values and len(partitions) == 1 else None
