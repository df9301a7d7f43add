"""Records where markers belong: a topology that sends there is stopped before it reads, and there is a way on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.records import payments, produce
from integration_tests.sinks.reading import committed, values
from trident import ConfigurationError, FatalError, MismatchError, RunOptions, SqliteLedger, Topology, drop, reset
from trident.engine import running
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink
from trident.state.kafka.marker import transactional_id

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
JSON = Json("account string, amount bigint")


class Scene:
    """Payments whose accounts leave twice: by sink 'a', and by a second one that may be told to write elsewhere."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka, self.folder = kafka, folder
        self.source, self.out, self.other = (kafka.create_topic(1, name=name) for name in ("payments", "out", "other"))
        self.markers = f"markers of {self.source}".replace(" ", "-")
        self.name = f"among markers {self.source}"
        self.accounts: list[str] = []

    def come(self, count: int) -> None:
        records = payments(count)
        produce(self.kafka.bootstrap_servers, self.source, records, partitions=1)
        self.accounts += [account for account, _ in records]

    def topology(
        self, second: str = "b", topic: str | None = None, servers: str | None = None, *, only: bool = False
    ) -> Topology:
        here = self.kafka.bootstrap_servers
        topology = Topology(self.name)
        stream = topology.stream("payments", OpaqueKafkaSpout(self.source, bootstrap_servers=here, value=JSON))
        first = KafkaSink("a", bootstrap_servers=here, marker_topic=self.markers)
        stream.to_kafka(self.out, value="account", sink=first)
        if only:
            return topology
        other = KafkaSink(second, bootstrap_servers=servers or here, marker_topic=f"{self.markers}-of-b")
        stream.to_kafka(topic or self.markers, key="account", value="account", sink=other)
        return topology

    @property
    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def run(self, spark: SparkSession, topology: Topology) -> None:
        topology.run(spark, ledger=self.ledger, until="caught_up", options=OPTIONS)

    @property
    def key(self) -> str:
        return transactional_id(self.name, "a")

    def marker(self) -> Message:
        """Return a's newest marker, as a foreign consumer reads it."""
        found = committed(self.kafka.bootstrap_servers, self.markers)
        return [message for message in found if message.key() == self.key.encode()][-1]

    def put_at(self, marker: Message, value: bytes | None) -> None:
        """Send a record with the key of a marker to where that is."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        producer.produce(self.markers, value, self.key, partition=int(marker.partition() or 0))
        assert producer.flush(30) == 0


@pytest.fixture
def scene(kafka: Kafka, tmp_path: Path) -> Scene:
    return Scene(kafka, tmp_path)


def test_who_has_sent_records_among_markers_takes_that_sink_out_and_goes_on(
    spark: SparkSession, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.come(100)
    with monkeypatch.context() as patch:
        patch.setattr(running, "check_places", lambda *_: None)  # a version that did not look
        scene.run(spark, scene.topology())
    scene.come(100)
    for servers in (None, f"{scene.kafka.bootstrap_servers},"):
        with pytest.raises(ConfigurationError, match=r"in which sink 'a' keeps its markers.*trident drop"):
            scene.run(spark, scene.topology(servers=servers))
    with pytest.raises(MismatchError, match=r"let the version that has 'b' as it was take it out"):
        scene.run(spark, scene.topology(topic=scene.other))
    drop(scene.topology(), ledger=scene.ledger, name="b", options=OPTIONS)
    scene.run(spark, scene.topology("b2", scene.other))
    servers = scene.kafka.bootstrap_servers
    assert values(servers, scene.out) == scene.accounts
    assert values(servers, scene.other) == scene.accounts[100:]


@pytest.mark.parametrize("is_there", [True, False], ids=["sent again", "gone"])
def test_a_record_under_the_key_of_a_marker_stops_and_there_is_a_way_on(
    spark: SparkSession, scene: Scene, is_there: bool
) -> None:
    scene.come(100)
    plan = scene.topology(topic=scene.other)
    scene.run(spark, plan)
    marker = scene.marker()
    scene.put_at(marker, b"a record")
    scene.come(50)
    where = rf"topic '{scene.markers}', partition {marker.partition()}, key '{scene.key}', holds no marker"
    with pytest.raises(MismatchError, match=rf"{where}.* send its bytes again, under the same key"):
        scene.run(spark, plan)
    if is_there:
        scene.put_at(marker, marker.value())
    else:
        scene.put_at(marker, None)
        with pytest.raises(FatalError, match=r"state 'a' is gone: .*trident reset MODULE:TOPOLOGY --states clear"):
            scene.run(spark, plan)
        reset(plan, ledger=scene.ledger, states="clear", options=OPTIONS)
    scene.run(spark, plan)
    again = [] if is_there else scene.accounts[:100]
    assert values(scene.kafka.bootstrap_servers, scene.out) == [*again, *scene.accounts]


def test_who_is_refused_leaves_the_version_before_as_it_was(spark: SparkSession, scene: Scene) -> None:
    scene.come(100)
    scene.run(spark, scene.topology(only=True))
    scene.come(50)
    with pytest.raises(ConfigurationError, match=r"in which sink 'a' keeps its markers"):
        scene.run(spark, scene.topology())
    with pytest.raises(ConfigurationError, match=r"there is no topic 'othre'"):
        scene.run(spark, scene.topology(topic="othre"))
    scene.run(spark, scene.topology(only=True))
    scene.come(50)
    scene.run(spark, scene.topology(topic=scene.other))
    servers = scene.kafka.bootstrap_servers
    assert values(servers, scene.out) == scene.accounts
    assert values(servers, scene.other) == scene.accounts[150:]
