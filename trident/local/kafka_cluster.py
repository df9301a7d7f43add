"""Several real Kafka brokers for local use: one KRaft quorum on 127.0.0.1, every partition on three of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import TopicMetadata
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient

from trident.base.checks import check_count, check_text, check_texts, refused
from trident.base.errors import FatalError
from trident.local.kafka import KafkaNode, LocalKafka, new_cluster_id
from trident.local.processes import free_ports
from trident.local.server import StartedBlock

_PATIENCE_SECONDS = 30


class LocalKafkaCluster(StartedBlock):
    """Brokers that can be killed and started one by one; use it as a context manager.

    A write is acknowledged by two brokers at least, so that nothing is lost while one is away.
    Not for use from several threads at once.
    """

    def __init__(self, brokers: int = 3, *, proxy_ports: Sequence[int] | None = None) -> None:
        """`proxy_ports`: have one more listener at each broker, which names the port of its proxy to its clients."""
        check_count("brokers", brokers)
        proxies = [None] * brokers if proxy_ports is None else _checked_ports(proxy_ports, brokers)
        ports, cluster_id = free_ports(brokers), new_cluster_id()
        self._brokers = {
            n: LocalKafka(KafkaNode(n, ports, cluster_id), proxy_port=proxy) for n, proxy in enumerate(proxies, 1)
        }

    def __repr__(self) -> str:
        return f"LocalKafkaCluster({self.bootstrap_servers!r})"

    def launch(self) -> None:
        """Start all brokers without waiting for them."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(LocalKafka.prepare, self._brokers.values()))
        for broker in self._brokers.values():
            broker.launch()

    def wait(self) -> None:
        """Wait until the brokers have found each other; raises `FatalError` if they do not."""
        for broker in self._brokers.values():
            broker.wait()
        self._wait_for_all()

    @property
    def bootstrap_servers(self) -> str:
        """Addresses for clients, the same over restarts."""
        return ",".join(broker.bootstrap_servers for broker in self._brokers.values())

    def broker(self, number: int) -> LocalKafka:
        """Return one broker, to be killed and started; numbers start at 1."""
        if isinstance(number, bool) or number not in self._brokers:
            raise refused("number", f"that of a broker, 1 to {len(self._brokers)}", number)
        return self._brokers[number]

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic; returns when it is there. Raises Kafka's own error if it was there already.

        `replicas` says for each partition, and instead of their number, which brokers keep it, the first leader first.
        """
        check_text("a topic's name", name)
        check_count("partitions", partitions)
        settings = {} if configs is None else check_texts("configs", configs)
        if replicas is None:
            topic = NewTopic(name, partitions, min(3, len(self._brokers)), config=settings)
        else:
            assigned = _checked(replicas)
            topic = NewTopic(name, len(assigned), replica_assignment=assigned, config=settings)
        admin = self._admin()  # must live until the answer has come
        (outcome,) = admin.create_topics([topic]).values()
        outcome.result(_PATIENCE_SECONDS)

    def leader(self, topic: str, partition: int) -> int:
        """Return the number of the broker that clients read and write this partition at; raises FatalError for none."""
        check_count("partition", partition, least=0)
        found = self._described(topic).partitions.get(partition)
        if found is None or found.leader not in self._brokers:
            raise FatalError(f"partition {partition} of {topic!r} has no leader now; ask again")
        return int(found.leader)

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Return the number of the broker that decides this id's transactions; raises Kafka's own error for none."""
        check_text("transactional_id", transactional_id)
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        try:
            return int(admin.describe_transactions([transactional_id])[transactional_id].coordinator_id)
        finally:
            admin.close()

    def is_in_sync(self, topic: str) -> bool:
        """Whether every partition of the topic is on all of its brokers again, so that any one of them may go."""
        partitions = self._described(topic).partitions.values()
        return all(len(partition.isrs) == len(partition.replicas) for partition in partitions)

    def close(self) -> None:
        """End every broker and delete its data; may be called again."""
        for broker in self._brokers.values():
            broker.close()

    def _wait_for_all(self) -> None:
        admin, deadline = self._admin(), time.monotonic() + _PATIENCE_SECONDS
        while len(admin.list_topics(timeout=_PATIENCE_SECONDS).brokers) < len(self._brokers):
            if time.monotonic() > deadline:
                raise FatalError(f"not all brokers of {self!r} found each other within {_PATIENCE_SECONDS} s")
            time.sleep(0.1)

    def _described(self, topic: str) -> TopicMetadata:
        check_text("a topic's name", topic)
        admin = self._admin()
        found: TopicMetadata = admin.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic]
        return found

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})


def _checked(replicas: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the brokers of each partition."""
    if not isinstance(replicas, list | tuple) or not all(isinstance(each, list | tuple) for each in replicas):
        raise refused("replicas", "for each partition the numbers of its brokers", replicas)
    return [[check_count("replicas", broker, least=0) for broker in each] for each in replicas]


def _checked_ports(given: Sequence[int], brokers: int) -> list[int | None]:
    """Return the port of each broker's proxy."""
    if not isinstance(given, list | tuple) or len(given) != brokers:
        raise refused("proxy_ports", f"the port of a proxy for each of {brokers} brokers", given)
    return [check_count("proxy_ports", port) for port in given]
