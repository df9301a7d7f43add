"""A real Kafka broker for local use: one KRaft process on 127.0.0.1."""

from __future__ import annotations

import base64
import signal
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from trident.base.checks import check_count, check_instance, check_text, check_texts
from trident.base.errors import FatalError
from trident.local.jars import kafka_classpath
from trident.local.java import find_java
from trident.local.processes import ServerCommand, free_ports
from trident.local.server import LocalServer

_PROPERTIES = """\
process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}{proxied}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}{advertised}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT
log.dirs={logs}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor={copies}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={copies}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor={copies}
share.coordinator.state.topic.min.isr={in_sync}
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=500
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""
_LOGGING = """\
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c{1.}: %m%n
"""
_ALONE = ("-Xmx768m",)
_ONE_OF_SEVERAL = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """One of the brokers of a cluster, each of which votes in the controllers' quorum as well."""

    number: int
    """From 1."""
    controller_ports: tuple[int, ...]
    """Of every broker, the first one's first."""
    cluster_id: str

    @property
    def copies(self) -> int:
        """How many brokers keep each partition."""
        return min(3, len(self.controller_ports))

    @property
    def voters(self) -> str:
        """The quorum as Kafka's option wants it."""
        return ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(self.controller_ports, 1))


def new_cluster_id() -> str:
    """Return a random id in the form that Kafka asks for."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


class LocalKafka(LocalServer):
    """A real broker with its data in a temporary folder; use it as a context manager.

    Starting fetches the broker's jars the first time. `kill()` and `stop()` keep the data and the
    ports, so that `start()` brings the same broker back; leaving the block deletes the data.
    Not for use from several threads at once.
    """

    stop_signal = signal.SIGTERM
    start_seconds = 60

    def __init__(self, node: KafkaNode | None = None, *, proxy_port: int | None = None) -> None:
        """`proxy_port`: have one more listener, which names this port of a proxy to its clients."""
        if proxy_port is not None:
            check_count("proxy_port", proxy_port)
        if node is not None:
            check_instance("node", node, KafkaNode, allowed="a KafkaNode, or None")
        super().__init__("kafka")
        self._node = node or KafkaNode(1, free_ports(1), new_cluster_id())
        self._broker_port, self._proxied_port = free_ports(2)
        self._proxy_port = proxy_port

    def __repr__(self) -> str:
        return f"LocalKafka({self.bootstrap_servers!r})"

    @property
    def bootstrap_servers(self) -> str:
        """Address for clients, the same over restarts."""
        return f"127.0.0.1:{self._broker_port}"

    @property
    def proxied_port(self) -> int:
        """Where a proxy reaches it."""
        return self._proxied_port

    @property
    def data(self) -> Path:
        """The folder in which the broker keeps its partitions."""
        return self._folder / "data"

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic; returns when the broker has it. Raises Kafka's own error if it is there already."""
        check_text("a topic's name", name)
        check_count("partitions", partitions)
        settings = {} if configs is None else check_texts("configs", configs)
        topic = NewTopic(name, partitions, 1, topic_configs=settings)
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        try:
            admin.create_topics([topic])
        finally:
            admin.close()

    def _command(self) -> ServerCommand:
        java, classpath = find_java(), ":".join(str(jar) for jar in kafka_classpath())
        logging = self._folder / "log4j2.properties"
        options = _ALONE if len(self._node.controller_ports) == 1 else _ONE_OF_SEVERAL
        base = [str(java), *options, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath]
        properties = self._folder / "server.properties"
        if not properties.exists():
            logging.write_text(_LOGGING)
            self._format(base, properties)
        return ServerCommand([*base, "kafka.Kafka", str(properties)], self._folder / "broker.log", signal.SIGKILL)

    def _format(self, base: list[str], properties: Path) -> None:
        node = self._node
        is_proxied = self._proxy_port is not None
        text = _PROPERTIES.format(
            proxied=f",PROXIED://127.0.0.1:{self._proxied_port}" if is_proxied else "",
            advertised=f",PROXIED://127.0.0.1:{self._proxy_port}" if is_proxied else "",
            number=node.number,
            voters=node.voters,
            copies=node.copies,
            in_sync=max(1, node.copies - 1),
            broker=self._broker_port,
            controller=node.controller_ports[node.number - 1],
            logs=self.data,
        )
        written = self._folder / "server.properties.new"
        written.write_text(text)
        tool = [*base, "kafka.tools.StorageTool", "format", f"--cluster-id={node.cluster_id}", "-c", str(written)]
        answer = subprocess.run(tool, capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode != 0:
            raise FatalError(f"Kafka's storage could not be formatted, no broker was started: {answer.stderr[-500:]}")
        written.rename(properties)

    def _answers(self) -> bool:
        try:
            # the client's own patience is 30 s; a refused connection is asked again by the caller
            admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers, bootstrap_timeout_ms=500)
        except (KafkaError, OSError):
            return False
        try:
            return bool(admin.describe_cluster()["brokers"])
        except (KafkaError, OSError):
            return False
        finally:
            admin.close()
