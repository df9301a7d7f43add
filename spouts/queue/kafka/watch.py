"""Whether the topics that a group reads are still those that they were."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final, cast

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from trident.spouts.queue.kafka.errors import GroupPlace, classify, exchanged, is_away

_PATIENCE_S: Final = 10.0
_LOOK_S: Final = 10.0
"""How often it is asked."""
_MOST_UNANSWERED: Final = 3


class TopicWatch:
    """Knows topics by the ids that they had when it was opened; for one thread."""

    def __init__(self, place: GroupPlace) -> None:
        self._place = place
        self._look_at = 0.0
        self._ids: dict[str, str] = {}
        self._asked: Mapping[str, Future[object]] = {}
        self._unanswered = 0

    @property
    def ids(self) -> Mapping[str, str]:
        """The topics' ids; empty where the brokers have none."""
        return self._ids

    def open(self, admin: AdminClient) -> None:
        """Ask which topics they are."""
        self._admin = admin
        self._ids = {topic: self._id(answer) for topic, answer in self._describe().items()}
        self._look_at = time.monotonic() + _LOOK_S

    def look(self) -> None:
        """Look now and then whether each topic is still the one that it was, without waiting for the answer.

        Brokers that leave several unanswered are away: the client would wait for them without a word, for ever.
        """
        if self._asked and all(answer.done() for answer in self._asked.values()):
            asked, self._asked = self._asked, {}
            self._unanswered = self._unanswered + 1 if any(map(_is_unanswered, asked.values())) else 0
            for topic, answer in asked.items():
                if not _is_unanswered(answer) or self._unanswered >= _MOST_UNANSWERED:
                    self._require_same(topic, answer)
        if not self._asked and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_S
            self._asked = self._describe()

    def require_same(self, topic: str) -> None:
        """Ask, and raise `FatalError` for a topic that is another one."""
        self._require_same(topic, self._describe()[topic])

    def _require_same(self, topic: str, answer: Future[object]) -> None:
        if self._id(answer) != self._ids[topic]:
            raise exchanged(self._place, topic)

    def _describe(self) -> Mapping[str, Future[object]]:
        asked = self._admin.describe_topics(TopicCollection(list(self._place.topics)), request_timeout=_PATIENCE_S)
        return cast("Mapping[str, Future[object]]", asked)

    def _id(self, answer: Future[object]) -> str:
        try:
            return str(getattr(answer.result(_PATIENCE_S), "topic_id", None) or "")
        except KafkaException as error:
            raise classify(error.args[0], self._place) from None


def _is_unanswered(answer: Future[object]) -> bool:
    error = answer.exception()
    return isinstance(error, KafkaException) and is_away(error.args[0])
