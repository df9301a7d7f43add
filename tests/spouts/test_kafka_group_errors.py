"""What a consumer group's errors mean: those that no test can have a broker say in time."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from trident.base.errors import FatalError, RetryableError
from trident.spouts.queue.kafka.errors import GroupPlace, classify

PLACE = GroupPlace("127.0.0.1:9", ("t", "u"), "g")


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (KafkaError._ALL_BROKERS_DOWN, RetryableError, "away"),
        (KafkaError.COORDINATOR_NOT_AVAILABLE, RetryableError, "away"),
        (KafkaError.UNKNOWN_MEMBER_ID, RetryableError, "can't answer now"),
        (KafkaError._AUTHENTICATION, FatalError, "client_options"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, FatalError, "Read on the group"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, FatalError, "no such topic"),
        (KafkaError._AUTO_OFFSET_RESET, FatalError, "--reset-offsets"),
        (KafkaError.OFFSET_OUT_OF_RANGE, FatalError, "--reset-offsets"),
        (KafkaError.INVALID_GROUP_ID, FatalError, "INVALID_GROUP_ID"),
        (KafkaError.FENCED_INSTANCE_ID, FatalError, "FENCED_INSTANCE_ID"),
    ],
)
def test_an_error_is_named_by_what_to_do(code: int, kind: type[Exception], said: str) -> None:
    found = classify(KafkaError(code, "hunter2"), PLACE, "t[0]")
    assert type(found) is kind
    assert said in str(found)
    assert "topics t, u, group 'g' at Kafka 127.0.0.1:9: t[0]" in str(found)
    assert "hunter2" not in str(found)
