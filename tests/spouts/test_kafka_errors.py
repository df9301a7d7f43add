"""What an error of a broker means: what passes by itself is asked again, what nobody understands stops."""

from __future__ import annotations

import struct
from unittest.mock import Mock

import pytest
from kafka import errors

from trident.base.errors import FatalError, RetryableError
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.kafka.errors import classify


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
