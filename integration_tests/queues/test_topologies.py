"""The real queues through the real source, coordinator and ledger: each message counts once, whoever is killed."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pika
import pytest
from pyspark import cloudpickle
from redis import Redis

from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_run import OPTIONS, Place, sqlite_place
from trident.base.crash_points import CrashPoint, armed
from trident.coordinators.holding.run import TopologyRun
from trident.local.rabbitmq import LocalRabbit
from trident.local.redis import LocalRedis
from trident.spouts import RabbitSpout, RedisStreamSpout
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.process.instance import SpoutInstance
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind

MESSAGES = 230


class _DeathError(Exception):
    pass


class Server(Protocol):
    """A queue on a real server."""

    ids: list[str]
    """Of all the messages that were put in."""

    def spout(self) -> AckingSpout:
        """Return what takes from it."""

    def left(self) -> int:
        """Return how many messages it has that were not acked."""


class Rabbit:
    """A durable queue of RabbitMQ."""

    def __init__(self, local: LocalRabbit) -> None:
        self.url, self.name = local.url, f"q-{uuid.uuid4().hex[:12]}"
        self.ids = [f"m{number}" for number in range(MESSAGES)]
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            channel = connection.channel()
            channel.queue_declare(self.name, durable=True)
            for id_ in self.ids:
                channel.basic_publish("", self.name, b"", pika.BasicProperties(message_id=id_))

    def spout(self) -> AckingSpout:
        return RabbitSpout(self.name, url=self.url)

    def left(self) -> int:
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            return connection.channel().queue_declare(self.name, passive=True).method.message_count or 0


class Stream:
    """A stream of Redis with a group."""

    def __init__(self, local: LocalRedis) -> None:
        self.url, self.name = local.url, f"s-{uuid.uuid4().hex[:12]}"
        with Redis.from_url(self.url, protocol=2) as client:
            client.xgroup_create(self.name, "g", id="0", mkstream=True)
            self.ids = [client.xadd(self.name, {"n": number}).decode() for number in range(MESSAGES)]

    def spout(self) -> AckingSpout:
        return RedisStreamSpout(self.name, "g", url=self.url)

    def left(self) -> int:
        with Redis.from_url(self.url, protocol=2) as client:
            (group,) = client.xinfo_groups(self.name)
            return int(group["pending"]) + int(group["lag"])


@pytest.fixture(params=["rabbitmq", "redis"])
def server(request: pytest.FixtureRequest) -> Server:
    if request.param == "rabbitmq":
        return Rabbit(request.getfixturevalue("rabbitmq"))
    return Stream(request.getfixturevalue("redis_server"))


@contextmanager
def noting_processes(pids: list[int]) -> Iterator[None]:
    """Note the processes of spouts that are started in the block."""
    real = SpoutInstance.__init__

    def started(self: SpoutInstance, *given: object) -> None:
        real(self, *given)  # type: ignore[arg-type]
        pids.append(self.pid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpoutInstance, "__init__", started)
        yield


def run(place: Place, spout: AckingSpout) -> None:
    spout.max_batch_size = 50
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts", kind=StateKind.OPAQUE))
    TopologyRun(job, place.ledger(), OPTIONS).run()


def counted(place: Place) -> dict[str, int]:
    return {account: n for account, (n, _) in place.rows("counts").items()}


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PIN, CrashPoint.BEFORE_DONE, CrashPoint.AFTER_DONE]
)
def test_a_coordinator_dies_with_the_process_of_its_spout(server: Server, tmp_path: Path, point: CrashPoint) -> None:
    place, pids = sqlite_place(tmp_path, apart=True), list[int]()

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            os.kill(pids[-1], signal.SIGKILL)
            raise _DeathError

    with noting_processes(pids):
        with armed(die), pytest.raises(_DeathError):
            run(place, server.spout())
        assert server.left() > 0
        run(place, server.spout())
    assert counted(place) == dict.fromkeys(server.ids, 1)
    assert server.left() == 0


@pytest.mark.timeout(120)
def test_the_process_of_a_spout_dies_and_another_one_takes_its_place(server: Server, tmp_path: Path) -> None:
    place, pids = sqlite_place(tmp_path), list[int]()
    killed: list[int] = []

    def kill(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN and txid in (1, 3) and txid not in killed:
            killed.append(txid)
            os.kill(pids[-1], signal.SIGKILL)

    with noting_processes(pids), armed(kill):
        run(place, server.spout())
    assert counted(place) == dict.fromkeys(server.ids, 1)
    assert 1 < len(pids) <= 1 + len(killed)
    run(place, server.spout())  # hears again of what was done when a process died
    assert (counted(place), server.left()) == (dict.fromkeys(server.ids, 1), 0)
