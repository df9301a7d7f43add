"""Consumers of a process, kept for its next read: a Python worker's next task, a coordinator's next small batch."""

from __future__ import annotations

import os
import threading
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


_Key = tuple[int, tuple[tuple[str, str], ...]]
_idle: dict[_Key, list[_Kept]] = {}
_lock = threading.Lock()


@contextmanager
def borrowed_consumer(options: Mapping[str, str], topics: Mapping[str, str]) -> Iterator[Consumer]:
    """Lend a consumer of this process with these options, without an assignment, to one read at a time.

    `topics` are the ids of what is to be read, by name. A consumer that has read another topic of the same name is
    closed: it would ask for that one's leader epoch, and hear nothing. So is one that is used when anything is raised
    (a killed task included): what it had fetched is gone with it.
    """
    key = _key(options)
    kept = _taken(key)
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
    with _lock:
        _idle.setdefault(key, []).append(_Kept(kept.consumer, {**kept.topics, **topics}))


def close_kept(options: Mapping[str, str]) -> None:
    """Close the consumers with these options that nobody has borrowed; what is read next makes new ones."""
    with _lock:
        found = _idle.pop(_key(options), [])
    for kept in found:
        kept.consumer.close()


def _key(options: Mapping[str, str]) -> _Key:
    # a fork takes a consumer's memory along, but not its threads
    return os.getpid(), tuple(sorted(options.items()))


def _taken(key: _Key) -> _Kept | None:
    with _lock:
        found = _idle.get(key)
        return found.pop() if found else None


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
