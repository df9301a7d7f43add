"""Telling a consumer group how far a topology is, for tools that show lag; nothing is ever read back from there.

What counts is in the ledger, and a group may be written by anybody. So this is done on the side: late, now and then,
and not at all where the brokers refuse it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from trident.base.kafka.clients import for_librdkafka
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.kafka.options import KafkaOptions

_log = logging.getLogger("trident.kafka")
_APART_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 3.0


def group_of(topology: str, stream: str) -> str:
    """Return the name of the consumer group that shows how far a stream is."""
    return f"trident.{topology}.{stream}"


class PositionReporter:
    """Commits the newest offsets to one group from a thread of its own, at most once a second; never raises."""

    def __init__(self, group: str, options: KafkaOptions) -> None:
        self._group = group
        self._options = options
        self._lock = threading.Lock()
        self._newest: dict[PartitionId, int] = {}
        self._news = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"trident-report {group}", daemon=True)
        self._thread.start()

    def report(self, ranges: Sequence[OffsetRange]) -> None:
        """Hear up to where all is done; returns at once."""
        with self._lock:
            self._newest.update({each.id: each.stop for each in ranges})
        self._news.set()

    def close(self) -> None:
        """Commit what is left, as far as that is quick."""
        self._ended.set()
        self._news.set()
        self._thread.join(_LAST_SECONDS)

    def _run(self) -> None:
        consumer: Consumer | None = None
        try:
            consumer = Consumer(self._configuration())
            while not self._ended.is_set():
                self._news.wait()
                self._commit(consumer)
                self._ended.wait(_APART_SECONDS)
            self._commit(consumer)
        except KafkaException as error:
            _log.warning(
                "the consumer group %r is not told how far its topology is: %s. The topology goes on; positions are in "
                "the ledger. report_lag=False keeps it from trying",
                self._group,
                error.args[0].name(),
            )
        finally:
            if consumer is not None:
                consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        self._news.clear()
        with self._lock:
            newest, self._newest = self._newest, {}
        if newest:
            offsets = [TopicPartition(id_.topic, id_.partition, offset) for id_, offset in newest.items()]
            consumer.commit(offsets=offsets, asynchronous=False)

    def _configuration(self) -> dict[str, str | bool]:
        return {
            "log_level": "2",
            **for_librdkafka(self._options.client_options),
            "bootstrap.servers": self._options.bootstrap_servers,
            "group.id": self._group,
            "enable.auto.commit": False,
        }
