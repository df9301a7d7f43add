"""Keeps Spark's own error log, which quotes values of records, from repeating what is raised anyway."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

_SPARK_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class _ByThread(logging.Filter):
    """Drops records of threads that asked for it; other users of Spark in this process keep theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.asked, "quiet", False)


_FILTER = _ByThread()


@contextmanager
def quiet_spark_errors() -> Iterator[None]:
    """Keep Spark's error logger quiet for the calling thread; the errors themselves are raised as always."""
    for name in _SPARK_LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_FILTER)  # a no-op when it is there already
    _FILTER.asked.quiet = True
    try:
        yield
    finally:
        _FILTER.asked.quiet = False
