"""Running and resetting a topology: from the user's call to the coordinator's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Literal

from pyspark.sql import SparkSession

from trident.base.errors import ConfigurationError
from trident.coordinators.ledger import Ledger, SqliteLedger
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.records import ResetDecision
from trident.coordinators.resetting import reset_topology
from trident.coordinators.session import RunPlan, RunSummary, Session
from trident.engine.compiled import CompiledTopology
from trident.engine.processor import SparkProcessor
from trident.engine.staging import Staging
from trident.spouts.base import StartAt
from trident.topology import Topology

DEFAULT_LEDGER = Path("trident-ledger.sqlite")
"""Where the ledger lives, in the working directory, when none is named."""


def make_session(
    compiled: CompiledTopology,
    spark: SparkSession,
    ledger: Ledger | None,
    until: Literal["stopped", "caught_up"],
    options: RunOptions | None,
    staging: Staging,
) -> Session:
    """Return one run of the topology, not started yet; see `Topology.run`."""
    chosen = replace(options or RunOptions(), until=_until(until))
    plan = RunPlan(
        spec=compiled.spec(),
        spouts=compiled.spouts,
        states=compiled.states,
        make_processor=lambda sources, stores: SparkProcessor(compiled, spark, sources, stores, staging=staging),
    )
    return Session(plan, ledger or SqliteLedger(DEFAULT_LEDGER), chosen)


def run_session(session: Session) -> RunSummary:
    """Run until the end; while it runs in the main thread, SIGTERM asks it to drain."""
    with _stopping_on_sigterm(session):
        return session.run()


def reset(
    topology: Topology,
    ledger: Ledger,
    *,
    states: Literal["clear", "adopt"],
    start: StartAt | datetime | None = None,
    options: RunOptions | None = None,
) -> ResetDecision:
    """Give a topology a new incarnation, above every txid ever planned.

    `states="clear"` empties its states; `"adopt"` keeps their rows and counts on from them (a pinned
    batch is rolled forward first). `start` replaces the spouts' own start policy this once. Nothing is
    changed while a coordinator runs the topology (LeaseHeldError). A reset that was cut off is
    finished by the next call or the next run.
    """
    if states not in ("clear", "adopt"):
        raise ConfigurationError(f"states must be 'clear' or 'adopt', not {states!r}; nothing was changed")
    compiled = topology.compile()
    return reset_topology(
        compiled.spec(),
        compiled.states,
        ledger,
        keep_rows=states == "adopt",
        start=_start_text(start),
        options=options or RunOptions(),
    )


def _start_text(start: StartAt | datetime | None) -> str | None:
    if isinstance(start, datetime):
        if start.tzinfo is None:
            raise ConfigurationError("a start time needs a time zone; nothing was changed")
        return start.astimezone(UTC).isoformat()
    return start.value if start is not None else None


def _until(text: str) -> Until:
    try:
        return Until(text)
    except ValueError:
        raise ConfigurationError(f"until must be 'stopped' or 'caught_up', not {text!r}; nothing was started") from None


@contextmanager
def _stopping_on_sigterm(session: Session) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def drain(_number: int, _frame: FrameType | None) -> None:
        session.stop()

    before = signal.signal(signal.SIGTERM, drain)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
