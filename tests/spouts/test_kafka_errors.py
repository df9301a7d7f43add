"""What an error of a broker means: what passes by itself is asked again, what nobody understands stops."""

from __future__ import annotations

import struct
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError
from kafka import errors

from trident.base.errors import FatalError, RetryableError
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.kafka.errors import classify, raise_for_event


@pytest.mark.parametrize(
    "error",
    [
        errors.UnknownBrokerIdError(-1),
        errors.BrokerNotAvailableError(),
        errors.LeaderNotAvailableError(),
        errors.KafkaConnectionError(),
        errors.KafkaTimeoutError(),
        ConnectionResetError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broker_that_is_gone_or_has_no_leader_yet_is_asked_again(error: Exception) -> None:
    found = classify(error, "list offsets", "127.0.0.1:9")
    assert isinstance(found, RetryableError)
    assert "nothing was read" in str(found)


@pytest.mark.parametrize("error", [errors.IllegalStateError(), errors.TopicAuthorizationFailedError()])
def test_what_does_not_pass_by_itself_stops(error: Exception) -> None:
    assert isinstance(classify(error, "list offsets", "127.0.0.1:9"), FatalError)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
    ],
)
def test_what_the_client_hears_of_a_group_is_nothing_to_a_reader_of_ranges(code: int) -> None:
    """It looks for a coordinator by itself, whether it has rights on the group or not."""
    raise_for_event(KafkaError(code), None, ())


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED])
def test_a_right_that_reading_needs_stops(code: int) -> None:
    with pytest.raises(FatalError, match="Check the ACLs"):
        raise_for_event(KafkaError(code), None, ())


@pytest.mark.parametrize("error", [ValueError("hush"), TypeError("hush"), RuntimeError("hush"), struct.error("hush")])
def test_what_the_client_itself_can_not_do_names_the_stream_and_quotes_nothing(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = OpaqueKafkaSpout("t", bootstrap_servers="h:1").open("payments")
    admin = Mock()
    admin.describe_topics.side_effect = error
    monkeypatch.setattr(source, "_connected", lambda: admin)
    with pytest.raises(FatalError, match=r"for the stream 'payments' at Kafka h:1.*kafka-python failed") as caught:
        source.bounds()
    assert "hush" not in str(caught.value)
    assert "Nothing was read" in str(caught.value)
