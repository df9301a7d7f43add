"""A warm-up: what a batch will run is run on nothing, while a run waits for the lease of another one.

Spark loads and compiles thousands of classes for the first job of a process, which takes seconds, and Python tasks wait
for a daemon with their modules. Here that job is one without records: a frame of one control row, which every operation
passes on untouched. So no function of a user's is called, though Python tasks unpickle it and import what it needs; no
source is read, and nothing reaches a state.
"""

from __future__ import annotations

import logging
import time
import uuid
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.errors import TridentError
from trident.base.order import ORDER
from trident.base.signals import StopSignal
from trident.base.user_code import type_and_place
from trident.coordinators.batches.lanes import SideBySide
from trident.engine.acting import AFTER_STOP, acting
from trident.engine.compiled import CompiledTopology
from trident.engine.errors import SPARK_FAILURES
from trident.engine.lowering import from_sources
from trident.engine.prepared import frame_of
from trident.engine.spark import cancel_tagged, engine_session, is_classic, parallelism_of
from trident.engine.warm_tasks import YieldWord, one_word
from trident.graph.jobs import Job
from trident.graph.nodes import SourceNode
from trident.operations.base import BUILD_CONTEXT
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import SmallBatch

_log = logging.getLogger("trident.engine")
_ROUNDS: Final = 2
"""The second plan of a kind goes through code that the first one has loaded, and has it compiled."""
_PATIENCE_S: Final = 1.0
"""A run that takes over at once has its first batch by then, which a warm-up would only take the cores from."""
_LONGEST_END_S: Final = 5.0
"""What Spark plans can't be cancelled; its job can."""
_LONGEST_HOLD_S: Final = 0.15
"""A run that has taken over is not held up for longer."""
_CANCELLED_EVERY_S: Final = 0.05
"""A job that begins when the others are cancelled is not one of them."""


class WarmUp:
    """A warm-up beside its block, in a thread that ends with the block, and that never fails it.

    It begins once the run has waited for a second. Nothing is done through Spark Connect, whose server is warm by
    whatever ran there before.
    """

    def __init__(self, compiled: CompiledTopology, spark: SparkSession) -> None:
        self._compiled = compiled
        self._spark = spark
        self._tag = f"trident-warm-up-{uuid.uuid4().hex}"
        self._over = StopSignal()
        self._done: Future[None] | None = None

    def __enter__(self) -> WarmUp:
        if is_classic(self._spark):
            lane: SideBySide[None] = SideBySide("trident-warm-up")
            with suppress(RuntimeError):  # no thread to be had: the first batch takes longer
                self._done = lane.submit(self._run_late)
                lane.close()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Cancel what is left of it, and wait until it has ended; what went wrong is told to those who debug."""
        self._over.set()
        self._cancel_within(_LONGEST_END_S)
        error = self._done.exception() if self._done is not None and self._done.done() else None
        if error is not None:
            _log.debug("warming up: %s", error if isinstance(error, TridentError) else type_and_place(error))

    def enough(self) -> None:
        """Let it begin nothing more and end what it has begun: the first batch is about to come, and wants the cores.

        Called again it cancels again. It waits for a job that begins at this moment, and for none that does not end.
        """
        self._over.set()
        self._cancel_within(_LONGEST_HOLD_S)

    def _cancel_within(self, seconds: float) -> None:
        """Cancel its jobs until it has ended, or the time is over."""
        deadline = time.monotonic() + seconds
        while self._done is not None and not self._done.done() and time.monotonic() < deadline:
            with suppress(*SPARK_FAILURES, *AFTER_STOP):
                cancel_tagged(self._spark, self._tag)
            wait([self._done], timeout=_CANCELLED_EVERY_S)

    def _run_late(self) -> None:
        if not self._over.wait(_PATIENCE_S):
            self.run()

    def run(self) -> None:
        """Run all of it in the calling thread; raises what goes wrong."""
        started = time.monotonic()
        with acting(self._spark, self._tag, "warming up"):
            session = engine_session(self._spark, parallelism_of(self._spark), warns=False)
            for _ in range(_ROUNDS):
                for job in self._compiled.jobs:
                    self._warm(job, session)
        _log.debug("warmed up in %.1f s", time.monotonic() - started)

    def _warm(self, job: Job, session: SparkSession) -> None:
        """Run each end's action as a batch does, as large ones are read and as small ones are."""
        for frame in (read_as_large, read_as_small):
            for end in job.ends:
                if self._over.is_set():
                    return
                sources = [trunk.source for trunk in job.trunks]
                frames = {source: frame(session, self._schema(source, job)) for source in sources}
                from_sources(frames, BUILD_CONTEXT).updates(end, for_driver=True).toArrow()

    def _schema(self, source: SourceNode, job: Job) -> StructType:
        fields = list(self._compiled.samples[source.name].fields)
        if source in job.ordered:
            fields.append(StructField(ORDER, BinaryType()))
        return StructType([*fields, StructField(CONTROL, StringType())])


def read_as_small(session: SparkSession, schema: StructType) -> DataFrame:
    """Return a frame of one control row that the driver has, as a small batch that was read there."""
    return frame_of(session, SmallBatch(one_word(arrow_schema(schema)), schema))


def read_as_large(session: SparkSession, schema: StructType) -> DataFrame:
    """Return a frame of one control row from each of as many Python tasks as run at once."""
    tasks = parallelism_of(session)
    return session.range(0, tasks, 1, tasks).mapInArrow(YieldWord(arrow_schema(schema)), schema)
