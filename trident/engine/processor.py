"""Turns planned ranges into staged updates with Spark: each source is read once, whatever hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from trident.base.errors import ConfigurationError, about
from trident.base.identity import BatchId
from trident.base.ranges import Edge
from trident.base.signals import StopSignal
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult, TurnRequest
from trident.coordinators.options import Audit
from trident.engine.acting import AFTER_STOP, acting
from trident.engine.audited_small import AuditedAtEnd, is_counted_at_end, lowered_with_marks, with_ids
from trident.engine.auditing import AuditedLowering, audited_from_source
from trident.engine.collecting import Collected, Readings, carrying, empty_result, joined, read_table, words_in
from trident.engine.compiled import CompiledTopology
from trident.engine.ending import Ends
from trident.engine.errors import SPARK_FAILURES, of_state
from trident.engine.keeping import Kept, storage
from trident.engine.lowering import Counted, Lowering, from_source, words_of
from trident.engine.messages import MessageTrees
from trident.engine.parallel import FirstAlone, run_all
from trident.engine.prepared import PreparedPlans, SmallUpdates, frame_of
from trident.engine.reading import ONE_TASKS, Readers, width_of
from trident.engine.reruns import OneRun
from trident.engine.spark import cancel_tagged, engine_session, is_classic, parallelism_of
from trident.engine.staging import DEFAULT_THRESHOLD, Staging
from trident.engine.tasks import SparkTasks
from trident.engine.turning import Turn, tag_of
from trident.graph.forks import forks_of
from trident.graph.jobs import Job, Trunk
from trident.graph.nodes import Node, Way
from trident.graph.rooted import NO_TREES
from trident.operations.base import BatchContext
from trident.spouts.base import SmallBatch, Source
from trident.spouts.handing_out import hand_out
from trident.spouts.python.source import PythonSource
from trident.spouts.wanted import reading_until, require_wanted
from trident.state.staged import HeldUpdates
from trident.state.target import Target

T = TypeVar("T")


class SparkProcessor:
    """See `Processor`. Called from several threads at once; keeps nothing of a batch but sizes.

    A large batch has as many tasks as Spark offers, until `share_work` says another number. With an audit every action
    has to account for its records, step by step; without one nothing is lowered differently.
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
        audit: Audit = Audit.OFF,
        ackers: int = 1,
    ) -> None:
        if staging_threshold < 1:
            raise ConfigurationError("staging_threshold must be above zero")
        self._jobs = compiled.jobs
        self._in_runs = compiled.in_runs
        self._is_audited = audit is Audit.ON
        self._trees = compiled.trees if ackers else NO_TREES
        self._messages = MessageTrees(self._trees, sources, ackers)
        self._stages = compiled.stages
        self._stores = stores
        for name in self._stages.asked:
            if stores[name].capabilities.querying is None:
                raise ConfigurationError(
                    f"the state {name!r} can't be asked for the values of keys, so it has no new values and answers no "
                    "query; nothing was planned"
                )
        self._carried = tuple(node.name for node in self._stages.carried)
        parallelism = parallelism_of(spark)
        self._spark = engine_session(spark, parallelism)
        seen = is_classic(self._spark)
        given = partial(forks_of, trees=self._trees, is_audited=self._is_audited, are_columns_seen=seen)
        self._forks = {job: given(job) for job in self._jobs}
        self._turn_forks = self._stages.forks(are_columns_seen=seen)
        self._readers = Readers(self._spark, sources, parallelism)
        self._plans = PreparedPlans(self._spark)
        is_users = any(isinstance(source, PythonSource) for source in sources.values())
        self._one_run = OneRun(
            self._spark,
            runs_user_code=self._is_audited or is_users or compiled.runs_user_code,
            keeps_frames=not all(job.is_chain for job in self._jobs) or bool(self._stages.turn),
        )
        self._first_alone = FirstAlone()
        for store in stores.values():
            if store.capabilities.tasking is not None:
                store.capabilities.tasking.use(SparkTasks(self._spark))
        self._given_up: dict[BatchId, StopSignal] = {}
        """Of the attempts that are under way, for whoever cancels them."""
        ends = self._stages.processing
        self._ends = Ends(ends, stores, staging, staging_threshold, partial(hand_out, self._spark))

    def process(self, request: ProcessRequest) -> ProcessResult:
        """Run all jobs of the attempt, side by side."""
        given_up = self._given_up[request.batch] = StopSignal()
        runs = [partial(self._run, _Attempt(job, request, given_up, self._in_runs)) for job in self._jobs]
        messages = self._messages.begin(request.edges)
        try:
            with self._first_alone.turn(given_up) if goes_alone(request, self._jobs) else nullcontext():
                cancel = partial(self.cancel, request.batch)
                result = self._of_one_run(request.batch, lambda: joined(run_all(runs, cancel)))
            self._messages.end(messages, result.trees)
            return carrying(result, self._carried)
        finally:
            del self._given_up[request.batch]

    @property
    def shown(self) -> frozenset[str]:
        """The states whose staged rows are wanted in the turn."""
        return self._stages.shown

    def process_turn(self, request: TurnRequest) -> Mapping[str, HeldUpdates]:
        """Make what waits for the attempt's turn, one end after the other."""
        given_up = self._given_up[request.batch] = StopSignal()

        def on_spark(name: str, action: Callable[[], pa.Table]) -> pa.Table:
            job = f"{request.batch}, work in the commit turn for {name!r}"
            with (
                about(f"state {name!r}", request.batch),
                reading_until(given_up),
                acting(self._spark, tag_of(request.batch), job, of_refusal=lambda found: of_state(found, name, job)),
            ):
                require_wanted()
                return action()

        try:
            asked, forks = self._trees.is_asked, self._turn_forks
            turn = Turn(self._spark, self._stages, self._stores, request, on_spark, asked, forks)
            return self._of_one_run(request.batch, turn.run)
        finally:
            del self._given_up[request.batch]

    def share_work(self, parallelism: int) -> None:
        """Have so many tasks read each large batch that is begun from now on."""
        self._readers.parallelism = parallelism

    def cancel(self, batch: BatchId) -> None:
        """Ask running jobs of the attempt to end; a hint, never relied on for correctness."""
        self._first_alone.end()  # whoever it is about: what hangs now is not waited for by anyone else
        if (given_up := self._given_up.get(batch)) is not None:
            given_up.set()  # what is read in this process no tag ends
        with suppress(*SPARK_FAILURES, *AFTER_STOP):  # where Spark is gone its jobs are too
            cancel_tagged(self._spark, tag_of(batch))

    def _of_one_run(self, batch: BatchId, action: Callable[[], T]) -> T:
        return self._one_run.of(tag_of(batch), str(batch), action)

    def _run(self, attempt: _Attempt) -> ProcessResult:
        if not attempt.width and not attempt.job.makes_of_nothing:
            return empty_result(attempt.job.ends)
        small = self._small_batch(attempt) if self._may_part(attempt.job) else None
        if small is not None:
            return self._small(attempt, small)
        return self._chain(attempt) if attempt.job.is_chain else self._shared(attempt)

    def _may_part(self, job: Job) -> bool:
        # through Connect a topology is built without a look at whether its columns call a user's function
        return job.can_part and (job.is_chain or is_classic(self._spark))

    def _small_batch(self, attempt: _Attempt) -> SmallBatch | None:
        (trunk,) = attempt.job.trunks
        name, edges, in_order = trunk.source.name, attempt.edges(trunk), self._is_read_in_order(attempt, trunk)
        # the source may ask Spark for what its decoder is made of
        return self._on_spark(
            attempt,
            f"reading of the stream {name!r}",
            lambda: self._readers.small(name, edges, in_order=in_order, runs_user_code=attempt.job.runs_user_code),
        )

    def _small(self, attempt: _Attempt, batch: SmallBatch) -> ProcessResult:
        """Every end goes its own way, side by side, from what was read in this process, and returns its words too."""
        (trunk,) = attempt.job.trunks
        readings = Readings(attempt.request.edges)
        readings.add(trunk.source.name, words_in(batch.words))
        ends = attempt.job.ends
        runs = [partial(self._collect_small, attempt, end, batch) for end in ends]
        results = run_all(runs, partial(self.cancel, attempt.batch))
        found: dict[str, Collected] = {}
        for end, collected in zip(ends, results, strict=True):
            readings.require_agreement(end, collected)
            found[end.name] = collected
        return readings.result(found)

    def _collect_small(self, attempt: _Attempt, end: Way, batch: SmallBatch) -> Collected:
        (trunk,) = attempt.job.trunks

        def action() -> Collected:
            is_simple = not self._trees.is_asked
            if self._is_audited and is_simple and is_counted_at_end(end):
                return self._audited_at_end(attempt, end, batch)
            if self._is_audited or not is_simple:
                return self._ended(attempt, end, self._begun(attempt, trunk, frame_of(self._spark, batch), end))
            updates = SmallUpdates(self._spark, self._plans, end, trunk.source, batch, attempt.context_of(end))
            return self._ends.collect(end, updates, attempt.request, attempt.width)

        return self._on_spark(attempt, _job_of(end, trunk.source.name), action, end.name)

    def _audited_at_end(self, attempt: _Attempt, end: Way, batch: SmallBatch) -> Collected:
        (trunk,) = attempt.job.trunks
        context, keeps_order = attempt.context_of(end), attempt.is_ordered(trunk)

        def by_steps() -> AuditedLowering:
            return audited_from_source(
                trunk.source, frame_of(self._spark, batch), context, self._trees, keeps_order=keeps_order
            )

        given = with_ids(batch, keeps_order=keeps_order)
        small = SmallUpdates(self._spark, self._plans, end, trunk.source, given, context, lowered_with_marks)
        updates = AuditedAtEnd(small, by_steps)
        collected = self._ends.collect(end, updates, attempt.request, attempt.width)
        return updates.vouched(collected, attempt.request.edges)

    def _chain(self, attempt: _Attempt) -> ProcessResult:
        """One action does all: what it returns vouches for what it read."""
        (trunk,), (end,) = attempt.job.trunks, attempt.job.ends

        def action(frame: DataFrame) -> Collected:
            return self._ended(attempt, end, self._begun(attempt, trunk, frame, end))

        readings = Readings(attempt.request.edges)
        name = trunk.source.name
        collected = self._on_spark(
            attempt,
            _job_of(end, name),
            lambda: self._readers.collect(
                name, attempt.edges(trunk), action, in_order=self._is_read_in_order(attempt, trunk)
            ),
            end.name,
        )
        readings.add(name, collected.words)
        return readings.result({end.name: collected})

    def _shared(self, attempt: _Attempt) -> ProcessResult:
        """Each trunk is kept in Spark's storage by the first action on it, then each fork; then the other ends begin.

        The control rows stay among the kept records, and every action returns those of the blocks that it used:
        a block that was lost and made again must have said the same.
        """
        cancel = partial(self.cancel, attempt.batch)
        readings = Readings(attempt.request.edges)
        found: dict[str, Collected] = {}
        with storage(str(attempt.batch)) as keep:
            opened = run_all([partial(self._open, attempt, trunk, keep) for trunk in attempt.job.trunks], cancel)
            for trunk, (_, collected) in zip(attempt.job.trunks, opened, strict=True):
                readings.add(trunk.source.name, collected.words)
                if (first := self._first_on(attempt, trunk)) is not None:
                    found[first.name] = collected
            kept = Kept(keep, {trunk: top for trunk, (top, _) in zip(attempt.job.trunks, opened, strict=True)})
            for number, fork in enumerate(self._forks[attempt.job], 1):
                kept = kept.with_fork(fork, self._fork(attempt, fork, number, kept))
            others = [end for end in attempt.job.ends if end.name not in found]
            results = run_all([partial(self._collect, attempt, end, kept) for end in others], cancel)
        for end, collected in zip(others, results, strict=True):
            readings.require_agreement(end, collected)
            found[end.name] = collected
        return readings.result(found)

    def _open(
        self, attempt: _Attempt, trunk: Trunk, keep: Callable[[DataFrame], DataFrame]
    ) -> tuple[Counted, Collected]:
        """Read a source and keep the top of its trunk, by the action of an end on it or by one for the words alone."""
        tops: list[Counted] = []
        name, first = trunk.source.name, self._first_on(attempt, trunk)

        def action(frame: DataFrame) -> Collected:
            begun = self._begun(attempt, trunk, frame)
            tops.append(begun.kept(trunk.top, keep))
            if first is not None:
                return self._ended(attempt, first, self._to(first, attempt, Kept(keep, {trunk: tops[-1]})))
            words = read_table(words_of(tops[-1].frame).toArrow(), None)
            return begun.vouched(words, attempt.request.edges)

        collected = self._on_spark(
            attempt,
            f"reading of the stream {name!r}" if first is None else f"{_job_of(first, name)} or what it shares",
            lambda: self._readers.collect(
                name,
                attempt.edges(trunk),
                action,
                in_order=self._is_read_in_order(attempt, trunk),
                may_be_here=not self._may_part(attempt.job),
                runs_user_code=attempt.job.runs_user_code,
            ),
            "" if first is None else first.name,
        )
        return tops[-1], collected

    def _first_on(self, attempt: _Attempt, trunk: Trunk) -> Way | None:
        return attempt.job.first_on(trunk, self._forks[attempt.job])

    def _fork(self, attempt: _Attempt, node: Node, number: int, kept: Kept) -> Counted:
        """Keep a fork's rows by an action of its own: two that found nothing kept could each run a user's function."""
        # the end's name tells it from those of the attempt's other jobs
        lowering = self._behind(kept, attempt.context, f"fork {attempt.job.ends[0].name} {number}")
        fork = lowering.kept(node, kept.keep)
        what = f"rows that several ways lead on from, to {attempt.job.ends[0].name!r} for one"
        self._on_spark(attempt, what, lambda: words_of(fork.frame).toArrow())
        return fork

    def _collect(self, attempt: _Attempt, end: Way, kept: Kept) -> Collected:
        lowering = self._to(end, attempt, kept)
        return self._on_spark(attempt, f"job of {end.name!r}", lambda: self._ended(attempt, end, lowering), end.name)

    def _is_read_in_order(self, attempt: _Attempt, trunk: Trunk) -> bool:
        return self._is_audited or trunk.source in self._trees.rooted or attempt.is_ordered(trunk)

    def _begun(self, attempt: _Attempt, trunk: Trunk, frame: DataFrame, end: Way | None = None) -> Lowering:
        """Return a lowering of what hangs on a source; of one end where it is named."""
        context = attempt.context if end is None else attempt.context_of(end)
        source, trees, keeps_order = trunk.source, self._trees, attempt.is_ordered(trunk)
        if self._is_audited:
            return audited_from_source(source, frame, context, trees, keeps_order=keeps_order)
        # an end that goes its own way from here has a run of its own
        run = f"stream {source.name}" if end is None else f"end {end.name}"
        return from_source(source, frame, context, trees, run, keeps_order=keeps_order)

    def _to(self, end: Way, attempt: _Attempt, kept: Kept) -> Lowering:
        return self._behind(kept, attempt.context_of(end), f"end {end.name}")

    def _behind(self, kept: Kept, context: BatchContext, run: str) -> Lowering:
        """Return a lowering of what hangs on kept frames."""
        if self._is_audited:
            return AuditedLowering(run, kept.tops, context, kept.keep, self._trees, kept.forks)
        frames = {trunk: top.frame for trunk, top in kept.tops.items()}
        return Lowering(frames, context, self._trees, run, kept.forks)

    def _ended(self, attempt: _Attempt, end: Way, lowering: Lowering) -> Collected:
        """Run an end's action."""
        collected = self._ends.collect(end, lowering.of(end), attempt.request, attempt.width)
        return lowering.vouched(collected, attempt.request.edges)

    def _on_spark(self, attempt: _Attempt, what: str, action: Callable[[], T], state: str = "") -> T:
        job = f"{attempt.batch}, {what}"
        with (
            about(what, attempt.batch),
            reading_until(attempt.given_up),
            acting(self._spark, tag_of(attempt.batch), job, of_refusal=lambda refused: of_state(refused, state, job)),
        ):
            require_wanted()  # a job that begins after the cancel is not ended by it
            return action()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One job of one attempt."""

    job: Job
    request: ProcessRequest
    given_up: StopSignal
    in_runs: frozenset[object]

    @property
    def batch(self) -> BatchId:
        return self.request.batch

    @property
    def context(self) -> BatchContext:
        return BatchContext(self.request.batch_time, self.request.batch.txid, in_runs=self.in_runs)

    @property
    def width(self) -> int:
        return sum(width_of(self.edges(trunk)) for trunk in self.job.trunks)

    def context_of(self, end: Way) -> BatchContext:
        return replace(self.context, is_diverted=end.name in self.request.diverts)

    def is_ordered(self, trunk: Trunk) -> bool:
        return trunk.source in self.job.ordered

    def edges(self, trunk: Trunk) -> tuple[Edge, ...]:
        return self.request.edges.get(trunk.source.name, ())


def goes_alone(request: ProcessRequest, jobs: Sequence[Job]) -> bool:
    """Whether an attempt waits for the first one: not where tasks or a user's function are what takes its time."""
    width = sum(map(width_of, request.edges.values()))
    return 0 < width <= ONE_TASKS and not any(job.runs_user_code for job in jobs)


def _job_of(end: Way, stream: str) -> str:
    return f"stream {stream!r}, job of {end.name!r}"
