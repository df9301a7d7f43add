"""A real Kafka broker for local use: one KRaft process on 127.0.0.1."""

from __future__ import annotations

import base64
import signal
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from trident.base.errors import FatalError
from trident.services.jars import kafka_classpath
from trident.services.java import find_java
from trident.services.local_server import LocalServer
from trident.services.processes import ServerCommand, free_ports

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
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
_HEAP = "-Xmx768m"


class LocalKafka(LocalServer):
    """A real broker with its data in a temporary folder; use it as a context manager.

    Starting fetches the broker's jars the first time. `kill()` and `stop()` keep the data and the
    ports, so that `start()` brings the same broker back; leaving the block deletes the data.
    Not for use from several threads at once.
    """

    stop_signal = signal.SIGTERM
    start_seconds = 60

    def __init__(self) -> None:
        super().__init__("kafka")
        self._broker_port, self._controller_port = free_ports(2)

    def __repr__(self) -> str:
        return f"LocalKafka({self.bootstrap_servers!r})"

    @property
    def bootstrap_servers(self) -> str:
        """Address for clients, the same over restarts."""
        return f"127.0.0.1:{self._broker_port}"

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic; returns when the broker has it. Raises Kafka's own error if it is there already."""
        topic = NewTopic(name, partitions, 1, topic_configs=dict(configs or {}))
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        try:
            admin.create_topics([topic])
        finally:
            admin.close()

    def _command(self) -> ServerCommand:
        java, classpath = find_java(), ":".join(str(jar) for jar in kafka_classpath())
        logging = self._folder / "log4j2.properties"
        base = [str(java), _HEAP, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath]
        properties = self._folder / "server.properties"
        if not properties.exists():
            logging.write_text(_LOGGING)
            self._format(base, properties)
        return ServerCommand([*base, "kafka.Kafka", str(properties)], self._folder / "broker.log", signal.SIGKILL)

    def _format(self, base: list[str], properties: Path) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        text = _PROPERTIES.format(
            broker=self._broker_port, controller=self._controller_port, logs=self._folder / "data"
        )
        written = self._folder / "server.properties.new"
        written.write_text(text)
        tool = [*base, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(written)]
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
