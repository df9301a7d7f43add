"""How far a consumer has fetched: aborted and compacted records move nothing that it hands out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer

from trident.base.ranges import PartitionId

_TELLINGS = 4
"""How often a client tells how far it is, within the time in which it must get further."""
_LONGEST_MS = 24 * 60 * 60 * 1000


def telling(stall_seconds: float) -> dict[str, str]:
    """Return the client option by which a consumer tells of itself often enough."""
    return {"statistics.interval.ms": str(min(max(int(stall_seconds * 1000 / _TELLINGS), 10), _LONGEST_MS))}


class Fetched:
    """What the client last told of itself."""

    def __init__(self) -> None:
        self._told = ""
        self._topics: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]] = {}

    def __call__(self, statistics: str) -> None:
        """Hear the client, in the thread that asks it for records."""
        self._told = statistics

    def positions(self, ids: Iterable[PartitionId]) -> int:
        """Return the sum of the next offsets to fetch."""
        if self._told:
            self._topics, self._told = json.loads(self._told)["topics"], ""
        return sum(self._position(id_) for id_ in ids)

    def _position(self, id_: PartitionId) -> int:
        partitions = self._topics.get(id_.topic, {}).get("partitions", {})
        return max(0, partitions.get(str(id_.partition), {}).get("next_offset", 0))


class TellingConsumer(Consumer):
    """A consumer that knows how far it has fetched; `telling` says how often it hears of that.

    Never one that is kept: while nobody asks it for records, what it tells piles up.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.fetched = Fetched()
        super().__init__({**options, "stats_cb": self.fetched})


class Patience:
    """Ends when for so long nothing was handed out and, where that is told, nothing fetched."""

    def __init__(self, seconds: float, told: Fetched | None = None) -> None:
        self._seconds = seconds
        self._told = told
        self._remaining = -1
        self._fetched = 0
        self._until = 0.0

    def is_over(self, remaining: int, ids: Iterable[PartitionId]) -> bool:
        """Hear how much is left to be handed out, and of what."""
        fetched = self._told.positions(ids) if self._told is not None else 0
        now = time.monotonic()
        if remaining != self._remaining or fetched > self._fetched:
            self._remaining, self._fetched, self._until = remaining, fetched, now + self._seconds
        return now > self._until
