"""An action on Spark: tagged, watched, and its failures told as what they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from trident.base.errors import RefusedError, TridentError
from trident.engine.errors import NOTHING_APPLIED, SPARK_FAILURES, classify, session_stopped
from trident.engine.quiet import quiet_spark_errors
from trident.engine.spark import is_classic, is_stopped, tagged, watched

AFTER_STOP: Final = (AttributeError, ValueError)
"""What PySpark raises, besides, once its session was stopped: it lets go of the JVM's objects, or of its channel."""
_POLL_SECONDS: Final = 0.05
_POLLS: Final = 60


@contextmanager
def acting(
    spark: SparkSession,
    tag: str,
    what: str,
    *,
    became: str = NOTHING_APPLIED,
    of_refusal: Callable[[RefusedError], TridentError] = lambda refused: refused,
) -> Iterator[None]:
    """Run an action of Spark's in the block; `what` names it in errors, `became` says what became of the data."""
    try:
        with watched(spark), tagged(spark, tag), quiet_spark_errors():
            yield
    except AFTER_STOP:
        if not _was_stopped(spark):
            raise
        raise session_stopped(what) from None
    except SPARK_FAILURES as error:
        if is_stopped(spark):
            raise session_stopped(what) from None
        found = classify(error, what, became)
        raise (of_refusal(found) if isinstance(found, RefusedError) else found) from None


def _was_stopped(spark: SparkSession) -> bool:
    """Tell whether a session was stopped just now: Connect closes its channel first, and says so afterwards."""
    for _ in range(1 if is_classic(spark) else _POLLS):
        if is_stopped(spark):
            return True
        time.sleep(_POLL_SECONDS)
    return is_stopped(spark)
