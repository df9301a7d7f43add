"""What targets give to tasks beside their staging: a Spark job of one task for each piece of work.

A job of its own each: Spark copies a task that is slower than others of its job (speculation), and copies of work that
goes on under one name would end each other for ever.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from trident.base.closing import after_error
from trident.base.control import CONTROL
from trident.base.errors import RetryableError, TridentError
from trident.base.secrets import Secret
from trident.engine.acting import AFTER_STOP, acting
from trident.engine.errors import SPARK_FAILURES
from trident.engine.parallel import run_all
from trident.engine.spark import cancel_tagged
from trident.engine.staging import WORDS_ONLY
from trident.spouts.handing_out import hand_out, learn
from trident.state.tasks import Work

_SOME_DONE = "What was done stays and is not done again, the rest is tried again"
_CANCELLED_EVERY_S = 1.0
"""A job that begins when the others are cancelled is not one of them."""


class SparkTasks:
    """See `Tasks`; may be called from any thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str, limit: timedelta) -> None:
        """Run all of them side by side; ends what is left when one fails, or when the time is over."""
        tag = f"trident-{uuid.uuid4().hex}"
        if not works:
            return
        cancel = partial(self._cancel, tag)
        with within(limit, cancel, what):
            run_all([partial(self._run, work, tuple(secrets), tag, what) for work in works], cancel)

    def _run(self, work: Work, secrets: tuple[Secret, ...], tag: str, what: str) -> None:
        with acting(self._spark, tag, what, became=_SOME_DONE):
            hand_out(self._spark, secrets)
            done = self._spark.range(0, 1, 1, 1).mapInArrow(_DoWork(work, secrets), WORDS_ONLY).toArrow()
        if done.num_rows != 1:
            raise RetryableError(f"{what}: a task has not said that it is done. {_SOME_DONE}")

    def _cancel(self, tag: str) -> None:
        with suppress(*SPARK_FAILURES, *AFTER_STOP):
            cancel_tagged(self._spark, tag)


@contextmanager
def within(limit: timedelta, cancel: Callable[[], None], what: str) -> Iterator[None]:
    """Cancel what the block waits for when it takes longer, and raise that as RetryableError; again until it ends."""
    is_over, is_late = threading.Event(), threading.Event()

    def watch() -> None:
        seconds = limit.total_seconds()
        while not is_over.wait(seconds):
            is_late.set()
            after_error("cancelling tasks that take too long", cancel)
            seconds = _CANCELLED_EVERY_S

    watcher = threading.Thread(target=watch, name="trident-limit", daemon=True)
    watcher.start()
    try:
        yield
    except TridentError:
        if not is_late.is_set():
            raise
        raise RetryableError(
            f"{what}: its tasks took longer than {limit.total_seconds():g} s (batch_timeout) and were cancelled. "
            f"{_SOME_DONE}. Let batch_timeout be longer if they need it"
        ) from None
    finally:
        is_over.set()
        watcher.join()


@dataclass(frozen=True, slots=True)
class _DoWork:
    """Runs in a Python task: does the work, and says so."""

    work: Work
    secrets: tuple[Secret, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's only row."""
        learn(self.secrets)
        for batch in batches:
            if batch.num_rows:
                self.work()
                yield pa.RecordBatch.from_arrays([pa.array(["done"], pa.string())], names=[CONTROL])
