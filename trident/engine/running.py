"""Running a topology: from the user's call to a run of its coordinator."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession

from trident.base.levels import Level
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import Ledger, SqliteLedger
from trident.coordinators.options import RunOptions
from trident.engine.compiled import CompiledTopology
from trident.engine.errors import SPARK_FAILURES, classify, session_stopped
from trident.engine.places import check_places
from trident.engine.processor import SparkProcessor
from trident.engine.spark import is_stopped
from trident.engine.staging import Staging
from trident.spouts.base import Source
from trident.state.target import Target

DEFAULT_LEDGER = Path("trident-ledger.sqlite")
"""Where the ledger lives, in the working directory, when none is named."""


def make_run(
    compiled: CompiledTopology,
    spark: SparkSession,
    ledger: Ledger | None,
    options: RunOptions,
    staging: Staging,
    before_batches: Callable[[], None],
) -> TopologyRun:
    """Return one run of the topology, not started yet; see `Topology.run`.

    `before_batches` is called when it has taken over, and is about to plan.
    """

    # at most once each message is acked before its batch is processed, so none could be given back
    ackers = 0 if compiled.level is Level.AT_MOST_ONCE else options.ackers

    def make_processor(sources: Mapping[str, Source], stores: Mapping[str, Target]) -> SparkProcessor:
        if is_stopped(spark):
            raise session_stopped("beginning the run")
        before_batches()
        try:
            return SparkProcessor(compiled, spark, sources, stores, staging=staging, audit=options.audit, ackers=ackers)
        except SPARK_FAILURES as error:
            raise classify(error, "beginning the run") from None

    topology = RunnableTopology(
        spec=compiled.spec(),
        spouts=compiled.spouts,
        targets=compiled.targets,
        make_processor=make_processor,
        check=partial(check_places, compiled, options.timeouts),
        works_in_turn=bool(compiled.stages.turn),
    )
    return TopologyRun(topology, ledger or SqliteLedger(DEFAULT_LEDGER), options)


def run_to_end(run: TopologyRun) -> RunSummary:
    """Run until the end; while it runs in the main thread, SIGTERM and SIGINT (Ctrl-C) ask it to drain."""
    with _draining_on_signals(run):
        return run.run()


@contextmanager
def _draining_on_signals(run: TopologyRun) -> Iterator[None]:
    """Drain at the first signal; a second SIGINT does what one did before, which is to end the run at once.

    SIGINT is left as it is where a program has a handler of its own, or ignores it, as in the background of a shell.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def drain(number: int, frame: FrameType | None) -> None:
        run.stop()
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, before[signal.SIGINT])

    taken = [signal.SIGTERM, *([signal.SIGINT] if _is_nobodys(before[signal.SIGINT]) else [])]
    for number in taken:
        signal.signal(number, drain)
    try:
        yield
    finally:
        for number in taken:
            # None: the handler before was not set from Python, and can't be set again from here
            signal.signal(number, signal.SIG_DFL if before[number] is None else before[number])


def _is_nobodys(handler: object) -> bool:
    """Tell whether it is Python's handler, or that which Spark sets in every program."""
    return handler is signal.default_int_handler or str(getattr(handler, "__module__", "")).startswith("pyspark.")
