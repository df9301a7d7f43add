"""What debug logs of kafka-python must not show: its configuration, and what it sends, hold how to log in."""

from __future__ import annotations

import logging
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
