"""The broker and the database server are killed as containers, in the middle of a batch."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from integration_tests.containers.servers import containers
from integration_tests.fix_servers import or_skip
from integration_tests.records import balances, expected
from integration_tests.restores.copies import Payments, counting, run
from trident.base.crash_points import CrashPoint, armed

pytestmark = [pytest.mark.verify, pytest.mark.servers, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def servers(pytestconfig):
    with or_skip(pytestconfig, containers) as started:
        yield started


class Topics:
    """What tests need of the broker."""

    def __init__(self, bootstrap_servers):
        self.bootstrap_servers = bootstrap_servers

    def create_topic(self, partitions, name):
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        admin.create_topics([NewTopic(unique, partitions, 1)])
        admin.close()
        return unique


def once(wanted: CrashPoint, txid: int, action: Callable[[], None]):
    """Do it when that txid comes to that point, the first time."""
    left = [txid]

    def reached(point: CrashPoint, at: int) -> None:
        if point is wanted and at in left:
            left.clear()
            action()

    return armed(reached), left


@pytest.mark.parametrize(
    ("victim", "point"),
    [
        ("kafka", CrashPoint.AFTER_PLAN),
        ("kafka", CrashPoint.BEFORE_PLAN),
        ("postgres", CrashPoint.IN_PIN_TRANSACTION),
        ("postgres", CrashPoint.AFTER_PROCESSING),
    ],
)
def test_a_container_that_is_killed_in_mid_batch_loses_and_doubles_nothing(servers, spark, victim, point):
    stream = Payments(Topics(servers.bootstrap_servers))
    stream.send(2400)
    server = getattr(servers, victim)

    def kill_and_start() -> None:
        server.kill()
        server.start()

    topology = counting(Topics(servers.bootstrap_servers), stream.topic, None)
    ledger = servers.new_database()
    arming, left = once(point, 3, kill_and_start)
    with arming:
        summary = run(topology, spark, ledger)
    assert not left
    assert summary.batches == 8
    assert balances(ledger) == balances(ledger, "mirror") == expected(stream.sent)
