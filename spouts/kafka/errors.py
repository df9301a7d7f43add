"""Kafka's errors, named by what the caller must do: one table per client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError
from kafka import errors as python_errors

from trident.base.errors import FatalError, RetryableError, TridentError
from trident.base.kafka.errors import DENIED, PASSING
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.base import OffsetsLostError

PARTITION_EOF: Final = KafkaError._PARTITION_EOF

_WAIT_CODES: Final = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
    }
)
_OF_GROUP_CODES: Final = frozenset(
    {
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
    }
)
"""What the client hears when it looks for the coordinator of its group, which it does though a reader is of none."""
_DENIED_CODES: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    }
)
_LOST_CODES: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


def classify(error: Exception, doing: str, brokers: str) -> TridentError:
    """Return what a kafka-python error means to the caller; `doing` completes "could not …".

    Unknown errors are fatal: going on after what nobody understood could lose data.
    """
    name = type(error).__name__
    if isinstance(error, DENIED):
        return FatalError(f"Kafka at {brokers} refused to let us {doing} ({name}); nothing was read. Check the ACLs")
    if isinstance(error, PASSING):
        return RetryableError(f"could not {doing} at Kafka {brokers} ({name}); nothing was read")
    if isinstance(error, python_errors.KafkaError):
        return FatalError(f"could not {doing} at Kafka {brokers} ({name}: {error}); nothing was read")
    return FatalError(  # of a text that is not Kafka's nobody knows what it quotes
        f"could not {doing} at Kafka {brokers}: the client kafka-python failed ({name}), not the broker. Nothing was "
        "read. Look at start and client_options, and at the version of kafka-python"
    )


def raise_for_event(error: KafkaError, place: PartitionId | None, ranges: Sequence[OffsetRange]) -> None:
    """Raise what an error event of librdkafka means to the task; return where librdkafka goes on by itself."""
    if error.code() in _WAIT_CODES | _OF_GROUP_CODES:
        return
    if error.code() in _LOST_CODES:
        raise OffsetsLostError(tuple(item for item in ranges if item.id == place) or tuple(ranges))
    if error.code() in _DENIED_CODES:
        raise FatalError(f"Kafka refused the read ({error.name()}); nothing of the batch was applied. Check the ACLs")
    if error.fatal():
        raise FatalError(f"the Kafka client gave up ({error.name()}); nothing of the batch was applied")
    raise RetryableError(f"reading from Kafka failed ({error.name()}); nothing of the batch was applied")
