"""The clients of a member of a Kafka consumer group: who consumes, and who asks about topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from trident.base.errors import FatalError
from trident.spouts.queue.kafka.errors import GroupPlace

_OURS: Final = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    # a group without a position is placed here by name; any other reset would skip what was lost
    "auto.offset.reset": "error",
    "allow.auto.create.topics": "false",
    "enable.partition.eof": "true",
    "partition.assignment.strategy": "range,roundrobin",
    "log_level": "2",
}
_OF_ADMINS: Final = ("bootstrap.", "security.", "client.", "sasl.", "ssl.", "socket.", "broker.", "log_level")
"""How the options begin that say how to reach the brokers and log in."""


def member_of(
    options: Mapping[str, str],
    place: GroupPlace,
    on_error: Callable[[KafkaError], None],
    on_commit: Callable[[KafkaError | None, Sequence[Place]], None],
) -> Consumer:
    """Return a consumer that has not joined its group yet; raises `FatalError` for options that the client refuses."""
    given = {**options, **_OURS, "group.id": place.group}
    try:
        return Consumer({**given, "error_cb": on_error, "on_commit": on_commit})
    except KafkaException as error:
        said = str(error.args[0])  # it may quote the value: only names are told
        meant = sorted(name for name in given if name in said)
        raise FatalError(
            f"{place}: the client refuses its options ({error.args[0].name()}: {', '.join(meant)}); nothing "
            "was read. Correct client_options"
        ) from None


def admin_of(options: Mapping[str, str]) -> AdminClient:
    """Return a client that asks what the consumer can't: which topic it is."""
    given = {**options, **_OURS}
    return AdminClient({name: value for name, value in given.items() if name.startswith(_OF_ADMINS)})
