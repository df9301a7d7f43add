"""Consumers of a Python worker process, kept for its next task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer

_idle: dict[tuple[tuple[str, str], ...], Consumer] = {}


@contextmanager
def borrowed_consumer(options: Mapping[str, str]) -> Iterator[Consumer]:
    """Lend this process's consumer with these options, without an assignment; one task at a time.

    After any exception (a killed task included) it is closed, not kept: what it had fetched is gone with it.
    """
    key = tuple(sorted(options.items()))
    consumer = _idle.pop(key, None)
    if consumer is None:
        consumer = Consumer(dict(options))
    try:
        yield consumer
        consumer.unassign()
    except BaseException:
        consumer.close()
        raise
    _idle[key] = consumer
