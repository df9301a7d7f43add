"""Consumers of a Python worker process, kept for its next task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException

from trident.base.errors import FatalError

_QUIET = {"log_level": "2"}
"""What a read meets is an error of its own; an idle consumer would go on telling which brokers are away."""
_idle: dict[tuple[tuple[str, str], ...], Consumer] = {}


@contextmanager
def borrowed_consumer(options: Mapping[str, str]) -> Iterator[Consumer]:
    """Lend this process's consumer with these options, without an assignment; one task at a time.

    After any exception (a killed task included) it is closed, not kept: what it had fetched is gone with it.
    """
    key = tuple(sorted(options.items()))
    consumer = _idle.pop(key, None)
    if consumer is None:
        consumer = _new(options)
    try:
        yield consumer
        consumer.unassign()
    except BaseException:
        consumer.close()
        raise
    _idle[key] = consumer


def _new(options: Mapping[str, str]) -> Consumer:
    try:
        return Consumer(_QUIET | dict(options))
    except KafkaException as error:
        said = str(error.args[0])  # it may quote the value: only names are told
        meant = [name for name in options if name in said and name not in options.values()]
        raise FatalError(
            f"the Kafka client refuses its options ({error.args[0].name()}"
            f"{': ' + ', '.join(sorted(meant)) if meant else ''}); nothing was read. Correct client_options"
        ) from None
