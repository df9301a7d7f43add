"""What the two clients' errors mean to a sink: one table for each, by what the caller must do."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaError
from kafka import errors as python_errors

from trident.base.errors import (
    ConfigurationError,
    FatalError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
    TridentError,
)
from trident.base.kafka.errors import DENIED, PASSING

REFUSED: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_EXCEPTION,
    }
)
"""The same record would be refused again."""
UNKNOWN: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
NOT_ALLOWED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    }
)
_FENCED: Final = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
)
_PASSING: Final = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
GIVEN_UP: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Said of a record that was not sent because the transaction had failed already: of which, others say."""
_TAKEN: Final = (
    "another producer has begun a session under its transactional id: its successor, or another program, which must "
    "use another id"
)


def of_beginning(error: KafkaError, sink: str, id_: str) -> TridentError:
    """Return what it means that no session could be begun; nothing is sent then."""
    name, code = error.name(), error.code()
    if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return ConfigurationError(
            f"sink {sink!r}: the broker allows no transaction to take so long as transaction.timeout.ms says ({name}); "
            "nothing was sent. Lower it in client_options, or raise the broker's transaction.max.timeout.ms"
        )
    if code in NOT_ALLOWED:
        return _denied(sink, name, f"transactional id {id_!r}")
    if code in _FENCED or error.retriable() or code in _PASSING:
        return RetryableError(f"sink {sink!r} could not begin a session as {id_!r} ({name}); nothing was sent")
    return FatalError(f"sink {sink!r} could not begin a session as {id_!r} ({name}); nothing was sent")


def of_sending(error: KafkaError, sink: str, topic: str, overdue: float | None = None) -> TridentError:
    """Return what it means that a record was not taken; the transaction is given up, nothing of it can be read.

    `overdue` is how many seconds a transaction may take, where this one has taken longer: the brokers fence its
    producer then as a successor does.
    """
    name, code = error.name(), error.code()
    if code in REFUSED:
        return RefusedError(f"sink {sink!r}: topic {topic!r} refuses a record for good ({name}); nothing was sent")
    if code in UNKNOWN:
        return RefusedError(
            f"sink {sink!r}: there is no topic {topic!r} any more ({name}); nothing was sent. Create it again"
        )
    if code in NOT_ALLOWED:
        return _denied(sink, name, f"topic {topic!r}")
    if code in _FENCED:
        if overdue is not None:
            return RetryableError(f"{_overdue(sink, name, overdue)}. Nothing of it can be read")
        return _fenced(sink, name)
    return RetryableError(f"sink {sink!r} could not send to topic {topic!r} ({name}); nothing of it can be read")


def of_ending(error: KafkaError, sink: str, topics: Collection[str], overdue: float | None = None) -> TridentError:
    """Return what it means that a commit of records for these topics was not confirmed; `overdue` see `of_sending`."""
    name, code = error.name(), error.code()
    if code in NOT_ALLOWED:
        return _denied(sink, name, f"a transaction in {', '.join(map(repr, sorted(topics)))}")
    if code in _FENCED and overdue is not None:
        return OutcomeUnknownError(f"{_overdue(sink, name, overdue)}. Its marker is read to tell whether it is in")
    if code in _FENCED:
        return OutcomeUnknownError(
            f"sink {sink!r}: {_TAKEN} ({name}). Whether the transaction was committed before that is not known; its "
            "marker is read to tell"
        )
    if error.txn_requires_abort():
        return RetryableError(f"sink {sink!r}: the transaction was given up ({name}); nothing of it can be read")
    return OutcomeUnknownError(
        f"sink {sink!r}: whether the transaction was committed is not known ({name}); its marker is read to tell"
    )


_SILENT: Final = (
    ". Something answers at that address: if it stays so, security.protocol, the login or certificates in "
    "client_options are not what its listener takes"
)
"""What a listener does that is spoken to in another protocol than its own."""


def of_asking(error: Exception, sink: str, doing: str, servers: str) -> TridentError:
    """Return what an error of kafka-python means; unknown ones are fatal: nobody knows what going on would do."""
    name = type(error).__name__
    if isinstance(error, DENIED):
        return FatalError(
            f"Kafka at {servers} does not let sink {sink!r} {doing} ({name}); nothing was sent. Check the ACLs"
        )
    if isinstance(error, python_errors.OffsetOutOfRangeError):
        return RetryableError(
            f"sink {sink!r} could not {doing} at Kafka {servers}: the log was cut where it was read last. Nothing was "
            "sent; it is looked through anew"
        )
    if isinstance(error, PASSING):
        hint = _SILENT if isinstance(error, python_errors.KafkaTimeoutError) else ""
        return RetryableError(f"sink {sink!r} could not {doing} at Kafka {servers} ({name}); nothing was sent{hint}")
    if isinstance(error, python_errors.KafkaError):
        return FatalError(f"sink {sink!r} could not {doing} at Kafka {servers} ({name}: {error}); nothing was sent")
    return FatalError(  # of a text that is not Kafka's nobody knows what it quotes
        f"sink {sink!r} could not {doing} at Kafka {servers}: the client kafka-python failed ({name}), not the broker. "
        "Nothing was sent. Look at client_options, and at the version of kafka-python"
    )


def of_hidden_settings(sink: str, topic: str, rights: Collection[str] | None) -> TridentError:
    """Return what it means that a topic is there and its settings are not told; `rights` are ours as far as known."""
    if rights is not None and "DESCRIBE_CONFIGS" in rights:
        return RetryableError(
            f"sink {sink!r}: the settings of topic {topic!r} are not known yet, or it was just deleted; nothing sent"
        )
    return FatalError(
        f"Kafka does not let sink {sink!r} read the settings of topic {topic!r}, which say how large a record may be "
        "and whether markers are kept; nothing was sent. Check the ACLs: DESCRIBE_CONFIGS on its topics and on its "
        "marker topic"
    )


def _denied(sink: str, name: str, what: str) -> FatalError:
    return FatalError(
        f"Kafka refused {what} to sink {sink!r} ({name}); nothing of it can be read. Check the ACLs: WRITE, "
        "DESCRIBE and DESCRIBE_CONFIGS on its topics, the same and READ on its marker topic, WRITE and DESCRIBE on its "
        "transactional ids"
    )


def _fenced(sink: str, name: str) -> RetryableError:
    return RetryableError(f"sink {sink!r}: {_TAKEN} ({name}); nothing of this transaction can be read")


def _overdue(sink: str, name: str, longest: float) -> str:
    return (
        f"sink {sink!r}: its transaction took longer than the {longest:g} s that it may, and the brokers have given "
        f"it up ({name}). Let it take longer (batch_timeout of RunOptions, up to 15 minutes, or transaction.timeout.ms "
        "in client_options), or plan smaller batches"
    )
