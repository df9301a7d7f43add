"""Messages of a queue, and rows that can't be read again, at the two weaker levels."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tests.coordinators.receiving import Meddle, Queue, Taking, nothing, receiving_job
from tests.coordinators.test_receiving import Died, counted
from tests.coordinators.test_run import OPTIONS, Place, memory_place
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import RetryableError
from trident.base.levels import Level
from trident.coordinators.batches.processor import ProcessRequest
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.spouts.queue.message import Message
from trident.spouts.queue.spout import QueueSpout

IDS = [f"m{n}" for n in range(23)]
WEAKER = (Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE)
BORDERS = (
    CrashPoint.AFTER_PLAN,
    CrashPoint.AFTER_PROCESSING,
    CrashPoint.AFTER_STAGING,
    CrashPoint.IN_TURN,
    CrashPoint.AFTER_DONE,
)


@pytest.fixture
def place() -> Place:
    return memory_place()


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(IDS)
    return queue


class Deaf(FileQueueSpout):
    """Does nothing about a failed message, and lets its source forget what it gives."""

    max_pending = 3
    message_timeout = timedelta(milliseconds=1)

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        if message is not None:
            self.connection.execute("DELETE FROM message WHERE id = ?", (message.id,))
        return message

    def fail(self, id_: str | None) -> None:
        self._say("fail", id_)


def run(
    place: Place,
    queue: FileQueue,
    level: Level,
    meddle: Meddle = nothing,
    kind: type[FileQueueSpout] = FileQueueSpout,
) -> RunSummary:
    spout = kind(queue.path)
    described = QueueSpout(spout, cloudpickle.dumps(spout))
    job = receiving_job(described, place.state("counts"), meddle=meddle, level=level)
    return TopologyRun(job, place.ledger(), OPTIONS).run()


@pytest.mark.parametrize("level", WEAKER)
def test_without_a_fault_each_message_counts_once_and_is_acked(place, queue, level):
    run(place, queue, level)
    assert counted(place) == dict.fromkeys(IDS, 1)
    assert queue.left() == []


def test_at_most_once_messages_are_acked_before_their_batch_is_processed(place, queue):
    def look(_: ProcessRequest, accounts: Sequence[str]) -> None:
        deadline = time.monotonic() + 10
        while set(accounts) & set(queue.left()):
            assert time.monotonic() < deadline, "they are acked meanwhile"
            time.sleep(0.01)

    run(place, queue, Level.AT_MOST_ONCE, look)
    assert counted(place) == dict.fromkeys(IDS, 1), "what is acked can still be read"


def test_at_most_once_messages_of_a_batch_that_fails_are_lost_and_not_given_again(place, queue):
    lost: list[str] = []

    def fail(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid == 2:
            lost.extend(accounts)
            raise RetryableError("a function raised")

    assert run(place, queue, Level.AT_MOST_ONCE, fail).lost == 1
    assert lost
    assert counted(place) == dict.fromkeys(set(IDS) - set(lost), 1)
    assert queue.left() == []
    run(place, queue, Level.AT_MOST_ONCE)
    assert not set(counted(place)) & set(lost)


def test_at_least_once_messages_of_a_batch_that_fails_are_tried_again(place, queue):
    failed: list[int] = []

    def fail(request: ProcessRequest, _: Sequence[str]) -> None:
        if request.batch.txid == 2 and len(failed) < 2:
            failed.append(request.batch.attempt)
            raise RetryableError("a function raised")

    run(place, queue, Level.AT_LEAST_ONCE, fail)
    assert counted(place) == dict.fromkeys(IDS, 1)
    assert queue.left() == []


@pytest.mark.parametrize("level", WEAKER)
@pytest.mark.parametrize("point", BORDERS)
def test_whatever_has_died_no_level_breaks_its_word(place, queue, level, point):
    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 3:
            os.kill(queue.pids()[-1], signal.SIGKILL)  # as if its coordinator had been: it says nothing more
            raise Died

    with armed(die), pytest.raises(Died):
        run(place, queue, level)
    run(place, queue, level)
    found = Counter(counted(place))
    assert queue.left() == []
    if level is Level.AT_LEAST_ONCE:
        assert not Counter(IDS) - found
    else:
        assert not found - Counter(IDS)


@pytest.mark.parametrize("level", WEAKER)
def test_rows_that_can_not_be_read_again_count_once_without_a_fault(place, level):
    queue = Queue({0: [f"r{n}" for n in range(17)], 1: [f"s{n}" for n in range(4)]})
    job = receiving_job(Taking(queue), place.state("counts"), level=level)
    TopologyRun(job, place.ledger(), OPTIONS).run()
    assert counted(place) == dict.fromkeys(queue.given, 1)
    assert sorted(queue.acknowledged) == sorted(queue.given)


def test_no_level_brings_back_what_a_spout_without_fail_has_failed(place, queue):
    """Storm's second way to at most once: the level promises no more than the source gives again."""
    tries: Counter[int] = Counter()

    def fail_once(request: ProcessRequest, _: Sequence[str]) -> None:
        tries[request.batch.txid] += 1
        if request.batch.txid == 2 and tries[2] == 1:
            time.sleep(0.01)
            raise RetryableError("a function raised")

    run(place, queue, Level.AT_LEAST_ONCE, fail_once, Deaf)
    found, failed = counted(place), set(queue.said("fail"))
    assert failed
    assert found == dict.fromkeys(set(IDS) - failed, 1)


def test_no_level_brings_back_what_an_unreliable_source_has_forgotten(place, queue):
    """Storm's fourth way to at most once: what it has given and was not recorded dies with its process."""

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PROCESSING and txid == 2:
            os.kill(queue.pids()[-1], signal.SIGKILL)
            raise Died

    with armed(die), pytest.raises(Died):
        run(place, queue, Level.AT_LEAST_ONCE, kind=Deaf)
    run(place, queue, Level.AT_LEAST_ONCE, kind=Deaf)
    found = counted(place)
    assert set(found) < set(IDS)
    assert queue.left() == []
