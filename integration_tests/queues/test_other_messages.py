"""Two messages of a real RabbitMQ with one id: the later one stops the run, stays in the queue, and is in no result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle

from integration_tests.queues.rabbit_queues import channel, publish, queue_of, waiting
from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_run import OPTIONS, Place, sqlite_place
from tests.spouts.queue.text_body import TextBody
from trident.base.errors import FatalError
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.local.rabbitmq import LocalRabbit
from trident.spouts import RabbitSpout
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind

MANY = 8_000
"""So many that the broker needs a second to send them."""
FIVE, SIX = b"five", b"of-ann-only"


@pytest.fixture(params=["classic", "quorum"])
def queue(rabbitmq: LocalRabbit, request: pytest.FixtureRequest) -> Iterator[str]:
    with queue_of(rabbitmq, **{"x-queue-type": request.param}) as name:
        yield name


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return sqlite_place(tmp_path)


def run(place: Place, server: LocalRabbit, queue: str) -> RunSummary:
    spout = RabbitSpout(queue, url=server.url, body=TextBody())
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts", kind=StateKind.OPAQUE))
    return TopologyRun(job, place.ledger(), OPTIONS).run()


def counted(place: Place) -> dict[str, int]:
    return {account: n for account, (n, _) in place.rows("counts").items()}


def refused(place: Place, server: LocalRabbit, queue: str) -> None:
    with pytest.raises(FatalError) as caught:
        run(place, server, queue)
    said = str(caught.value)
    assert f"queue {queue!r}: a message with the id 'p-1' is not the one" in said
    assert "its source still has it" in said
    assert "of-ann" not in said


@pytest.mark.timeout(180)
def test_one_behind_a_message_that_is_done_in_an_earlier_run(rabbitmq: LocalRabbit, queue: str, place: Place) -> None:
    publish(rabbitmq, queue, [("p-1", FIVE)])
    run(place, rabbitmq, queue)
    assert waiting(rabbitmq, queue) == 0
    publish(rabbitmq, queue, [("p-1", SIX)])
    for _ in range(2):
        refused(place, rabbitmq, queue)
        assert (waiting(rabbitmq, queue), counted(place)) == (1, {"five": 1})
    with channel(rabbitmq) as open_:
        left: object = open_.basic_get(queue, auto_ack=True)[2]  # its stubs say a text
        assert left == SIX, "it is as it was published"
    publish(rabbitmq, queue, [("p-1", FIVE), ("p-2", SIX)])
    assert run(place, rabbitmq, queue).given_again == 1
    assert (waiting(rabbitmq, queue), counted(place)) == (0, {"five": 1, "of-ann-only": 1})


@pytest.mark.timeout(180)
def test_one_behind_a_message_that_is_under_way(rabbitmq: LocalRabbit, queue: str, place: Place) -> None:
    publish(rabbitmq, queue, [("p-1", FIVE), ("p-1", SIX), ("p-1", FIVE)])
    refused(place, rabbitmq, queue)
    assert "of-ann-only" not in counted(place)
    left: list[object] = []
    with channel(rabbitmq) as open_:
        while (got := open_.basic_get(queue, auto_ack=True))[0] is not None:
            left.append(got[2])
    assert SIX in left


@pytest.mark.timeout(180)
def test_a_limit_of_deliveries_puts_it_aside_and_nothing_that_came_with_it(rabbitmq: LocalRabbit, place: Place) -> None:
    with queue_of(rabbitmq) as aside:
        sends = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": aside}
        with queue_of(rabbitmq, **{"x-queue-type": "quorum", "x-delivery-limit": 3, **sends}) as queue:
            publish(rabbitmq, queue, [("p-1", FIVE)])
            run(place, rabbitmq, queue)
            many = [(f"g-{n}", f"w{n} ".encode() + b"x" * 2_000) for n in range(MANY)]
            publish(rabbitmq, queue, [("p-1", SIX), *many])
            for _ in range(4):  # the broker may lose the last acks of a connection that ends: the next run sends them
                refused(place, rabbitmq, queue)
                assert len(counted(place)) == MANY + 1, "one message holds up no other"
            run(place, rabbitmq, queue)
            assert (waiting(rabbitmq, queue), waiting(rabbitmq, aside)) == (0, 1)
