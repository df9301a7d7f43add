"""A member of a group on a real broker: what is acked moves its position, all else comes again."""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaAdminClient

from integration_tests.fix_kafka import Kafka
from integration_tests.guarded_kafka import GuardedKafka
from integration_tests.queues.spouts import ids, none_within, opened, taken, taken_by_a_process_that_is_killed
from integration_tests.spouts.sasl import USER
from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.spouts import AckingKafkaSpout, JsonBody, StartAt
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.message import Message

PAYLOAD = "of-bob-only"


def send(servers: str, topic: str, values: Sequence[bytes | None], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def numbered(count: int, first: int = 0) -> list[bytes | None]:
    return [b'{"n": %d}' % number for number in range(first, first + count)]


def position(servers: str, topic: str, group: str, partition: int = 0) -> int:
    with closing(Consumer({"bootstrap.servers": servers, "group.id": group})) as consumer:
        return int(consumer.committed([TopicPartition(topic, partition)], 30)[0].offset)


def spout_of(servers: str, topic: str, group: str = "", **given: Any) -> AckingKafkaSpout:
    options = {"bootstrap_servers": servers, "body": JsonBody("n int"), **given}
    return AckingKafkaSpout(topic, group=group or f"g-{topic}", **options)


def offsets(messages: Sequence[Message]) -> list[tuple[int, int]]:
    parts = [(message.id or "").partition("@")[0].split("/") for message in messages]
    return [(int(partition), int(offset)) for _, partition, offset in parts]


def test_what_is_acked_moves_the_position_and_all_else_comes_again(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(5))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        messages = taken(spout, 5)
        assert offsets(messages) == [(0, n) for n in range(5)]
        assert [message.values for message in messages] == [{"n": n} for n in range(5)]
        assert (messages[0].id or "").startswith(f"{topic}/0/0@")
        for place in (0, 1, 3):
            spout.ack(messages[place].id)
    assert position(kafka.bootstrap_servers, topic, f"g-{topic}") == 2
    with opened(spout_of(kafka.bootstrap_servers, topic), instance=2) as spout:
        again = taken(spout, 3)
        assert ids(again) == ids(messages[2:])
        for message in again:
            spout.ack(message.id)
    assert position(kafka.bootstrap_servers, topic, f"g-{topic}") == 5


def test_it_waits_until_the_group_is_joined_and_read_to_its_end(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    send(kafka.bootstrap_servers, topic, numbered(3))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        found: list[Message] = []
        deadline = time.monotonic() + 30
        while (message := spout.next_tuple()) is not None or spout.is_waiting():
            assert time.monotonic() < deadline
            found += filter(None, [message])
        assert [message.values for message in found] == [{"n": n} for n in range(3)]
        send(kafka.bootstrap_servers, topic, numbered(1, first=3))
        [new] = taken(spout, 1)
        assert (new.values, spout.is_waiting()) == ({"n": 3}, True)


def test_positions_move_while_it_runs(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(2))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        for message in taken(spout, 2):
            spout.ack(message.id)
        deadline = time.monotonic() + 20
        while position(kafka.bootstrap_servers, topic, f"g-{topic}") != 2:
            assert time.monotonic() < deadline
            assert none_within(spout, 0.2)


def test_ten_thousand_of_three_partitions_in_order(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=3)
    for partition in range(3):
        send(kafka.bootstrap_servers, topic, numbered(3_334), partition)
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        messages = taken(spout, 10_002, seconds=60)
        for partition in range(3):
            assert [n for p, n in offsets(messages) if p == partition] == list(range(3_334))
        for message in messages:
            spout.ack(message.id)
    assert [position(kafka.bootstrap_servers, topic, f"g-{topic}", p) for p in range(3)] == [3_334] * 3


def test_what_failed_comes_again_before_what_is_new(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(3))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        first, second, third = taken(spout, 3)
        spout.ack(first.id)
        spout.ack(third.id)
        spout.fail(second.id)
        send(kafka.bootstrap_servers, topic, numbered(1, first=3))
        again, new = taken(spout, 2)
        assert (again.id, again.values, again.is_redelivered) == (second.id, {"n": 1}, True)
        assert new.values == {"n": 3}
        spout.ack(again.id)
        spout.fail(again.id)  # of no emission: it is done
        spout.ack(new.id)
        assert none_within(spout)
    assert position(kafka.bootstrap_servers, topic, f"g-{topic}") == 4


def test_a_killed_process_loses_nothing(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(20))
    made = (
        "__import__('trident.spouts', fromlist=['AckingKafkaSpout']).AckingKafkaSpout("
        f"{topic!r}, group='g', bootstrap_servers={kafka.bootstrap_servers!r}, "
        "client_options={'session.timeout.ms': '6000'})"
    )
    taken_by_a_process_that_is_killed(made, 20)
    with opened(spout_of(kafka.bootstrap_servers, topic, "g")) as spout:
        assert offsets(taken(spout, 20, seconds=60)) == [(0, n) for n in range(20)]


def test_what_moves_to_another_member_is_emitted_there_and_its_acks_here_are_dropped(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in range(2):
        send(kafka.bootstrap_servers, topic, numbered(3), partition)
    with opened(spout_of(kafka.bootstrap_servers, topic)) as one:
        before = taken(one, 6)
        by_place = dict(zip(offsets(before), before, strict=True))
        for partition in range(2):
            one.ack(by_place[partition, 0].id)
        with opened(spout_of(kafka.bootstrap_servers, topic), instance=2) as two:
            theirs: list[Message] = []
            ours: list[Message] = []
            deadline = time.monotonic() + 60
            while len(theirs) < 2 or len(ours) < 2:
                assert time.monotonic() < deadline
                theirs += [each for each in (two.next_tuple(),) if each is not None]
                ours += [each for each in (one.next_tuple(),) if each is not None]
            (moved,) = {partition for partition, _ in offsets(theirs)}
            assert offsets(theirs) == [(moved, 1), (moved, 2)]
            assert offsets(ours) == [(1 - moved, 1), (1 - moved, 2)]
            for message in before:
                one.ack(message.id)  # those of the partition that stays are done, the others are no matter of its own
            two.ack(theirs[0].id)
    assert position(kafka.bootstrap_servers, topic, f"g-{topic}", 1 - moved) == 3
    assert position(kafka.bootstrap_servers, topic, f"g-{topic}", moved) == 2


def test_a_group_without_a_position_begins_where_it_is_told(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(2))
    with opened(spout_of(kafka.bootstrap_servers, topic, "late", start=StartAt.LATEST)) as spout:
        assert none_within(spout, 8)
    assert position(kafka.bootstrap_servers, topic, "late") == 2  # whoever comes next begins there, not at a later end
    send(kafka.bootstrap_servers, topic, numbered(1, first=2))
    with opened(spout_of(kafka.bootstrap_servers, topic, "late", start=StartAt.LATEST)) as spout:
        assert offsets(taken(spout, 1)) == [(0, 2)]
    with opened(spout_of(kafka.bootstrap_servers, topic, "early")) as spout:
        assert offsets(taken(spout, 3)) == [(0, 0), (0, 1), (0, 2)]


def refused(spout: AckingKafkaSpout, said: str, kind: type[Exception] = FatalError) -> str:
    with pytest.raises(kind, match=said) as caught, opened(spout):
        taken(spout, 1)
    assert type(caught.value) is kind
    assert PAYLOAD not in str(caught.value)
    return str(caught.value)


def test_a_topic_that_is_not_there(kafka: Kafka) -> None:
    refused(spout_of(kafka.bootstrap_servers, f"nowhere-{uuid.uuid4().hex}"), "there is no such topic")


def test_a_record_that_can_not_be_read_is_named_by_its_id_alone(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, [PAYLOAD.encode()])
    refused(spout_of(kafka.bootstrap_servers, topic), f"'{topic}/0/0.*can't be read: it is not JSON.*--to-offset 1")
    other = kafka.create_topic()
    send(kafka.bootstrap_servers, other, [None])
    refused(spout_of(kafka.bootstrap_servers, other), "it has no body")


def test_a_position_that_the_log_does_not_hold(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(3))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        spout.ack(taken(spout, 3)[0].id)
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        from kafka import TopicPartition as OfAdmin

        admin.delete_records({OfAdmin(topic, 0): 2})
    refused(spout_of(kafka.bootstrap_servers, topic), "does not hold the group's position")


def test_a_topic_that_is_deleted_while_it_is_read(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(1))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        taken(spout, 1)
        with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
            admin.delete_topics([topic])
        with pytest.raises(FatalError, match="deleted with all that was not acked"):
            taken(spout, 1)


def test_a_topic_that_is_made_again_while_it_is_read(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(2))
    with opened(spout_of(kafka.bootstrap_servers, topic)) as spout:
        first = taken(spout, 2)[0].id
        with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
            from kafka.admin import NewTopic

            admin.delete_topics([topic])
            time.sleep(1)
            admin.create_topics([NewTopic(topic, 1, 1)])
        send(kafka.bootstrap_servers, topic, numbered(5))
        with pytest.raises(FatalError, match=r"deleted and made again|deleted with all|does not hold"):
            taken(spout, 10)
    with opened(spout_of(kafka.bootstrap_servers, topic, "another")) as spout:
        assert taken(spout, 1)[0].id != first  # it would be taken for a record that is done


def test_nobody_listens() -> None:
    given = {
        "sasl.password": PAYLOAD,
        "sasl.username": "ann",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
    }
    refused(spout_of("127.0.0.1:9", "t", client_options=given), "the brokers are away", RetryableError)


def test_a_login_that_is_refused(guarded_kafka: GuardedKafka) -> None:
    given = {**guarded_kafka.options, "sasl.password": PAYLOAD}
    refused(spout_of(guarded_kafka.secured, "t", client_options=given), "refused the login or a right")


def test_rights_that_are_missing_and_the_least_that_are_enough(guarded_kafka: GuardedKafka) -> None:
    topic, group = f"t-{uuid.uuid4().hex}", f"g-{uuid.uuid4().hex}"
    guarded_kafka.create_topic(topic)
    send(guarded_kafka.bootstrap_servers, topic, numbered(1))
    spout = spout_of(guarded_kafka.secured, topic, group, client_options=guarded_kafka.options)
    refused(spout, "refused the login or a right|there is no such topic")
    guarded_kafka.allow_topic(topic, "READ", "DESCRIBE")
    refused(spout, "GROUP_AUTHORIZATION_FAILED.*Read on the group")
    from kafka.admin import ResourceType

    guarded_kafka._allow(ResourceType.GROUP, group, ("READ",))
    with opened(spout):
        spout.ack(taken(spout, 1)[0].id)
    assert position(guarded_kafka.bootstrap_servers, topic, group) == 1
    assert USER not in repr(spout)


@pytest.mark.parametrize(
    "name", ["group.id", "auto.offset.reset", "enable.auto.commit", "partition.assignment.strategy"]
)
def test_options_that_are_not_the_users(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        spout_of("127.0.0.1:9", "t", client_options={name: "range"})


def test_options_that_the_client_does_not_have() -> None:
    refused(spout_of("127.0.0.1:9", "t", client_options={"fetch.max.bytes": PAYLOAD}), "fetch.max.bytes")


def test_it_shows_no_secret_and_is_pickled() -> None:
    spout = spout_of("127.0.0.1:9", "t", "g", client_options={"sasl.password": PAYLOAD})
    assert repr(spout) == "AckingKafkaSpout(['t'], group='g')"
    assert spout.identity() == {"spout": "kafka-acking", "topics": "t", "group": "g"}
    assert repr(pickle.loads(pickle.dumps(spout))) == repr(spout)


class Short(AckingKafkaSpout):
    """Remembers few."""

    horizon = 20


def test_no_more_is_taken_above_the_position_than_is_remembered(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        send(kafka.bootstrap_servers, topic, numbered(30), partition)
    given = {"group": f"g-{topic}", "bootstrap_servers": kafka.bootstrap_servers, "body": JsonBody("n int")}
    with opened(Short(topic, **given)) as spout:  # type: ignore[arg-type]
        first, *others = taken(spout, 10)
        for message in others:
            spout.ack(message.id)
        assert none_within(spout, 1.5), "what is done above the first one is not covered by any position"
        assert spout.is_waiting()
        assert "9 records were done since" in spout.holds_back()
        spout.fail(first.id)
        [again] = taken(spout, 1)
        assert again.id == first.id
        spout.ack(again.id)
        found = [first, *others]
        while len(found) < 60:
            [message] = taken(spout, 1)
            spout.ack(message.id)
            found.append(message)
        assert spout.holds_back() == ""
        deadline = time.monotonic() + 20
        while spout.next_tuple() is None and spout.is_waiting():
            assert time.monotonic() < deadline, "each end is heard anew behind a pause"
        assert sorted(offsets(found)) == [(partition, n) for partition in (0, 1) for n in range(30)]
    assert [position(kafka.bootstrap_servers, topic, f"g-{topic}", each) for each in (0, 1)] == [30, 30]


def test_what_another_process_has_left_takes_room_until_it_is_passed(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        send(kafka.bootstrap_servers, topic, numbered(30), partition)
    given = {"group": f"g-{topic}", "bootstrap_servers": kafka.bootstrap_servers, "body": JsonBody("n int")}
    with opened(Short(topic, **given)) as spout:  # type: ignore[arg-type]
        made = spout.next_tuple() or taken(spout, 1)[0]
        topic_id = (made.id or "").partition("@")[2]
    known = [f"{topic}/0/{offset}@{topic_id}" for offset in range(1, 13)]
    spout = Short(topic, **given)  # type: ignore[arg-type]
    spout.open(SpoutContext("in", 2, tuple(known)))
    spout.activate()
    with closing(spout):
        found = taken(spout, 13)
        assert offsets(found) == [(0, n) for n in range(13)], "only what the known ones wait for"
        assert none_within(spout, 1)
        for message in found:
            spout.ack(message.id)
        assert len(taken(spout, 10)) == 10


def test_a_rebalance_while_it_holds_back_leaves_nothing_behind(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        send(kafka.bootstrap_servers, topic, numbered(30), partition)
    options = {"session.timeout.ms": "6000", "max.poll.interval.ms": "6000"}
    given = {"group": f"g-{topic}", "bootstrap_servers": kafka.bootstrap_servers, "body": JsonBody("n int")}
    with opened(Short(topic, client_options=options, **given)) as spout:  # type: ignore[arg-type]
        found = taken(spout, 10)
        assert none_within(spout, 0.5)
        assert spout.holds_back()
        time.sleep(8)  # the member is out of its group, and comes back
        seen = set(offsets(found))
        for message in found:
            spout.ack(message.id)
        deadline = time.monotonic() + 60
        while len(seen) < 60 or spout.is_waiting():
            assert time.monotonic() < deadline, f"{len(seen)} of 60 records"
            if (given_now := spout.next_tuple()) is not None:
                spout.ack(given_now.id)
                seen.update(offsets([given_now]))
    assert [position(kafka.bootstrap_servers, topic, f"g-{topic}", each) for each in (0, 1)] == [30, 30]


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_group_that_has_lost_its_position_is_named(kafka: Kafka, start: str) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(5))
    probe = spout_of(kafka.bootstrap_servers, topic, "probe")
    with opened(probe):
        made = (taken(probe, 1)[0].id or "").partition("@")[2]
    spout = spout_of(kafka.bootstrap_servers, topic, start=start)
    with pytest.raises(FatalError, match=r"no position in .*:0 any more.* offset 3 .*--to-offset 4"):
        spout.open(SpoutContext("in", 2, (f"{topic}/0/1@{made}", f"{topic}/0/3@{made}")))


def test_a_partition_that_came_later_is_read_from_its_beginning(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    send(kafka.bootstrap_servers, topic, numbered(5))
    options = {"topic.metadata.refresh.interval.ms": "60000"}
    with opened(spout_of(kafka.bootstrap_servers, topic, start="latest", client_options=options)) as spout:
        assert none_within(spout, 3)
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_partitions({topic: 2})
    deadline = time.monotonic() + 30
    while True:
        try:
            send(kafka.bootstrap_servers, topic, numbered(3), 1)
            break
        except KafkaException:
            assert time.monotonic() < deadline
    with opened(spout_of(kafka.bootstrap_servers, topic, start="latest")) as spout:
        assert offsets(taken(spout, 3)) == [(1, 0), (1, 1), (1, 2)]
        assert none_within(spout)
