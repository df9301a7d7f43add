"""What happens in a run, as values, and the listener that hears of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class TookOver:
    """A coordinator owns the topology: every fence is raised, every position is checked."""

    topology: str
    epoch: int
    incarnation: str
    done: int
    """The last txid that every state and sink has."""
    pinned: int | None
    """The txid that is decided and finished first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run is up: its sources and states are open, and it is about to plan."""

    topology: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStopped:
    """The run has ended; `error` is what ended it, None when it was stopped or has caught up."""

    topology: str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned:
    """The plan of an attempt is in the ledger."""

    topology: str
    epoch: int
    txid: int
    attempt: int
    tries: int
    offsets: int
    """How many positions it reads; records are at most as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProcessed:
    """An attempt is processed and staged, and waits for its turn; nothing of it can be seen by a reader."""

    topology: str
    epoch: int
    txid: int
    attempt: int
    tries: int
    records: int
    keys: int
    plan_ms: int
    process_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """How many positions a partition holds behind what is done, as of the last time that its source was asked."""

    stream: str
    topic: str
    partition: int
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCommitted:
    """A txid is done; durations are in milliseconds, and 0 of a batch that another coordinator has processed."""

    topology: str
    epoch: int
    txid: int
    attempt: int
    tries: int
    records: int
    keys: int
    dead_letters: int
    plan_ms: int
    process_ms: int
    turn_ms: int
    commit_ms: int
    lags: tuple[PartitionLag, ...]

    @property
    def lag(self) -> int:
        """How many positions all partitions hold behind it."""
        return sum(each.lag for each in self.lags)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFailed:
    """An attempt has failed: it is tried again, or the run ends and says so."""

    topology: str
    epoch: int
    txid: int
    attempt: int
    kind: str
    """The error's class."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRefused:
    """The run stops at a txid, and the ledger is told why; `state` is who refused it, empty where it is none."""

    topology: str
    epoch: int
    txid: int
    attempt: int
    kind: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsLost:
    """A txid that is done has recorded offsets `[start, stop)` that were gone before they could be read."""

    topology: str
    epoch: int
    txid: int
    stream: str
    topic: str
    partition: int
    start: int
    stop: int
    reason: str


RunEvent: TypeAlias = (
    TookOver
    | RunStarted
    | RunStopped
    | BatchPlanned
    | BatchProcessed
    | BatchCommitted
    | BatchFailed
    | BatchRefused
    | OffsetsLost
)


class RunListener:
    """Hears what happens in a run: `RunOptions(listeners=[…])`; override what is of interest.

    Methods are called in the process of the run, one at a time, in a thread that no batch waits for. What one raises
    is logged once per kind. One that is too slow misses events, which is counted and logged: nothing durable may hang
    on a listener. A run that is killed may not have told of its last txids.
    """

    def took_over(self, event: TookOver, /) -> None:
        """Hear that the run owns the topology."""

    def started(self, event: RunStarted, /) -> None:
        """Hear that the run is up."""

    def planned(self, event: BatchPlanned, /) -> None:
        """Hear of an attempt that is planned."""

    def processed(self, event: BatchProcessed, /) -> None:
        """Hear of an attempt that is processed."""

    def committed(self, event: BatchCommitted, /) -> None:
        """Hear of a txid that is done."""

    def failed(self, event: BatchFailed, /) -> None:
        """Hear of an attempt that has failed."""

    def refused(self, event: BatchRefused, /) -> None:
        """Hear that the run stops at a txid."""

    def lost(self, event: OffsetsLost, /) -> None:
        """Hear of offsets that were gone."""

    def stopped(self, event: RunStopped, /) -> None:
        """Hear that the run has ended; the last event."""
