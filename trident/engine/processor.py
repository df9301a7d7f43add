"""Turns planned ranges into staged updates with Spark jobs: one job per state and attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import DataFrame, SparkSession

from trident.base.control import Undecoded
from trident.base.errors import ConfigurationError, TridentError
from trident.base.identity import BatchId
from trident.base.ranges import Edge
from trident.coordinators.batches.processor import Job, JobResult, ProcessRequest
from trident.engine.collecting import Collected, empty_result, read_table, result_of
from trident.engine.compiled import CompiledTopology, Leaf
from trident.engine.errors import SPARK_FAILURES, classify
from trident.engine.quiet import quiet_spark_errors
from trident.engine.spark import cancel_tagged, engine_session, parallelism_of, tagged
from trident.engine.staging import DEFAULT_THRESHOLD, WORDS_ONLY, StageRows, Staging, StagingChoice
from trident.operations.base import BatchContext
from trident.spouts.base import Source
from trident.state.target import Target

CAREFUL_BATCHES = 50
"""After a record that a quick read can't decode, so many batches of its stream are read carefully at once."""
SMALL_BATCH = 20_000
"""Up to so many positions one task does all: a second one costs more than it saves."""


class SparkProcessor:
    """See `Processor`. Called from several threads at once; keeps nothing of a batch but sizes.

    `parallelism` is the number of tasks of a large batch, by default what Spark offers.
    """

    def __init__(
        self,
        compiled: CompiledTopology,
        spark: SparkSession,
        sources: Mapping[str, Source],
        stores: Mapping[str, Target],
        *,
        staging: Staging = Staging.AUTO,
        staging_threshold: int = DEFAULT_THRESHOLD,
        parallelism: int | None = None,
    ) -> None:
        if staging_threshold < 1 or (parallelism is not None and parallelism < 1):
            raise ConfigurationError("staging_threshold and parallelism must be above zero")
        self._leaves = {leaf.state.name: leaf for leaf in compiled.leaves}
        self._sources = sources
        self._stores = stores
        self._jobs = compiled.jobs
        self._parallelism = parallelism or parallelism_of(spark)
        self._spark = engine_session(spark, self._parallelism)
        self._choices = {
            name: StagingChoice(staging, staging_threshold, leaf.layout) for name, leaf in self._leaves.items()
        }
        self._careful_batches = dict.fromkeys(compiled.spouts, 0)
        self._only_executors = staging is Staging.EXECUTORS

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs of each batch, the same for every batch of a run."""
        return self._jobs

    def process(self, request: ProcessRequest) -> tuple[JobResult, ...]:
        """Run all jobs of the attempt, those after the first in threads of their own.

        When one fails the others are cancelled and waited for, then the first failure is raised.
        """
        first, *others = self._jobs
        if not others:
            return (self._run(first.state, request),)
        with ThreadPoolExecutor(len(others), thread_name_prefix="trident-job") as pool:
            futures = [pool.submit(self._run, job.state, request) for job in others]
            return self._gather(first, futures, request)

    def cancel(self, batch: BatchId) -> None:
        """Ask running jobs of the attempt to end; a hint, never relied on for correctness."""
        cancel_tagged(self._spark, _tag(batch))

    def _gather(
        self, first: Job, futures: Sequence[Future[JobResult]], request: ProcessRequest
    ) -> tuple[JobResult, ...]:
        try:
            return (self._run(first.state, request), *(future.result() for future in futures))
        except TridentError:
            self.cancel(request.batch)
            raise

    def _run(self, state: str, request: ProcessRequest) -> JobResult:
        leaf = self._leaves[state]
        edges = request.edges[state]
        width = sum(edge.range.width for items in edges.values() for edge in items)
        if width == 0:
            return empty_result(state, leaf.layout)
        try:
            with tagged(self._spark, _tag(request.batch)), quiet_spark_errors():
                collected = self._read_as_needed(leaf, request, edges[leaf.spout], width)
        except SPARK_FAILURES as error:
            raise classify(error, f"{request.batch}, job of the state {state!r}") from None
        self._learn(state, width, collected)
        return result_of(state, collected, edges)

    def _read_as_needed(self, leaf: Leaf, request: ProcessRequest, edges: Sequence[Edge], width: int) -> Collected:
        """Read the quick way; where that does not do, read again carefully, and the next batches too."""
        careful = self._careful_batches[leaf.spout]
        if not careful:
            collected = self._collect(leaf, request, edges, width, quick=True)
            if not any(isinstance(word, Undecoded) for word in collected.words):
                return collected
            careful = CAREFUL_BATCHES
        self._careful_batches[leaf.spout] = careful - 1
        return self._collect(leaf, request, edges, width, quick=False)

    def _collect(
        self, leaf: Leaf, request: ProcessRequest, edges: Sequence[Edge], width: int, *, quick: bool
    ) -> Collected:
        frame = self._read(leaf, edges, width, quick)
        context = BatchContext(request.batch_time)
        staged_by_tasks = self._stage_rows(leaf, request.batch, width)
        if staged_by_tasks is None:
            return read_table(leaf.lower(frame, context, for_driver=True).toArrow(), leaf.layout)
        staged = leaf.lower(frame, context, for_driver=False).mapInArrow(staged_by_tasks, WORDS_ONLY)
        return read_table(staged.toArrow(), None)

    def _read(self, leaf: Leaf, edges: Sequence[Edge], width: int, quick: bool) -> DataFrame:
        tasks = 1 if width <= SMALL_BATCH else max(1, min(len(edges), self._parallelism))
        frame = self._sources[leaf.spout].read(self._spark, edges, tasks, quick)
        # coalesce tells Spark that all rows are in one place, so that no grouping shuffles them
        return frame.coalesce(1) if tasks == 1 else frame

    def _stage_rows(self, leaf: Leaf, batch: BatchId, width: int) -> StageRows | None:
        state = leaf.state.name
        if not self._choices[state].by_executors(width):
            return None
        writing = self._stores[state].capabilities.writing
        if writing is None:
            if self._only_executors:
                raise ConfigurationError(
                    f"the state {state!r} can be staged by the driver only; use Staging.AUTO or Staging.DRIVER. "
                    "Nothing of the batch was applied"
                )
            return None
        return StageRows(writing.writer(batch), leaf.layout.schema())

    def _learn(self, state: str, width: int, collected: Collected) -> None:
        if collected.rows is not None:
            self._choices[state].learn(width, collected.rows.num_rows, collected.rows.nbytes)
            return
        written = sum(getattr(word, "rows", 0) for word in collected.words)
        self._choices[state].learn(width, written, None)


def _tag(batch: BatchId) -> str:
    # attempts are never reused within an incarnation; a tag can't have commas
    return f"trident-{batch.owner.incarnation}-{batch.attempt}".replace(",", "_")
