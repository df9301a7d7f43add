"""Two messages with one id: the later one is in no result, is never acked, and somebody is told."""

from __future__ import annotations

import http.client
import logging
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_receiving import counted
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from tests.spouts.queue.text_body import TextBody
from trident.base.errors import FatalError
from trident.base.levels import Level
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.options import RunOptions, Until
from trident.spouts import HttpPushSpout
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.message import Message, body_digest
from trident.spouts.queue.spout import QueueSpout

LEVELS = tuple(Level)


class Digesting(FileQueueSpout):
    """Tells messages apart by their bodies."""

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        if message is None:
            return None
        (body,) = message.values
        return Message(message.values, message.id, message.is_redelivered, body_digest(str(body).encode()))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return sqlite_place(tmp_path)


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    return FileQueue(tmp_path / "queue.sqlite")


def put(queue: FileQueue, *messages: tuple[str, str]) -> None:
    with queue.connected() as connection:
        connection.executemany("INSERT INTO message (id, body) VALUES (?, ?)", messages)


def run(place: Place, spout: AckingSpout, level: Level = Level.EXACTLY_ONCE) -> RunSummary:
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts"), level=level)
    return TopologyRun(job, place.ledger(), OPTIONS).run()


def left(queue: FileQueue) -> list[tuple[str, str]]:
    with queue.connected() as connection:
        return connection.execute("SELECT id, body FROM message ORDER BY n").fetchall()


@pytest.mark.parametrize("level", LEVELS)
def test_one_that_comes_in_a_later_run_stops_it_and_stays_in_its_queue(place, queue, level):
    put(queue, ("a", "five"), ("b", "six"))
    run(place, Digesting(queue.path), level)
    put(queue, ("c", "seven"), ("a", "of ann only"))
    for _ in range(2):
        with pytest.raises(FatalError, match="a message with the id 'a' is not the one that is done") as caught:
            run(place, Digesting(queue.path), level)
        assert "of ann" not in str(caught.value)
        assert ("a", "of ann only") in left(queue)
    assert counted(place).items() >= {"five": 1, "six": 1}.items()
    assert "of ann only" not in counted(place)
    with queue.connected() as connection:
        connection.execute("DELETE FROM message WHERE id = 'a'")
    run(place, Digesting(queue.path), level)
    assert (counted(place), left(queue)) == ({"five": 1, "six": 1, "seven": 1}, [])


def test_one_in_the_same_batch_is_not_acked_with_the_first(queue):
    place = memory_place()
    put(queue, ("a", "five"), ("a", "other"))
    with pytest.raises(FatalError, match="under way, with this id"):
        run(place, Digesting(queue.path))
    assert ("a", "other") in left(queue)
    assert counted(place).keys() <= {"five"}


def test_the_same_message_that_comes_again_in_a_later_run_is_acked_and_counted(place, queue, caplog):
    put(queue, ("a", "five"), ("b", "six"))
    assert run(place, Digesting(queue.path)).given_again == 0
    put(queue, ("a", "five"), ("b", "six"))
    assert run(place, Digesting(queue.path)).given_again == 2
    assert (counted(place), left(queue)) == ({"five": 1, "six": 1}, [])
    assert any("say" in record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)


def test_what_an_older_version_has_done_is_known_by_its_id_alone(place, queue, tmp_path):
    put(queue, ("a", "five"))
    run(place, Digesting(queue.path))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        word = body_digest(b"five")
        changed = ledger.execute(
            "UPDATE trident_plan SET received = replace(received, ?, '') WHERE received != '[]'",
            (f',"bodies":["{word}"]',),
        )
        assert changed.rowcount == 1
        assert ledger.execute("SELECT count(*) FROM trident_plan WHERE received LIKE '%bodies%'").fetchone() == (0,)
    put(queue, ("a", "other"))
    assert run(place, Digesting(queue.path)).given_again == 1
    assert (counted(place), left(queue)) == ({"five": 1}, [])


def test_a_spout_that_gives_no_digests_is_read_as_before(place, queue):
    put(queue, ("a", "five"), ("a", "six"))
    run(place, FileQueueSpout(queue.path))
    put(queue, ("a", "seven"))
    assert run(place, FileQueueSpout(queue.path)).given_again == 1
    assert (counted(place), left(queue)) == ({"five": 1}, [])


FOREVER = RunOptions(
    until=Until.STOPPED, lease=OPTIONS.lease, retry_pause=OPTIONS.retry_pause, idle_interval=OPTIONS.idle_interval
)


@contextmanager
def serving(place: Place, port: int) -> Iterator[list[RunSummary]]:
    """Run a topology over posted messages while the block runs; yields what its summary is put into."""
    spout = HttpPushSpout(port=port, body=TextBody())
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts"))
    topology = TopologyRun(job, place.ledger(), FOREVER)
    summaries: list[RunSummary] = []
    thread = threading.Thread(target=lambda: summaries.append(topology.run()))
    thread.start()
    try:
        yield summaries
    finally:
        topology.stop()
        thread.join(120)


def post(port: int, id_: str, account: str) -> tuple[int, str]:
    """Post a message until the server is there and knows what became of it."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("POST", "/", account.encode(), {"Idempotency-Key": id_})
                answer = connection.getresponse()
                said = answer.status, answer.read().decode().strip()
        except OSError:
            said = 0, "nobody is there"
        if said[0] not in (0, 503):
            return said
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def test_200_is_never_answered_for_a_message_that_is_in_no_result(place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(place, port):
        assert post(port, "7", "five") == (200, "done")
        status, said = post(port, "7", "other")
        assert (status, "in no result" in said) == (422, True)
        assert post(port, "7", "five") == (200, "done")
        assert post(port, "8", "other") == (200, "done")
    with serving(place, port) as summaries:
        assert post(port, "7", "other")[0] == 422
        assert post(port, "7", "five") == (200, "done")
    assert [summary.given_again > 0 for summary in summaries] == [True]
    assert counted(place) == {"five": 1, "other": 1}
