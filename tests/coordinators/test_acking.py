"""Messages that want an ack each: every one counts once and is acked once it is done, whoever dies and whenever."""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from tests.coordinators.receiving import Meddle, nothing, receiving_job
from tests.coordinators.test_receiving import Died, at_each_border, counted
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout, Misbehaviour
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError, RetryableError, UncomputableError
from trident.base.ranges import Edge, OffsetRange
from trident.coordinators.batches.processor import ProcessRequest
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.levels.ending import is_lost_alone
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.registered import Keep
from trident.managing.lifecycle import activate, deactivate
from trident.spouts.python.held_rows import HeldRowsSource
from trident.spouts.queue.message import Message
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind

IDS = [f"m{n}" for n in range(23)]


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    if request.param == "memory":
        return memory_place()
    return sqlite_place(tmp_path_factory.mktemp("place"), apart=request.param == "sqlite apart")


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(IDS)
    return queue


def run(place: Place, spout: FileQueueSpout, meddle: Meddle = nothing, options: RunOptions = OPTIONS) -> None:
    described = QueueSpout(spout, cloudpickle.dumps(spout))
    job = receiving_job(described, place.state("counts", kind=StateKind.OPAQUE), meddle=meddle)
    TopologyRun(job, place.ledger(), options).run()


def once() -> dict[str, int]:
    return dict.fromkeys(IDS, 1)


def test_each_message_counts_once_and_is_acked_once(place: Place, queue: FileQueue) -> None:
    run(place, FileQueueSpout(queue.path))
    assert counted(place) == once()
    assert (queue.said("ack"), queue.said("fail"), queue.left()) == (IDS, [], [])
    assert (len(queue.pids()), len(queue.said("close"))) == (1, 1)


def test_a_message_is_acked_when_its_batch_is_done_and_not_before(place: Place, queue: FileQueue) -> None:
    looks = []

    def look(request: ProcessRequest, accounts: Sequence[str]) -> None:
        acked = queue.said("ack")
        looks.append((len(acked), sum(counted(place).values()) if acked else 0))

    run(place, FileQueueSpout(queue.path), look)
    assert all(acked <= done for acked, done in looks)
    assert len(looks) >= 5


def test_a_batch_that_fails_is_tried_again_with_what_is_held(place: Place, queue: FileQueue) -> None:
    tries: dict[int, int] = {}

    def fail_once(request: ProcessRequest, accounts: Sequence[str]) -> None:
        tries[request.batch.txid] = tries.get(request.batch.txid, 0) + 1
        if request.batch.txid % 2 and tries[request.batch.txid] == 1:
            raise RetryableError("the engine has lost it")

    run(place, FileQueueSpout(queue.path), fail_once)
    assert counted(place) == once()
    assert (sorted(queue.said("ack")), queue.said("fail")) == (sorted(IDS), [])


@at_each_border
def test_whatever_has_died_its_messages_come_again_and_count_once(
    place: Place, point: CrashPoint, queue: FileQueue
) -> None:
    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 3:
            os.kill(queue.pids()[-1], signal.SIGKILL)  # as if its coordinator had been: it says nothing more
            raise Died

    with armed(die), pytest.raises(Died):
        run(place, FileQueueSpout(queue.path))
    assert queue.left(), "what is acked is done"
    before = len(queue.pids())  # whoever planned just then has seen it go, and has begun another one
    run(place, FileQueueSpout(queue.path))
    assert counted(place) == once()
    assert (queue.left(), place.ledger().view().status("queued").lost_offsets) == ([], 0)
    assert len(queue.pids()) == before + 1


@pytest.mark.parametrize("at", [1, 4, 5, 6, 17])
@pytest.mark.parametrize("what", ["next dies", "ack dies", "next loses its connection", "ack loses its connection"])
def test_the_process_of_a_spout_dies_and_another_one_goes_on(
    place: Place, queue: FileQueue, what: str, at: int
) -> None:
    run(place, FileQueueSpout(queue.path, Misbehaviour(at, what)))
    assert counted(place) == once()
    run(place, FileQueueSpout(queue.path))  # which hears again of what was done when the run ended
    assert counted(place) == once()
    assert queue.left() == []


def test_a_message_whose_ack_was_lost_is_acked_again_and_does_not_count_again(place: Place, queue: FileQueue) -> None:
    run(place, FileQueueSpout(queue.path, loses_acks=True))
    assert (counted(place), queue.left()) == (once(), IDS)
    queue.put(["new"])
    run(place, FileQueueSpout(queue.path))
    assert counted(place) == {**once(), "new": 1}
    assert queue.left() == []


def test_a_message_from_behind_the_horizon_counts_as_new_and_that_is_said(
    place: Place, queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    run(place, FileQueueSpout(queue.path, loses_acks=True))
    spout = FileQueueSpout(queue.path)
    spout.horizon = 3
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        run(place, spout)
    assert set(counted(place).values()) <= {1, 2}
    assert sum(counted(place).values()) >= 18 + 23, "the last batch is remembered whatever the horizon"
    assert re.search(r"that are not among the [345] done ones that are remembered", caplog.text)


def test_a_message_from_behind_what_the_ledger_keeps_counts_as_new_and_that_is_said(
    tmp_path: Path, queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    """The horizon is wide, but the ledger has let the plans go."""
    place = sqlite_place(tmp_path)
    queue.put([f"n{n}" for n in range(600)])
    options = replace(OPTIONS, keep=Keep(count=0, age=timedelta(0)))
    run(place, FileQueueSpout(queue.path, loses_acks=True), options=options)
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        run(place, FileQueueSpout(queue.path), options=options)
    assert 2 in counted(place).values()
    assert "its source gives messages again that are not among the" in caplog.text


class WithoutIds(FileQueueSpout):
    horizon = 0

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message(message.values, None)


def test_messages_without_ids_are_others_in_the_next_process(place: Place, queue: FileQueue) -> None:
    run(place, WithoutIds(queue.path))
    run(place, WithoutIds(queue.path))  # nothing was acked: it has no id here to be found by
    assert counted(place) == dict.fromkeys(IDS, 2)


@pytest.mark.parametrize("horizon", [0, 3])
def test_a_message_of_the_last_batch_comes_again_although_no_id_is_remembered(
    place: Place, tmp_path: Path, horizon: int
) -> None:
    """The plan behind it may not have it once more, so it is known whatever the horizon."""
    queue = FileQueue(tmp_path / "few.sqlite")
    queue.put(IDS[:5])
    spout = FileQueueSpout(queue.path, loses_acks=True)
    spout.horizon = horizon
    run(place, spout)
    spout = FileQueueSpout(queue.path)
    spout.horizon = horizon
    run(place, spout)
    assert set(counted(place)) == set(IDS[:5])
    assert set(counted(place).values()) <= {1, 2}
    assert queue.left() == []


class Slow(FileQueueSpout):
    message_timeout = timedelta(seconds=0.2)

    def next_tuple(self) -> Message | None:
        time.sleep(0.2)
        return super().next_tuple()


def test_a_run_has_not_caught_up_with_what_was_failed_and_comes_again(place: Place, tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "few.sqlite")
    queue.put(IDS[:3])
    fails = [True]

    def fail_once(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if fails.pop() if fails else False:
            time.sleep(2.0)
            raise RetryableError("the engine has lost it")

    run(place, Slow(queue.path), fail_once)
    assert queue.said("fail")
    assert (counted(place), queue.left()) == (dict.fromkeys(IDS[:3], 1), [])


class Impatient(FileQueueSpout):
    max_pending = 3
    message_timeout = timedelta(milliseconds=1)


def test_a_failed_batch_is_dropped_although_all_of_its_messages_went_back_to_their_source(
    place: Place, queue: FileQueue
) -> None:
    tries: dict[int, int] = {}

    def fail_once(request: ProcessRequest, accounts: Sequence[str]) -> None:
        tries[request.batch.txid] = tries.get(request.batch.txid, 0) + 1
        if request.batch.txid % 2 and tries[request.batch.txid] == 1:
            time.sleep(0.01)
            raise RetryableError("the engine has lost it")

    run(place, Impatient(queue.path), fail_once)
    assert queue.said("fail")
    assert (counted(place), queue.left()) == (once(), [])


class Reusing(FileQueueSpout):
    """Gives the same list for each message, with other values in it."""

    row: list[object] | None = None

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        if message is None:
            return None
        self.row = [] if self.row is None else self.row
        self.row[:] = message.values
        return Message(self.row, message.id)


def test_the_values_are_those_of_the_moment_in_which_they_were_returned(place: Place, queue: FileQueue) -> None:
    run(place, Reusing(queue.path))
    assert counted(place) == once()


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_remembers_messages_as_long_as_they_are_in_the_rows(
    place: Place, queue: FileQueue, keep_rows: bool
) -> None:
    run(place, FileQueueSpout(queue.path, loses_acks=True))
    spout = FileQueueSpout(queue.path)
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts", kind=StateKind.OPAQUE))
    reset_topology(job.spec, job.targets, place.ledger(), keep_rows=keep_rows, start=None, options=OPTIONS)
    run(place, spout)
    assert counted(place) == once()
    assert queue.left() == []


def test_who_deactivates_a_topology_deactivates_its_spouts_until_it_is_activated(
    place: Place, queue: FileQueue
) -> None:
    """So nothing more is taken from the queue; what is in flight is finished, and acked."""
    spout = FileQueueSpout(queue.path)
    job = receiving_job(QueueSpout(spout, cloudpickle.dumps(spout)), place.state("counts", kind=StateKind.OPAQUE))
    running = TopologyRun(job, place.ledger(), replace(OPTIONS, until=Until.STOPPED))
    within = timedelta(seconds=20)

    def waits_for(condition: Callable[[], bool]) -> None:
        latest = time.monotonic() + within.total_seconds()
        while not condition():
            assert time.monotonic() < latest, "it has not happened in time"
            time.sleep(0.02)

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(running.run)
        try:
            waits_for(lambda: queue.left() == [])
            deactivate("queued", place.ledger(), within=within)
            waits_for(lambda: len(queue.said("deactivate")) == 1)
            queue.put(["new"])
            time.sleep(0.5)
            assert (queue.left(), counted(place)) == (["new"], once())
            activate("queued", place.ledger(), within=within)
            waits_for(lambda: queue.left() == [])
        finally:
            running.stop()
        ended.result()
    assert counted(place) == {**once(), "new": 1}
    assert len(queue.said("activate")) == 2


def test_a_start_of_a_topology_that_is_inactive_asks_its_spouts_for_nothing(place: Place, queue: FileQueue) -> None:
    run(place, FileQueueSpout(queue.path))
    deactivate("queued", place.ledger(), within=timedelta(seconds=20))
    queue.put(["new"])
    run(place, FileQueueSpout(queue.path))
    assert (queue.left(), len(queue.said("activate"))) == (["new"], 1)


class Unfit(FileQueueSpout):
    max_batch_size = 100

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and (Message((4711,), "odd") if message.id == "m7" else message)


def test_values_that_do_not_fit_are_named_by_their_message(queue: FileQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the source itself: the coordinator's tests have no Spark that knows a schema.

    At most once they are read when their batch is acked: the same words, of what the source has let go of.
    """
    monkeypatch.setattr(HeldRowsSource, "schema", lambda *_: StructType([StructField("account", StringType())]))
    source = QueueSpout(Unfit(queue.path), cloudpickle.dumps(Unfit(queue.path))).open("s")
    source.begin_from({}, {}, {})
    text = r"gave the message 'odd' that does not fit the schema: .* nothing of the batch was applied"
    try:
        while not source.is_caught_up:
            source.receive({})
        (bound,) = source.bounds()
        assert bound.stop == 23
        span = OffsetRange(bound.id, bound.topic_id, 0, 23)
        edges = [Edge(1, span)]
        with pytest.raises(UncomputableError, match=text):
            source.read_small(cast("SparkSession", None), edges, in_order=False)
        source.hold([span])
        source.committed(1, [span])
        with pytest.raises(UncomputableError, match=text) as raised:
            source.read_small(cast("SparkSession", None), edges, in_order=False)
        assert is_lost_alone(raised.value)
    finally:
        source.close()


def test_what_a_spout_says_is_wrong_ends_the_run_and_the_rest_is_given_back(place: Place, queue: FileQueue) -> None:
    with pytest.raises(FatalError, match="the queue is not there"):
        run(place, FileQueueSpout(queue.path, Misbehaviour(8, "next is refused")))
    assert set(counted(place).values()) <= {1}
    run(place, FileQueueSpout(queue.path))
    assert counted(place) == once()
    assert queue.left() == []
