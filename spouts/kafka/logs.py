"""What the debug log of Spark's bridge must not show: options of a read hold how to log in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_commands_logged() -> Iterator[None]:
    """Leave out of Py4J's debug log what the calling thread sends to the JVM inside the block, texts and all."""
    caller = threading.get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != caller

    loggers = [logging.getLogger(name) for name in ("py4j.clientserver", "py4j.java_gateway")]
    for logger in loggers:
        logger.addFilter(is_of_another)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another)
