"""What a real broker refuses, forgets or lacks: what a sink says then, that nothing is lost, and that it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from integration_tests.fix_kafka import Kafka
from integration_tests.guarded_kafka import GuardedKafka
from integration_tests.sinks.reading import committed, values
from integration_tests.sinks.test_kafka_sink_contract import KafkaHarness
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import (
    ConfigurationError,
    FatalError,
    MismatchError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
)
from trident.base.timeouts import Timeouts
from trident.local.kafka_cluster import LocalKafkaCluster
from trident.state import KafkaSink
from trident.state.kafka.bulk.reach import KafkaReach
from trident.state.kafka.clients.producing import ConfluentProducers
from trident.state.kafka.marker import transactional_id
from trident.state.kafka.records import Record
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing.sink_harness import begun, send, staged
from trident.testing.state_harness import EPOCH, OWNER, batch_of

WRITES = ("DESCRIBE", "DESCRIBE_CONFIGS", "WRITE")
UNCLEAR = (RetryableError, OutcomeUnknownError)
"""What is tried again."""
SOON = Timeouts(lease=timedelta(seconds=4))


class Harness(KafkaHarness):
    """One sink, reached as one user, with a marker topic of its own."""

    def __init__(self, servers: str, topic: str, options: Mapping[str, str] | None = None) -> None:
        super().__init__(servers, topic)
        self.options = dict(options or {})
        self.markers = f"markers-{uuid4().hex[:8]}"

    @property
    def id(self) -> str:
        return transactional_id(OWNER.topology, self.name)

    def open(self) -> Target:
        sink = KafkaSink(
            self.name, bootstrap_servers=self.servers, marker_topic=self.markers, client_options=self.options
        )
        self.opened.append(sink.open(self.ledger, SOON))
        return self.opened[-1]


@contextmanager
def admin_of(kafka: Kafka) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        yield admin


def alter(kafka: Kafka, topic: str, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    with admin_of(kafka) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, named)])


@pytest.fixture
def harness(kafka: Kafka) -> Iterator[Harness]:
    found = Harness(kafka.bootstrap_servers, kafka.create_topic())
    yield found
    for sink in found.opened:
        sink.close()


@pytest.fixture
def guarded(guarded_kafka: GuardedKafka) -> Iterator[Harness]:
    """Return a sink of a user who has every right that it needs but those that a test takes away."""
    topic = f"out-{uuid4().hex[:8]}"
    guarded_kafka.create_topic(topic)
    found = Harness(guarded_kafka.secured, topic, guarded_kafka.options)
    guarded_kafka.create_topic(found.markers, configs={"cleanup.policy": "compact"})
    yield found
    for sink in found.opened:
        sink.close()


def words(broker: GuardedKafka, harness: Harness) -> list[str]:
    return values(broker.bootstrap_servers, harness.topic)


def test_a_user_without_rights_is_told_each_of_them(guarded_kafka: GuardedKafka, guarded: Harness) -> None:
    broker = guarded_kafka

    def begin() -> Target:
        return begun(guarded)

    def refused(call: Callable[[], object], said: str) -> None:
        with pytest.raises(FatalError, match=said) as error:
            call()
        assert "Check the ACLs" in str(error.value)
        assert words(broker, guarded) == []

    refused(begin, rf"describe topic '{guarded.markers}' \(TopicAuthorizationFailedError\); nothing was sent")
    broker.allow_topic(guarded.markers, "DESCRIBE")
    refused(begin, f"settings of topic '{guarded.markers}'.*nothing was sent.*DESCRIBE_CONFIGS")
    broker.allow_topic(guarded.markers, "DESCRIBE_CONFIGS")
    refused(begin, rf"Kafka refused transactional id '{guarded.id}' to sink .*TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
    broker.allow_id(guarded.id, "DESCRIBE", "WRITE")
    refused(begin, rf"Kafka refused a transaction in '{guarded.markers}' .*TOPIC_AUTHORIZATION_FAILED")
    broker.allow_topic(guarded.markers, "WRITE")
    first = begin  # its first marker is written; it is read back by the next
    refused(lambda: send(guarded, first(), 1, "a"), f"read markers of '{guarded.markers}'")
    broker.allow_topic(guarded.markers, "READ")
    sink = begin()
    refused(lambda: send(guarded, sink, 1, "a"), rf"describe topic '{guarded.topic}'")
    broker.allow_topic(guarded.topic, "DESCRIBE", "DESCRIBE_CONFIGS")
    refused(lambda: send(guarded, sink, 1, "a"), rf"Kafka refused .*'{guarded.topic}'.*TOPIC_AUTHORIZATION_FAILED")
    many = [str(number) for number in range(30_000)]
    refused(lambda: send(guarded, sink, 1, *many), rf"Kafka refused .*'{guarded.topic}'.*TOPIC_AUTHORIZATION_FAILED")
    broker.allow_topic(guarded.topic, "WRITE")
    send(guarded, sink, 1, "a")
    send(guarded, sink, 1, "a")
    assert words(broker, guarded) == ["a"]


def test_a_marker_topic_that_may_not_be_made(guarded_kafka: GuardedKafka, guarded: Harness) -> None:
    guarded.markers = f"{guarded.markers}-2"
    guarded_kafka.allow_topic(guarded.markers, *WRITES, "READ")
    with pytest.raises(FatalError, match=rf"create the marker topic '{guarded.markers}' .*AuthorizationFailedError"):
        guarded.open().prepare()


def test_a_transactional_id_that_the_cluster_has_forgotten(guarded_kafka: GuardedKafka, guarded: Harness) -> None:
    guarded_kafka.allow_topic(guarded.markers, *WRITES, "READ")
    guarded_kafka.allow_topic(guarded.topic, *WRITES)
    guarded_kafka.allow_id(guarded.id, "DESCRIBE", "WRITE")
    sink = begun(guarded)
    send(guarded, sink, 1, "a")
    deadline = time.monotonic() + 40
    with guarded_kafka.admin() as admin:
        while any(
            each.transactional_id == guarded.id for found in admin.list_transactions().values() for each in found
        ):
            assert time.monotonic() < deadline, "it was not forgotten"
            time.sleep(0.5)
    send(guarded, sink, 1, "a")
    send(guarded, sink, 2, "b")
    assert words(guarded_kafka, guarded) == ["a", "b"]


@pytest.mark.verify
def test_too_few_copies_in_sync_are_waited_for() -> None:
    with LocalKafkaCluster() as cluster:
        cluster.create_topic("out", configs={"min.insync.replicas": "2"}, replicas=[[1, 2]])
        harness = Harness(cluster.bootstrap_servers, "out")
        sink = begun(harness)
        cluster.broker(2).kill()
        with pytest.raises(UNCLEAR):
            send(harness, sink, 1, "a")
        cluster.broker(2).start()
        deadline = time.monotonic() + 60
        while True:
            try:
                send(harness, sink, 1, "a")
                break
            except UNCLEAR:
                assert time.monotonic() < deadline
        # A commit is answered once it is decided; readers see it when its end is in every partition, on both copies.
        while harness.words() != ["a"]:
            assert time.monotonic() < deadline + 60, harness.words()
            time.sleep(0.2)
        sink.close()


def test_a_transaction_may_not_take_so_long(kafka: Kafka) -> None:
    """As where the broker's `transaction.max.timeout.ms` is lower than what a sink asks for."""
    harness = Harness(kafka.bootstrap_servers, kafka.create_topic(), {"transaction.timeout.ms": "900001"})
    with pytest.raises(
        ConfigurationError, match=r"INVALID_TRANSACTION_TIMEOUT\); nothing was sent. Lower it in client_o"
    ):
        begun(harness)


@pytest.mark.parametrize("point", [CrashPoint.BEFORE_MARKER, CrashPoint.BEFORE_END_OF_TRANSACTION])
@pytest.mark.drawn(one_in=2)
def test_a_transaction_that_takes_too_long_says_how_it_may_take_longer(kafka: Kafka, point: CrashPoint) -> None:
    """Without, what is pinned could never be sent: it would take as long the next time."""
    harness = Harness(kafka.bootstrap_servers, kafka.create_topic(), {"transaction.timeout.ms": "1000"})
    sink = begun(harness)

    def dawdle(reached: CrashPoint, _: int) -> None:
        if reached is not point:
            return
        deadline = time.monotonic() + 60
        with admin_of(kafka) as admin:
            while admin.describe_transactions([harness.id])[harness.id].state != "CompleteAbort":
                assert time.monotonic() < deadline, "the broker has not given it up"
                time.sleep(0.2)

    with (
        armed(dawdle),
        pytest.raises(UNCLEAR, match=r"longer than the 1 s that it may.*or transaction\.timeout\.ms in c"),
    ):
        send(harness, sink, 1, "a")
    assert harness.words() == []
    send(harness, sink, 1, "a")
    assert harness.words() == ["a"]


def test_a_transaction_may_take_as_long_as_a_batch() -> None:
    """What a sink asks for is within what brokers allow unless they are told otherwise."""
    for timeout, asked in ((timedelta(seconds=1), "60000"), (timedelta(minutes=5), "300000"), (timedelta(1), "900000")):
        producers = KafkaReach("s", "127.0.0.1:1", None, Timeouts(batch_timeout=timeout)).producers()
        assert isinstance(producers, ConfluentProducers)
        assert producers._configuration("id", {})["transaction.timeout.ms"] == asked


def test_a_topic_that_is_deleted_once_its_records_are_staged(kafka: Kafka, harness: Harness) -> None:
    sink, batch = begun(harness), batch_of(1)
    ready = staged(harness, sink, batch, "a")
    with admin_of(kafka) as admin:
        admin.delete_topics([harness.topic])
        time.sleep(0.5)
        with pytest.raises(RefusedError, match=f"there is no topic '{harness.topic}'.*nothing was sent"):
            sink.apply(batch, ready)
        admin.create_topics({harness.topic: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    sink.apply(batch, ready)
    assert harness.words() == ["a"]


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.drawn(one_in=2)
def test_a_record_that_has_become_too_large_for_its_topic(kafka: Kafka, compression: str) -> None:
    harness = Harness(kafka.bootstrap_servers, kafka.create_topic(), {"compression.type": compression})
    sink, batch = begun(harness), batch_of(1)
    large = "".join(uuid4().hex for _ in range(200))
    ready = staged(harness, sink, batch, "a", large)
    alter(kafka, harness.topic, max_message_bytes="1000")
    with pytest.raises(RefusedError, match=f"topic '{harness.topic}' refuses a record for good .*nothing was sent"):
        harness.open().apply(batch, ready)
    assert harness.words() == []
    alter(kafka, harness.topic, max_message_bytes="100000")
    harness.open().apply(batch, ready)
    assert harness.words() == ["a", large]
    for each in harness.opened:
        each.close()


def test_a_large_record_that_is_small_once_it_is_compressed_arrives(kafka: Kafka) -> None:
    harness = Harness(kafka.bootstrap_servers, kafka.create_topic(), {"compression.type": "gzip"})
    sink, large = begun(harness), "a" * 5_000_000
    send(harness, sink, 1, "b", large, "c")
    assert harness.words() == ["b", large, "c"]
    sink.close()


def test_a_record_that_does_not_fit_into_the_clients_queue(kafka: Kafka) -> None:
    harness = Harness(kafka.bootstrap_servers, kafka.create_topic(), {"queue.buffering.max.kbytes": "10"})
    sink = begun(harness)
    send(harness, sink, 1, *["a" * 3_000] * 8)  # together they don't: each waits for those before it
    with pytest.raises(ConfigurationError, match=r"fit into the client's queue \(queue.buffering.*nothing was sent"):
        send(harness, sink, 2, "b" * 20_000)
    assert len(harness.words()) == 8
    sink.close()


@pytest.mark.parametrize(
    "point", [CrashPoint.AFTER_SESSION, CrashPoint.BEFORE_MARKER, CrashPoint.BEFORE_END_OF_TRANSACTION]
)
@pytest.mark.drawn(one_in=2)
def test_another_program_takes_the_transactional_id(harness: Harness, point: CrashPoint) -> None:
    sink = begun(harness)
    taken: list[Producer] = []

    def take(reached: CrashPoint, _: int) -> None:
        if reached is point and not taken:
            taken.append(
                Producer({"bootstrap.servers": harness.servers, "transactional.id": harness.id, "log_level": "0"})
            )
            taken[0].init_transactions(30)

    with armed(take), pytest.raises(UNCLEAR, match="another producer has begun a session under its tr"):
        send(harness, sink, 1, "a")
    assert harness.words() == []
    send(harness, sink, 1, "a")
    assert harness.words() == ["a"]


def test_a_marker_topic_that_is_deleted_under_a_run(kafka: Kafka, harness: Harness) -> None:
    sink = begun(harness)
    send(harness, sink, 1, "a")
    with admin_of(kafka) as admin:
        admin.delete_topics([harness.markers])
    time.sleep(0.5)
    with pytest.raises((MismatchError, RetryableError), match="sent"):
        send(harness, sink, 2, "b")
    later = harness.open()
    later.prepare()
    assert later.position(OWNER.topology) is None, "the ledger knows it, so a start is refused"
    with pytest.raises(MismatchError, match="has no marker any more"):
        send(harness, later, 2, "b")
    assert harness.words() == ["a"]


def test_a_marker_topic_that_forgets_is_seen_at_the_next_start(kafka: Kafka, harness: Harness) -> None:
    send(harness, begun(harness), 1, "a")
    for policy in ("delete", "compact,delete"):
        alter(kafka, harness.markers, cleanup_policy=policy)
        with pytest.raises(MismatchError, match=r"deletes markers that are still needed; nothing was sent. Set it to"):
            harness.open().prepare()
    alter(kafka, harness.markers, cleanup_policy="compact")
    again = harness.open()
    again.prepare()
    again.raise_fence(OWNER, EPOCH)
    send(harness, again, 2, "b")
    assert harness.words() == ["a", "b"]


def test_a_marker_topic_that_was_truncated(kafka: Kafka, harness: Harness) -> None:
    sink = begun(harness)
    send(harness, sink, 1, "a")
    alter(kafka, harness.markers, cleanup_policy="compact,delete")
    with admin_of(kafka) as admin:
        (topic,) = admin.describe_topics([harness.markers])
        places = [TopicPartition(harness.markers, each["partition_index"]) for each in topic["partitions"]]
        admin.delete_records(dict.fromkeys(places, -1))
    alter(kafka, harness.markers, cleanup_policy="compact")
    with pytest.raises(RetryableError, match="the log was cut where it was read last"):
        send(harness, sink, 2, "b")
    for each in (sink, harness.open()):
        with pytest.raises(MismatchError, match=r"has no marker any more.*Nothing was sent"):
            send(harness, each, 2, "b")
    assert harness.words() == ["a"]


def test_another_cluster_behind_the_same_address(kafka: Kafka, guarded_kafka: GuardedKafka, harness: Harness) -> None:
    send(harness, begun(harness), 1, "a")
    for topic, configs in ((harness.topic, {}), (harness.markers, {"cleanup.policy": "compact"})):
        guarded_kafka.create_topic(topic, configs=configs)
    copier = Producer({"bootstrap.servers": guarded_kafka.bootstrap_servers})
    for message in committed(harness.servers, harness.markers):
        copier.produce(harness.markers, message.value(), message.key())
    assert copier.flush(30) == 0
    harness.servers = guarded_kafka.bootstrap_servers
    moved = harness.open()
    for call in (
        lambda: moved.look(OWNER.topology),
        lambda: moved.raise_fence(OWNER, EPOCH),
        lambda: send(harness, moved, 2, "b"),
    ):
        with pytest.raises(
            MismatchError, match=r"another cluster took its place.*Nothing was sent: correct the address"
        ):
            call()
    assert words(guarded_kafka, harness) == []


def test_what_is_let_through_is_never_too_large_for_its_topic(kafka: Kafka, harness: Harness) -> None:
    """With the headers that say where it came from, and however little room is left."""
    alter(kafka, harness.topic, max_message_bytes="1000")
    sink = begun(harness)
    sent: list[int] = []

    def send_larger_ones() -> None:
        for txid, length in enumerate(range(400, 1_000, 7), 1):
            send(harness, sink, txid, "a" * length)
            sent.append(length)

    with pytest.raises(RefusedError, match=f"is too large for topic '{harness.topic}'.*nothing of the batch was sent"):
        send_larger_ones()
    assert len(sent) > 10
    assert [len(word) for word in harness.words()] == sent


def test_a_record_without_a_key_for_a_compacted_topic_is_refused_before_the_pin(kafka: Kafka, harness: Harness) -> None:
    alter(kafka, harness.topic, cleanup_policy="compact")
    sink, rows = begun(harness), harness.rows("a", "b")
    keyless = rows.set_column(rows.schema.get_field_index("key"), "key", pa.array([b"k", None], pa.binary()))
    with pytest.raises(RefusedError, match=r"in\[0\]@1\).* has no key.* is compacted.*nothing of the batch was sent"):
        sink.stage(batch_of(1), HeldUpdates(keyless))
    send(harness, sink, 1, "a")
    assert harness.words() == ["a"]


@pytest.mark.parametrize("is_full", [False, True])
def test_a_session_that_is_fenced_while_it_sends_says_so(kafka: Kafka, harness: Harness, is_full: bool) -> None:
    """The client raises that from whatever call hears of it first, also from one that only waits for room."""
    options = {"queue.buffering.max.messages": "10", "linger.ms": "50"} if is_full else {}
    producers = ConfluentProducers("s", harness.servers, options, timedelta(seconds=10))
    record = Record(harness.topic, b"k", b"v" * 100, [])
    with closing(producers.open(harness.id, {harness.topic: 1_000_000})) as session:
        session.begin()
        session.send(record)
        with closing(producers.open(harness.id, {harness.topic: 1_000_000})):
            pass

        def send_until_told() -> None:
            for _ in range(100_000):
                session.send(record)
                time.sleep(0 if is_full else 0.01)

        with pytest.raises(UNCLEAR, match="another producer has begun a session under its tr"):
            send_until_told()
    assert harness.words() == []
