"""Errors of a Kafka consumer group, named by what the caller must do."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from trident.base.errors import FatalError, RetryableError, TridentError

_KEPT: Final = "Nothing was committed by this: what was read and not acked is read again"
_AWAY: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
    }
)
_MOVED: Final = frozenset(
    {
        KafkaError._MAX_POLL_EXCEEDED,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._NO_OFFSET,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
    }
)
_DENIED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)
_MISSING: Final = frozenset(
    {KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART}
)
_LOST: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """Which group reads what where, as errors name it."""

    brokers: str
    topics: tuple[str, ...]
    group: str

    def __str__(self) -> str:
        return f"topics {', '.join(self.topics)}, group {self.group!r} at Kafka {self.brokers}"

    @property
    def setting(self) -> str:
        """The command of Kafka's own tool that sets the group's positions, up to what it is to set."""
        brokers, group = shlex.quote(self.brokers), shlex.quote(self.group)
        return f"kafka-consumer-groups --bootstrap-server {brokers} --reset-offsets --execute --group {group}"


def is_away(error: KafkaError) -> bool:
    """Tell whether the client goes on by itself once a broker is back."""
    return error.code() in _AWAY


def is_moved(error: KafkaError) -> bool:
    """Tell whether it says that partitions are another member's, or are about to be."""
    return error.code() in _MOVED


def is_denied(error: KafkaError) -> bool:
    """Tell whether the login, or a right, was refused."""
    return error.code() in _DENIED


def classify(error: KafkaError, place: GroupPlace, where: str = "") -> TridentError:
    """Return what an error means to the caller; `where` names a partition.

    One that is not known is fatal: going on after what nobody understood could lose data.
    """
    at = f"{place}{': ' + where if where else ''}"
    if is_denied(error):
        return FatalError(
            f"{at}: Kafka has refused the login or a right ({error.name()}). {_KEPT}. Check client_options; the rights "
            "that are needed: Read and Describe on the topics, Read on the group"
        )
    if error.code() in _MISSING:
        return FatalError(
            f"{at}: there is no such topic ({error.name()}). If it was there before, it was deleted with all that was "
            "not acked; what is done stays done. Create it, or correct the name; the spout creates none"
        )
    if error.code() in _LOST:
        return FatalError(
            f"{at}: the log does not hold the group's position ({error.name()}): what it had there was deleted before "
            "it was acked, or the topic was cut or made again. Nothing was skipped. While no run is there, move the "
            f"group: {place.setting} --topic {_as_tool(where)} --to-earliest; and keep records longer (retention)"
        )
    if is_away(error) or is_moved(error) or error.retriable():
        return RetryableError(f"{at}: the brokers are away, or can't answer now ({error.name()}). {_KEPT}")
    return FatalError(f"{at}: Kafka has refused what was asked ({error.name()}). {_KEPT}")


def _as_tool(where: str) -> str:
    """Return a partition as Kafka's tool has it."""
    return shlex.quote(where.removesuffix("]").replace("[", ":")) if where else "TOPIC:PARTITION"


def exchanged(place: GroupPlace, topic: str) -> FatalError:
    """Return the error for a topic that is another one of the same name."""
    return FatalError(
        f"{place}: the topic {topic!r} was deleted and made again while it was read, and what was not acked of the old "
        "one is gone with it; what is done stays done. Start again: the new one is read from its beginning, or the "
        "start says what is not known of it"
    )


def smaller_horizon(place: GroupPlace, before: int, now: int) -> FatalError:
    """Return the error for a stream that remembers fewer records than its processes before had to."""
    return FatalError(
        f"{place}: the process before remembered the last {before:,} records that are done, and has not ended by "
        f"itself; this one would remember {now:,}. Up to {before // 2:,} may be done above the group's positions: they "
        "are given again, and those that are forgotten would count twice. Nothing was read. Start with a horizon of "
        f"{before} in the spout's class, end that run by SIGTERM or Ctrl-C when no record is held up, and make it "
        "smaller then"
    )
