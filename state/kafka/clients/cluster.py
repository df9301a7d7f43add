"""What a sink asks of its cluster beside sending: a small interface, so that whoever serves it can be exchanged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from trident.base.errors import RetryableError
from trident.state.kafka.records import Record


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What is known of a topic that is there."""

    partitions: int
    cleanup: str
    """Its `cleanup.policy`."""
    max_message_bytes: int


@dataclass(frozen=True, slots=True)
class FoundMarker:
    """The newest marker under a key, and the partition of the marker topic that all of its key are in."""

    data: bytes | None
    partition: int


class StillOpenError(RetryableError):
    """A transaction is open in a marker topic: until it has ended nobody knows what was sent."""


class Cluster(Protocol):
    """Administration and markers of one cluster; used by one thread at a time, but for `settings`.

    Every method raises `RetryableError` when the cluster can't be reached now, `FatalError` when it refuses us.
    """

    def id(self) -> str:
        """Return the cluster's own id."""

    def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        """Return the settings of those topics that are there."""

    def make_marker_topic(self, topic: str) -> None:
        """Create a compacted topic, unless it is there by now."""

    def newest(self, topic: str, key: str, *, briefly: bool = False) -> FoundMarker:
        """Return the newest marker of this key among all that was committed when it is called.

        Raises `MismatchError` where the topic is not there.
        Where a transaction is still open below the end of the log nobody can tell: it is waited for, a shorter time if
        `briefly`, then `StillOpenError` is raised. Never decides by what may come in between.
        """

    def close(self) -> None:
        """Let go of connections; may be called again."""


class Session(Protocol):
    """One producer under a transactional id, with an epoch of its own: no older one's transaction can commit any more.

    It has at most one transaction. Raises `RetryableError` when nothing was committed, `OutcomeUnknownError` when
    nobody knows, `RefusedError` for a record that can never be sent, `FatalError` for what a person has to decide.
    """

    def cluster_id(self) -> str:
        """Return the id of the cluster that it is of."""

    def begin(self) -> None:
        """Begin its transaction."""

    def send(self, record: Record, partition: int | None = None) -> None:
        """Add a record; without a partition its key decides."""

    def commit(self) -> None:
        """Commit all that was sent."""

    def close(self) -> None:
        """End it; what was not committed is aborted, now or by whoever begins a session of the same id."""


class Producers(Protocol):
    """Opens sessions."""

    def open(self, transactional_id: str, limits: Mapping[str, int]) -> Session:
        """Return a session whose producer epoch is above every one before; `limits` are the topics' message sizes."""
