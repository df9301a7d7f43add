"""Reading what a sink has sent, independently of the library: as a foreign consumer with read_committed does."""

from __future__ import annotations

import uuid
from contextlib import closing

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition


def committed(bootstrap_servers: str, topic: str) -> list[Message]:
    """Return all committed records of a topic up to its end as it is now, partition by partition."""
    options = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": f"reader-{uuid.uuid4().hex}",
        "isolation.level": "read_committed",
        "enable.partition.eof": "true",
        "enable.auto.commit": "false",
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": "20",
    }
    found: dict[int, list[Message]] = {}
    with closing(Consumer(options)) as consumer:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        open_partitions = set(partitions)
        while open_partitions:
            message = consumer.poll(20)
            assert message is not None, "Kafka sent nothing for 20 s"
            error = message.error()
            if error is None:
                found.setdefault(int(message.partition() or 0), []).append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(int(message.partition() or 0))
            else:
                raise AssertionError(error)
    return [message for number in sorted(found) for message in found[number]]


def values(bootstrap_servers: str, topic: str) -> list[str]:
    """Return the values of all committed records as texts."""
    return [(message.value() or b"").decode() for message in committed(bootstrap_servers, topic)]
