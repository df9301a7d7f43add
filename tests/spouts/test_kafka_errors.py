"""What an error of a broker means: what passes by itself is asked again, what nobody understands stops."""

from __future__ import annotations

import pytest
from kafka import errors

from trident.base.errors import FatalError, RetryableError
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
