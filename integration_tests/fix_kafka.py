"""The fixtures `kafka` and `guarded_kafka`: one broker each for the whole run; tests make topics of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from integration_tests.fix_servers import or_skip
from integration_tests.guarded_kafka import GuardedKafka
from trident.local.kafka import LocalKafka


class Kafka:
    """A broker that tests share."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def create_topic(self, partitions: int = 1, configs: Mapping[str, str] | None = None, name: str = "topic") -> str:
        """Make a topic that no other test knows and return its name."""
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        with closing(KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)) as admin:
            admin.create_topics([NewTopic(unique, partitions, 1, topic_configs=dict(configs or {}))])
        return unique


@pytest.fixture(scope="session")
def guarded_kafka(pytestconfig: pytest.Config) -> Iterator[GuardedKafka]:
    """A broker, and so a cluster, beside the other one: it knows who may do what."""
    with or_skip(pytestconfig, GuardedKafka) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    given = pytestconfig.getoption("--kafka-bootstrap")
    if given:
        yield Kafka(given)
        return
    with or_skip(pytestconfig, LocalKafka) as local:
        yield Kafka(local.bootstrap_servers)
