"""What other members of a group read of its topics, which is no member's error and nobody would hear of."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Set
from typing import Final

from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.offsets import TopicPartition

_log = logging.getLogger("trident.queues")
_LASTS_S: Final = 120.0
"""For how long others have to have a part: a member that died keeps its own until `session.timeout.ms` has passed."""


class OtherMembers:
    """Says once that others read a part of the topics, when that lasts; for one thread."""

    def __init__(self, place: GroupPlace, partitions: Iterable[TopicPartition] = ()) -> None:
        self._place = place
        self._all = frozenset(partitions)
        self._since: float | None = None
        self._is_told = False

    def look(self, ours: Set[TopicPartition]) -> None:
        """Hear which partitions this member has."""
        if self._is_told or self._all <= ours:
            self._since = None
            return
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since >= _LASTS_S:
            self._is_told = True
            _log.warning(
                "%s: other members of the group have %d of %d partitions, and what they read is not in this stream. If "
                "one is another stream of this library, what moves between the two counts in both: give each a group "
                "of its own. If one is a process of this stream that was left behind, end it",
                self._place,
                len(self._all - ours),
                len(self._all),
            )
