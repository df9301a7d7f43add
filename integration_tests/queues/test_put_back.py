"""Ledger and states are put back to one moment, the queue is not: what was acked since is given again, or left out.

Both ways on are taken as the error and the page say them, with Kafka's and Redis' own commands.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyspark import cloudpickle
from redis import Redis

from integration_tests.fix_kafka import Kafka
from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS, sqlite_place
from tests.spouts.queue.text_body import TextBody
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.local.jars import KAFKA_VERSION, _fetched, kafka_classpath
from trident.local.java import find_java
from trident.local.redis import LocalRedis
from trident.spouts import AckingKafkaSpout, RedisStreamSpout
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind

_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Topology:
    """Counts what a spout gives; ledger and state are one file."""

    def __init__(self, make: Callable[[], AckingSpout], folder: Path) -> None:
        self._make = make
        self._file = folder / "ledger.sqlite"
        self._kept = folder / "kept"
        self._place = sqlite_place(folder)

    def job(self) -> RunnableTopology:
        spout = self._make()
        spout.max_batch_size = 2
        return receiving_job(
            QueueSpout(spout, cloudpickle.dumps(spout)), self._place.state("counts", kind=StateKind.OPAQUE)
        )

    def run(self) -> RunSummary:
        return TopologyRun(self.job(), self._place.ledger(), OPTIONS).run()

    def counted(self) -> dict[str, int]:
        return {account: n for account, (n, _) in self._place.rows("counts").items()}

    def keep(self) -> None:
        shutil.copy(self._file, self._kept)

    def put_back(self) -> None:
        for left in self._file.parent.glob("ledger.sqlite*"):
            left.unlink()
        shutil.copy(self._kept, self._file)

    def reset(self) -> None:
        job = self.job()
        reset_topology(job.spec, job.targets, self._place.ledger(), keep_rows=False, start=None, options=OPTIONS)


def once(accounts: str) -> dict[str, int]:
    return dict.fromkeys(accounts, 1)


class Topic:
    """A topic of two partitions, and a group."""

    def __init__(self, kafka: Kafka) -> None:
        self.servers = kafka.bootstrap_servers
        self.name = kafka.create_topic(partitions=2)

    def spout(self) -> AckingKafkaSpout:
        return AckingKafkaSpout(self.name, group="counts", bootstrap_servers=self.servers, body=TextBody())

    def send(self, accounts: str, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for account in accounts:
            producer.produce(self.name, account, partition=partition)
        assert producer.flush(30) == 0

    def positions(self) -> list[int]:
        with closing(self._consumer()) as consumer:
            return [int(found.offset) for found in consumer.committed(self._places(), 30)]

    def become_a_copy(self) -> None:
        """Have another topic of the name, with the records and the positions of this one, as a mirrored cluster has."""
        with closing(self._consumer()) as consumer:
            positions = consumer.committed(self._places(), 30)
            consumer.assign([TopicPartition(self.name, number, 0) for number in range(2)])
            count = sum(consumer.get_watermark_offsets(place, 30)[1] for place in self._places())
            records = [record for _ in range(count) if (record := consumer.poll(30))]
        assert len(records) == count
        with closing(KafkaAdminClient(bootstrap_servers=self.servers)) as admin:
            admin.delete_topics([self.name])
            time.sleep(2)
            admin.create_topics([NewTopic(self.name, 2, 1)])
        time.sleep(1)
        producer = Producer({"bootstrap.servers": self.servers})
        for each in records:
            producer.produce(self.name, each.value(), partition=each.partition() or 0, timestamp=each.timestamp()[1])
        assert producer.flush(30) == 0
        with closing(self._consumer()) as consumer:
            consumer.commit(offsets=positions, asynchronous=False)

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self.name, number) for number in range(2)]

    def _consumer(self) -> Consumer:
        return Consumer({"bootstrap.servers": self.servers, "group.id": "counts", "enable.auto.commit": False})


@pytest.fixture
def topic(kafka: Kafka) -> Topic:
    return Topic(kafka)


def kept_behind(topic: Topic, folder: Path, more: str) -> tuple[Topology, str]:
    """Return a topology that was kept when it had done a and b, and has done more since; and a moment before both."""
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000")
    topology = Topology(topic.spout, folder)
    topic.send("ab")
    topology.run()
    topology.keep()
    topic.send(more)
    topology.run()
    return topology, moment


def carry_out(topic: Topic, said: str, exchanged: str, by: str) -> None:
    """Do what the error says, to the letter."""
    words = said[said.index("kafka-consumer-groups ") :].split(" has it given again")[0]
    assert exchanged in words
    carry_out_words(topic, words.replace(exchanged, by))


def carry_out_words(topic: Topic, said: str) -> None:
    given = shlex.split(said[said.index("kafka-consumer-groups ") :])[1:]
    jars = (
        *_fetched(f"kafka-tools-{KAFKA_VERSION}", "org.apache.kafka", "kafka-tools", KAFKA_VERSION),
        *kafka_classpath(),
    )
    command = [str(find_java()), "-cp", ":".join(map(str, jars)), _TOOL, *given]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert answer.returncode == 0, answer
    assert "Error" not in answer.stdout, answer.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("left_out", ["", "cde"])
def test_what_a_group_had_acked_behind_a_backup_is_given_again_or_left_out(
    topic: Topic, tmp_path: Path, left_out: str
) -> None:
    topology = Topology(topic.spout, tmp_path)
    before = datetime.now(UTC)
    topic.send("ab")
    topic.send("xy", partition=1)
    topology.run()
    topology.keep()
    topic.send("cde")
    topology.run()
    assert topology.counted() == once("abcdexy")
    topology.put_back()
    positions = topic.positions()
    with pytest.raises(FatalError, match=r"4 records .* done, and had 7 .*Nothing was read or changed") as stopped:
        topology.run()
    assert (topology.counted(), topic.positions()) == (once("abxy"), positions)
    assert f"--topic {topic.name}:0 --to-datetime" in str(stopped.value), "the other one is no further than the ledger"
    with pytest.raises(FatalError, match="had 7"):
        topology.run()
    if left_out:
        carry_out(topic, str(stopped.value), "--to-datetime MOMENT", "--to-current")
    else:
        carry_out(topic, str(stopped.value), "MOMENT", before.strftime("%Y-%m-%dT%H:%M:%S.000"))
    topic.send("f")
    summary = topology.run()
    assert summary.given_again == (0 if left_out else 2), "a and b are known"
    assert topology.counted() == {account: 1 for account in "abcdefxy" if account not in left_out}
    topic.send("g")
    topology.run()
    assert topology.counted() == {account: 1 for account in "abcdefgxy" if account not in left_out}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("left_out", ["", "cde"])
def test_what_a_group_had_acked_behind_a_backup_is_noticed_where_its_topic_is_a_copy_too(
    topic: Topic, tmp_path: Path, left_out: str
) -> None:
    """All has failed over, and the ledger's replica was behind: nothing of a copy is known, so the moment is exact."""
    topology = Topology(topic.spout, tmp_path)
    topic.send("ab")
    topic.send("xy", partition=1)
    topology.run()
    topology.keep()
    time.sleep(0.1)
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    topic.send("cde")
    topology.run()
    topic.become_a_copy()
    topology.put_back()
    positions = topic.positions()
    for _ in range(2):
        with pytest.raises(FatalError, match=r"4 records .* done, and had 7 .*another topic of that name") as stopped:
            topology.run()
    assert (topology.counted(), topic.positions()) == (once("abxy"), positions)
    assert f"--topic {topic.name}:0 --to-datetime" in str(stopped.value), "the other one is no further than the ledger"
    if left_out:
        carry_out(topic, str(stopped.value), "--to-datetime MOMENT", "--to-current")
    else:
        carry_out(topic, str(stopped.value), "MOMENT", moment)
    with pytest.raises(FatalError, match=rf"positions in {topic.name}:1 were committed in another topic") as stopped:
        topology.run()
    assert "put back" not in str(stopped.value)
    carry_out_words(topic, str(stopped.value).split(" goes on at the positions")[0])
    for more in ("f", "g"):
        topic.send(more)
        topology.run()
    assert topology.counted() == {account: 1 for account in "abcdefgxy" if account not in left_out}


@pytest.mark.timeout(300)
def test_a_reset_is_no_restore(topic: Topic, tmp_path: Path) -> None:
    topology = Topology(topic.spout, tmp_path)
    topic.send("abc")
    topology.run()
    topology.reset()
    topic.send("d")
    for _ in range(2):
        topology.run()
        assert topology.counted() == once("d"), "the group stands where it stood"


@pytest.mark.timeout(300)
def test_what_was_acked_before_and_behind_a_reset_that_a_backup_takes_back_is_given_again(
    topic: Topic, tmp_path: Path
) -> None:
    topology, moment = kept_behind(topic, tmp_path, "c")
    topology.reset()
    topic.send("de")
    topology.run()
    topology.put_back()
    for _ in range(2):
        with pytest.raises(FatalError, match=r"had been reset after txid \d+, which it does not know") as stopped:
            topology.run()
    carry_out(topic, str(stopped.value), "MOMENT", moment)
    topic.send("f")
    topology.run()
    assert topology.counted() == once("abcdef")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("quiet", [False, True])
def test_what_was_acked_behind_a_backup_is_noticed_behind_a_reset_in_it_too(
    topic: Topic, tmp_path: Path, quiet: bool
) -> None:
    topology, moment = kept_behind(topic, tmp_path, "c")
    if quiet:  # a process that acks nothing leaves what was noted
        topology.run()
    topology.put_back()
    topology.reset()
    topic.send("d")
    for _ in range(2):
        with pytest.raises(FatalError, match=r"since its reset behind txid \d+, but the group") as stopped:
            topology.run()
    carry_out(topic, str(stopped.value), "MOMENT", moment)
    topology.run()
    assert topology.counted() == once("abcd")
    topology.run()


@pytest.mark.timeout(300)
def test_what_was_acked_behind_a_backup_is_noticed_by_the_start_that_finishes_a_reset_too(
    topic: Topic, tmp_path: Path
) -> None:
    """The reset before it has left no start stored, so the stream is asked where it begins."""
    topology, moment = kept_behind(topic, tmp_path, "cde")
    topology.put_back()
    topology.reset()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        topology.reset()
    topic.send("f")
    positions = topic.positions()
    for _ in range(2):
        with pytest.raises(FatalError, match=r"since its reset behind txid \d+, but the group") as stopped:
            topology.run()
    assert (topology.counted(), topic.positions()) == ({}, positions)
    carry_out(topic, str(stopped.value), "MOMENT", moment)
    topology.run()
    assert topology.counted() == once("abcdef")
    topology.reset()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        topology.reset()
    topic.send("g")
    topology.run()
    assert topology.counted() == once("g"), "which is no restore"


@pytest.mark.timeout(300)
def test_a_quiet_partition_keeps_what_was_noted_of_it_across_a_reset(topic: Topic, tmp_path: Path) -> None:
    topology = Topology(topic.spout, tmp_path)
    before = datetime.now(UTC)
    topic.send("ab")
    topic.send("x", partition=1)
    topology.run()
    topology.keep()
    topic.send("cd")
    topology.run()
    topology.reset()
    topic.send("y", partition=1)
    topology.run()
    topology.put_back()
    with pytest.raises(FatalError, match="had been reset after txid") as stopped:
        topology.run()
    assert f"--topic {topic.name}:0,1 --to-datetime" in str(stopped.value)
    carry_out(topic, str(stopped.value), "MOMENT", before.strftime("%Y-%m-%dT%H:%M:%S.000"))
    topology.run()
    assert topology.counted() == once("abcdxy")


@pytest.mark.timeout(300)
def test_a_new_ledger_behind_another_ones_group_is_told(
    topic: Topic, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    topic.send("abc")
    Topology(topic.spout, tmp_path / "one").run()
    topic.send("d")
    other = Topology(topic.spout, tmp_path / "two")
    for _ in range(2):
        other.run()
    assert other.counted() == once("d")
    told = [text for text in caplog.messages if "were committed by another stream of this library" in text]
    assert len(told) == 1


@pytest.mark.timeout(300)
def test_a_group_that_was_deleted_goes_on_where_it_was_with_its_quiet_partitions_too(
    topic: Topic, tmp_path: Path
) -> None:
    """The stream remembers none of the quiet one's records any more."""

    class Spout(AckingKafkaSpout):
        horizon = 4

    def spout() -> AckingKafkaSpout:
        return Spout(topic.name, group="counts", bootstrap_servers=topic.servers, body=TextBody())

    topology = Topology(spout, tmp_path)
    topic.send("xyz", partition=1)
    topology.run()
    topic.send("abcdefgh")
    topology.run()
    carry_out_words(topic, f"kafka-consumer-groups --bootstrap-server {topic.servers} --delete --group counts")
    with pytest.raises(FatalError, match="has no position in") as stopped:
        topology.run()
    said = str(stopped.value)
    first, both = said.split(" goes on behind them")[0], said.split("counts twice: ")[1]
    carry_out_words(topic, first)
    carry_out_words(topic, both.split(" with --to-datetime")[0] + " --to-latest")
    topic.send("i")
    topic.send("w", partition=1)
    topology.run()
    assert topology.counted() == once("abcdefghiwxyz")


@pytest.fixture
def stream(redis_server: LocalRedis) -> Iterator[str]:
    name = f"s-{uuid.uuid4().hex[:12]}"
    yield name
    with Redis.from_url(redis_server.url) as client:
        client.delete(name)


@pytest.mark.timeout(300)
def test_a_group_of_redis_is_set_back_to_the_moment_of_the_backup(
    redis_server: LocalRedis, stream: str, tmp_path: Path
) -> None:
    topology = Topology(lambda: RedisStreamSpout(stream, "g", url=redis_server.url, body=TextBody()), tmp_path)
    client: Any = Redis.from_url(redis_server.url, protocol=2)
    with closing(client):
        client.xgroup_create(stream, "g", id="0", mkstream=True)

        def add(accounts: str) -> None:
            for account in accounts:
                client.xadd(stream, {"body": account})

        add("a")
        topology.run()
        time.sleep(0.01)
        moment = int(time.time() * 1_000)
        time.sleep(0.01)  # what has the very moment as its id would not be given again
        add("b")
        topology.run()
        topology.keep()
        add("cde")
        topology.run()
        topology.put_back()
        topology.run()
        assert topology.counted() == once("ab"), "nothing says that Redis has more"
        client.execute_command(*f"XGROUP SETID {stream} g {moment}".split())
        add("f")
        assert topology.run().given_again == 1, "b is known"
        assert topology.counted() == once("abcdef")
        assert client.xpending(stream, "g")["pending"] == 0
        topology.run()
        assert topology.counted() == once("abcdef")
