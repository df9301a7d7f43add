"""What debug logs of clients must not show: their configuration, and what they send, hold how to log in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TALKATIVE: Final = (
    "kafka.admin.client",
    "kafka.net.compat",
    "kafka.net.connection",
    "kafka.net.manager",
    "kafka.net.transport",
    "kafka.protocol.parser",
)
_RAW: Final = (bytes, bytearray, memoryview)


def keep_secrets_out_of_logs() -> None:
    """Leave out of the client's logs what may say how to log in; may be called again."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if _shows_no_secret not in logger.filters:
            logger.addFilter(_shows_no_secret)


def _shows_no_secret(record: logging.LogRecord) -> bool:
    """A login is in a configuration, in a request of SASL, and in the bytes that are sent and received."""
    words = str(record.msg)
    shown = record.args if isinstance(record.args, tuple) else ()
    is_login = any(isinstance(each, _RAW) or type(each).__name__.startswith("Sasl") for each in shown)
    return not is_login and "onfiguration" not in words and "config" not in words


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
