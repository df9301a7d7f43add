"""How long messages take from their emission to their ack: samples of the last minutes, in bounded memory."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

SAMPLED: Final = 20
"""One message in so many is measured."""
MINUTES: Final = 5
"""For how long a sample counts."""
_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class CompleteLatency:
    """What is known of a stream's messages that were acked in the last minutes, in milliseconds."""

    stream: str
    samples: int
    mean_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    minutes: int = MINUTES


@runtime_checkable
class MeasuresLatency(Protocol):
    """A source that knows how long its records take to be done."""

    def latency(self) -> CompleteLatency | None:
        """Return it, None while nothing was measured; at once, from any thread."""


class RollingLatency:
    """The last samples; from any thread."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._samples: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self._lock = threading.Lock()

    def add(self, seconds: Iterable[float], now: float) -> None:
        """Take samples in."""
        with self._lock:
            self._samples.extend((now, each) for each in seconds)

    def summary(self, now: float) -> CompleteLatency | None:
        """Return what the samples of the last minutes say."""
        with self._lock:
            while self._samples and self._samples[0][0] < now - MINUTES * 60:
                self._samples.popleft()
            found = sorted(seconds * 1_000 for _, seconds in self._samples)
        if not found:
            return None
        mean = math.fsum(found) / len(found)
        return CompleteLatency(
            stream=self._stream,
            samples=len(found),
            mean_ms=round(mean, 1),
            p50_ms=round(_rank(found, 0.5), 1),
            p99_ms=round(_rank(found, 0.99), 1),
            max_ms=round(found[-1], 1),
        )


def _rank(ascending: list[float], share: float) -> float:
    """Return the smallest sample that so large a share of them does not exceed."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]
