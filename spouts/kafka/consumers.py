"""Consumers of a Python worker process, kept for its next task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException

from trident.base.errors import FatalError
from trident.spouts.kafka.progress import TellingConsumer, telling

_Kind = TypeVar("_Kind", bound=Consumer)
_QUIET = {"log_level": "2"}
"""What a read meets is an error of its own; an idle consumer would go on telling which brokers are away."""


@dataclass(frozen=True, slots=True)
class _Kept:
    consumer: Consumer
    topics: Mapping[str, str]
    """The ids of all topics that it has read, by name."""

    def fits(self, topics: Mapping[str, str]) -> bool:
        """Tell whether each topic of these names that it has read was this one."""
        return all(self.topics.get(name, id_) == id_ for name, id_ in topics.items())


_idle: dict[tuple[tuple[str, str], ...], _Kept] = {}


@contextmanager
def borrowed_consumer(options: Mapping[str, str], topics: Mapping[str, str]) -> Iterator[Consumer]:
    """Lend this process's consumer with these options, without an assignment; one task at a time.

    `topics` are the ids of what is to be read, by name. A consumer that has read another topic of the same name is
    closed: it would ask for that one's leader epoch, and hear nothing. So is one that is used when anything is raised
    (a killed task included): what it had fetched is gone with it.
    """
    key = tuple(sorted(options.items()))
    kept = _idle.pop(key, None)
    if kept is not None and not kept.fits(topics):
        kept.consumer.close()
        kept = None
    if kept is None:
        kept = _Kept(_new(options, Consumer), {})
    try:
        yield kept.consumer
        kept.consumer.unassign()
    except BaseException:
        kept.consumer.close()
        raise
    _idle[key] = _Kept(kept.consumer, {**kept.topics, **topics})


@contextmanager
def telling_consumer(options: Mapping[str, str], stall_seconds: float) -> Iterator[TellingConsumer]:
    """Give a consumer that tells how far it has fetched, often enough for such a stall; closed after the block."""
    consumer = _new(dict(options) | telling(stall_seconds), TellingConsumer)
    try:
        yield consumer
    finally:
        consumer.close()


def _new(options: Mapping[str, str], kind: Callable[[dict[str, str]], _Kind]) -> _Kind:
    try:
        return kind(_QUIET | dict(options))
    except KafkaException as error:
        said = str(error.args[0])  # it may quote the value: only names are told
        meant = [name for name in options if name in said and name not in options.values()]
        raise FatalError(
            f"the Kafka client refuses its options ({error.args[0].name()}"
            f"{': ' + ', '.join(sorted(meant)) if meant else ''}); nothing was read. Correct client_options"
        ) from None
