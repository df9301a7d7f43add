"""Two members of a group on a real broker: what one of them can't see of the other is not passed over."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaAdminClient
from kafka.admin import ACLFilter, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from integration_tests.fix_kafka import Kafka
from integration_tests.guarded_kafka import GuardedKafka
from integration_tests.queues.spouts import none_within, opened, taken, taken_by_a_process_that_is_killed
from integration_tests.queues.test_kafka_acking import Short, numbered, offsets, refused, send, spout_of
from trident.base.errors import FatalError
from trident.spouts import AckingKafkaSpout, JsonBody
from trident.spouts.queue.acking import SpoutContext


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


def test_a_position_above_the_end_of_its_log_is_named(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    send(kafka.bootstrap_servers, topic, numbered(3))
    with closing(Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})) as tool:
        tool.commit(offsets=[TopicPartition(topic, 0, 50)], asynchronous=False)
    refused(spout_of(kafka.bootstrap_servers, topic, group), "does not hold the group's position")


def test_a_log_that_is_cut_below_what_is_read_next_is_named(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(partitions=2), f"g-{uuid.uuid4().hex}"
    send(kafka.bootstrap_servers, topic, numbered(3))
    spout = Short(topic, group=group, bootstrap_servers=kafka.bootstrap_servers, body=JsonBody("n int"))
    with opened(spout):
        taken(spout, 3)
        assert none_within(spout, 0.5)
        spout._opened()._consumer.pause([TopicPartition(topic, 0)])
        send(kafka.bootstrap_servers, topic, numbered(600))
        with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
            from kafka import TopicPartition as OfAdmin

            admin.delete_records({OfAdmin(topic, 0): 602})
        spout._opened()._consumer.resume([TopicPartition(topic, 0)])
        with pytest.raises(FatalError, match="does not hold the group's position"):
            taken(spout, 1)


def test_a_smaller_horizon_behind_a_death_is_refused_until_a_run_has_ended_by_itself(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    send(kafka.bootstrap_servers, topic, numbered(5))
    made = (
        "__import__('trident.spouts', fromlist=['AckingKafkaSpout']).AckingKafkaSpout("
        f"{topic!r}, group={group!r}, bootstrap_servers={kafka.bootstrap_servers!r}, "
        "client_options={'session.timeout.ms': '6000'})"
    )
    taken_by_a_process_that_is_killed(made, 5)
    short = Short(topic, group=group, bootstrap_servers=kafka.bootstrap_servers, body=JsonBody("n int"))
    refused(short, r"the last 100,000 records .* would remember 20\. .*a horizon of 100000 ")
    with opened(spout_of(kafka.bootstrap_servers, topic, group)) as spout:
        for message in taken(spout, 5, seconds=60):
            spout.ack(message.id)
    send(kafka.bootstrap_servers, topic, numbered(1, first=5))
    with opened(short):
        assert offsets(taken(short, 1)) == [(0, 5)]


def ack_all(spout: AckingKafkaSpout, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (message := spout.next_tuple()) is not None:
            spout.ack(message.id)
        time.sleep(0.002)


@pytest.mark.parametrize("kind", ["TOPIC", "GROUP"])
def test_a_right_that_is_taken_away_while_it_reads(guarded_kafka: GuardedKafka, kind: str) -> None:
    names = {"TOPIC": f"t-{uuid.uuid4().hex}", "GROUP": f"g-{uuid.uuid4().hex}"}
    topic = names["TOPIC"]
    guarded_kafka.create_topic(topic)
    guarded_kafka.allow_topic(topic, "READ", "DESCRIBE")
    guarded_kafka._allow(ResourceType.GROUP, names["GROUP"], ("READ",))
    send(guarded_kafka.bootstrap_servers, topic, numbered(1))
    spout = spout_of(guarded_kafka.secured, topic, names["GROUP"], client_options=guarded_kafka.options)
    spout.open(SpoutContext("in", 1))
    spout.activate()
    spout.ack(taken(spout, 1)[0].id)
    pattern = ResourcePattern(ResourceType[kind], names[kind])
    with guarded_kafka.admin() as admin:
        admin.delete_acls([ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)])
    send(guarded_kafka.bootstrap_servers, topic, numbered(1, first=1))
    with pytest.raises(FatalError, match=f"refused the login or a right .{kind}_AUTHORIZATION_FAILED"):
        ack_all(spout, seconds=60)
    with suppress(FatalError):
        spout.close()
