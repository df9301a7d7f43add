"""The broker and the database server are killed as containers, in the middle of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from integration_tests.containers.servers import containers
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_servers import or_skip
from integration_tests.records import balances, expected
from integration_tests.restores.copies import Payments, counting, run
from trident.base.crash_points import CrashPoint, armed

pytestmark = [pytest.mark.verify, pytest.mark.servers, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def servers(pytestconfig):
    with or_skip(pytestconfig, containers) as started:
        yield started


def once(wanted: CrashPoint, txid: int, action: Callable[[], None]) -> Any:
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
    stream = Payments(Kafka(servers.bootstrap_servers))
    stream.send(2400)
    server = getattr(servers, victim)

    def kill_and_start() -> None:
        server.kill()
        server.start()

    topology = counting(Kafka(servers.bootstrap_servers), stream.topic, None)
    ledger = servers.new_database()
    arming, left = once(point, 3, kill_and_start)
    with arming:
        summary = run(topology, spark, ledger)
    assert not left
    assert summary.batches == 8
    assert balances(ledger) == balances(ledger, "mirror") == expected(stream.sent)
