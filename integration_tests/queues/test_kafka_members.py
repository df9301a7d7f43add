"""Two members of a group on a real broker: what one of them can't see of the other is not passed over."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import closing

from kafka import KafkaAdminClient

from integration_tests.fix_kafka import Kafka
from integration_tests.queues.spouts import opened
from integration_tests.queues.test_kafka_acking import numbered, offsets, send, spout_of
from trident.spouts import AckingKafkaSpout


def read(spouts: Sequence[AckingKafkaSpout], parts: Sequence[int], seconds: float = 60) -> list[list[tuple[int, int]]]:
    """Call spouts in turn, acking what they give, until each has so many partitions; return what each has given."""
    found: list[list[tuple[int, int]]] = [[] for _ in spouts]
    deadline, settled = time.monotonic() + seconds, 0.0
    while not settled or time.monotonic() < settled + 2:
        assert time.monotonic() < deadline, [each._opened().flight.partitions for each in spouts]
        for spout, given in zip(spouts, found, strict=True):
            if (message := spout.next_tuple()) is not None:
                spout.ack(message.id)
                given += offsets([message])
        have = sorted(len(each._opened().flight.partitions) for each in spouts)
        settled = (settled or time.monotonic()) if have == sorted(parts) else 0.0
        time.sleep(0.002)
    return found


def test_a_partition_that_came_later_to_a_member_that_has_no_other_is_read_from_its_beginning(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(partitions=2), f"g-{uuid.uuid4().hex}"
    for partition in range(2):
        send(kafka.bootstrap_servers, topic, numbered(2), partition)
    options = {"topic.metadata.refresh.interval.ms": "15000"}
    one, two = (
        spout_of(kafka.bootstrap_servers, topic, group, start="latest", client_options=options) for _ in range(2)
    )
    with opened(one), opened(two, instance=2):
        assert read([one, two], [1, 1]) == [[], []]
        with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
            admin.create_partitions({topic: 3})
        time.sleep(1)
        send(kafka.bootstrap_servers, topic, numbered(5), 2)
        found = read([one, two], [1, 2])
    assert sorted([*found[0], *found[1]]) == [(2, n) for n in range(5)]
