"""What a real RabbitMQ has delivered ahead: each is known when it comes again, and none takes others along."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark import cloudpickle

from integration_tests.queues.rabbit_queues import publish, queue_of, waiting
from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_run import OPTIONS, sqlite_place
from tests.spouts.queue.text_body import TextBody
from trident.coordinators.holding.run import TopologyRun
from trident.local.rabbitmq import LocalRabbit
from trident.spouts import RabbitSpout
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind

QUORUM = {"x-queue-type": "quorum"}
NO_MOMENT = 1_796_012_198_682


@contextmanager
def opened(spout: RabbitSpout) -> Iterator[None]:
    spout.open(SpoutContext("messages", 1))
    spout.activate()
    try:
        yield
    finally:
        spout.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("horizon", "ahead"), [(20, 10), (1, 1), (0, 30), (200, 30)])
def test_no_more_is_delivered_ahead_than_half_of_the_horizon(rabbitmq: LocalRabbit, horizon: int, ahead: int) -> None:
    """All of it comes again behind a line that has swallowed the acks."""
    with queue_of(rabbitmq) as queue:
        publish(rabbitmq, queue, [(f"m-{number}", b"a") for number in range(40)])
        spout = RabbitSpout(queue, url=rabbitmq.url, max_pending=30)
        spout.horizon = horizon
        with opened(spout):
            found = 0
            latest = time.monotonic() + 60
            while found < ahead and time.monotonic() < latest:
                found += spout.next_tuple() is not None
            time.sleep(0.5)
            assert (spout.next_tuple(), waiting(rabbitmq, queue)) == (None, 40 - ahead)


@pytest.mark.timeout(180)
def test_a_header_that_the_client_can_not_read_breaks_no_connection(
    rabbitmq: LocalRabbit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a quorum queue would put all that was delivered with it aside, or drop it, after some tries."""
    with queue_of(rabbitmq, **QUORUM, **{"x-delivery-limit": 1}) as queue:
        publish(rabbitmq, queue, [(f"m-{number}", b"good") for number in range(50)])
        with monkeypatch.context() as patching:
            patching.setattr("calendar.timegm", lambda _: NO_MOMENT)
            publish(rabbitmq, queue, [("odd", b"odd")], sent=datetime(2026, 1, 1, tzinfo=UTC))
        publish(rabbitmq, queue, [(f"n-{number}", b"good") for number in range(50)])
        place, spout = sqlite_place(tmp_path), RabbitSpout(queue, url=rabbitmq.url, body=TextBody())
        job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts", kind=StateKind.OPAQUE))
        summary = TopologyRun(job, place.ledger(), OPTIONS).run()
        counts = {account: n for account, (n, _) in place.rows("counts").items()}
        assert (counts, summary.given_again, waiting(rabbitmq, queue)) == ({"good": 100, "odd": 1}, 0, 0)


@pytest.mark.timeout(180)
def test_a_message_that_the_broker_puts_aside_is_not_waited_for_long(rabbitmq: LocalRabbit) -> None:
    with queue_of(rabbitmq, **QUORUM, **{"x-delivery-limit": 1}) as queue:
        publish(rabbitmq, queue, [("bad", b"bad")])
        spout = RabbitSpout(queue, url=rabbitmq.url)
        with opened(spout):
            given, latest = 0, time.monotonic() + 90
            while spout.is_waiting() and time.monotonic() < latest:
                if spout.next_tuple() is not None:
                    given += 1
                    spout.fail("bad")
                time.sleep(0.01)
            assert (given, spout.is_waiting()) == (2, False)
            assert time.monotonic() < latest - 45, "it waits as long as for what a broker has still to read"
