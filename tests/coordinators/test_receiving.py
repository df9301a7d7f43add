"""A source that can't be read again: each batch once, what dies with a process recorded, nothing else lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.coordinators.fakes import ListSource, ListSpout, Topic
from tests.coordinators.receiving import Generous, Meddle, Queue, Row, Taking, nothing, receiving_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError, RetryableError
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.batches.processor import ProcessRequest
from trident.coordinators.holding.run import TopologyRun
from trident.spouts.base import LostOffsets
from trident.state import StateKind


class Died(Exception):
    pass


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    if request.param == "memory":
        return memory_place()
    return sqlite_place(tmp_path_factory.mktemp("place"), apart=request.param == "sqlite apart")


def records(count: int, partitions: int = 1, first: int = 0) -> dict[int, list[str]]:
    return {number: [f"r{number}.{n}" for n in range(first, first + count)] for number in range(partitions)}


def run(place: Place, spout: Taking, meddle: Meddle = nothing, kind: StateKind = StateKind.OPAQUE) -> None:
    job = receiving_job(spout, place.state("counts", kind=kind), meddle=meddle)
    TopologyRun(job, place.ledger(), OPTIONS).run()


def die_at(place: Place, spout: Taking, point: CrashPoint, txid: int) -> set[str]:
    """Run until a txid reaches a point, and die there: the spout says nothing more, and its queue notices.

    Returns what was planned by then: of what was received and not planned yet no record can know.
    """
    planned: set[str] = set()

    def die(reached: CrashPoint, of: int) -> None:
        if reached is CrashPoint.AFTER_PLAN:
            planned.update(spout.queue.given)
        if reached is point and of == txid:
            spout.is_dead = True
            raise Died

    with armed(die), pytest.raises(Died):
        run(place, spout)
    assert spout.is_dead
    return planned


def counted(place: Place) -> dict[str, int]:
    return {account: n for account, (n, _) in place.rows("counts").items()}


def lost(place: Place) -> int:
    return place.ledger().view().status("queued").lost_offsets


@pytest.mark.parametrize("kind", StateKind)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_batch_that_fails_is_tried_again_with_the_same_rows_and_each_counts_once(
    place: Place, kind: StateKind, partitions: int
) -> None:
    queue = Queue(records(12, partitions))
    wanted = {record: 1 for some in queue.waiting.values() for record in some}
    first_tries: dict[int, Sequence[str]] = {}

    def fail_once(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid % 2 and request.batch.txid not in first_tries:
            first_tries[request.batch.txid] = accounts
            raise RetryableError("the engine has lost it")
        assert set(first_tries.get(request.batch.txid, ())) <= set(accounts)

    spout = Taking(queue)
    run(place, spout, fail_once, kind)
    assert first_tries
    assert counted(place) == wanted
    assert sorted(queue.acknowledged) == sorted(wanted)
    assert queue.given == list(dict.fromkeys(queue.given)), "nothing is asked for twice"
    assert (lost(place), spout.closed) == (0, 1)


ALWAYS = [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.AFTER_DONE]
APART = [CrashPoint.BEFORE_PIN, CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY, CrashPoint.AFTER_APPLY]
DEATHS = [
    *(("memory", point) for point in ALWAYS),
    *(("sqlite", point) for point in (*ALWAYS, CrashPoint.IN_PIN_TRANSACTION)),
    *(("sqlite apart", point) for point in (*ALWAYS, *APART, CrashPoint.BEFORE_DONE)),
]
"""Each border that a batch passes, by where the state is: one beside the ledger has fewer."""
at_each_border = pytest.mark.parametrize(("place", "point"), DEATHS, indirect=["place"])


@at_each_border
@pytest.mark.parametrize("partitions", [1, 3])
def test_what_died_with_a_process_is_recorded_and_nothing_counts_twice(
    place: Place, point: CrashPoint, partitions: int
) -> None:
    queue = Queue(records(20, partitions))
    every = [record for some in queue.waiting.values() for record in some]
    spout = Taking(queue)
    planned = die_at(place, spout, point, 3)
    taken = set(queue.given)
    run(place, Taking(queue))
    found = counted(place)
    assert set(found.values()) == {1}
    missing = set(every) - set(found)
    assert missing <= taken, "what the dead process had not received is counted"
    assert lost(place) == len(missing & planned), "what it had planned and not finished is known to be lost"
    queue.waiting[0].append("late")
    run(place, Taking(queue))
    assert counted(place) == {**found, "late": 1}
    assert lost(place) == len(missing & planned), "a loss is recorded once"


@at_each_border
def test_a_source_that_gives_again_loses_nothing(place: Place, point: CrashPoint) -> None:
    queue = Queue(records(20), redelivers=True)
    every = set(queue.waiting[0])
    die_at(place, Taking(queue), point, 3)
    acknowledged = set(queue.acknowledged)
    run(place, Taking(queue))
    found = counted(place)
    assert set(found) == every
    twice = {record for record, n in found.items() if n > 1}
    assert all(n <= 2 for n in found.values())
    assert not twice & acknowledged, "what was acknowledged is never given again"
    assert set(queue.acknowledged) == every


def test_what_was_received_and_not_planned_is_all_that_no_record_knows(place: Place) -> None:
    queue = Queue(records(20))
    die_at(place, Taking(queue), CrashPoint.BEFORE_PLAN, 2)
    run(place, Taking(queue))
    assert len(counted(place)) + lost(place) == 15


def test_rows_of_a_partition_that_nobody_had_finished_are_lost_by_number_too(place: Place) -> None:
    queue = Queue(records(2))
    run(place, Taking(queue))
    queue.waiting[4] = ["new"] * 3
    die_at(place, Taking(queue), CrashPoint.AFTER_PLAN, 2)
    queue.waiting[4] = ["newer"]
    run(place, Taking(queue))
    assert counted(place) == {"r0.0": 1, "r0.1": 1, "newer": 1}
    (loss,) = place.ledger().view().losses("queued")
    assert (loss.partition, loss.start_offset, loss.stop_offset) == (4, 0, 3)
    assert "received by a process that ended" in loss.reason


def test_a_start_may_be_told_to_stop_at_such_a_loss(place: Place) -> None:
    queue = Queue(records(20))
    die_at(place, Taking(queue), CrashPoint.AFTER_PLAN, 2)
    with pytest.raises(FatalError, match=r"\d+ rows of partition 0 were received by a process that ended.*LostOff"):
        run(place, Taking(queue, LostOffsets.STOP))
    assert (len(queue.given), lost(place)) == (10, 0), "nothing is received that would be lost with this start"
    run(place, Taking(queue))
    assert len(counted(place)) + lost(place) == 20


@pytest.mark.parametrize("taking", [Taking, Generous])
@pytest.mark.parametrize("max_wait", [None, timedelta(0)])
def test_a_run_that_is_stopped_finishes_all_that_it_has_received(
    place: Place, max_wait: timedelta | None, taking: type[Taking]
) -> None:
    queue = Queue(records(60, 2))
    spout = taking(queue)
    runs: list[TopologyRun] = []

    def stop(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid == 2:
            runs[0].stop()

    job = receiving_job(spout, place.state("counts"), meddle=stop)
    runs.append(TopologyRun(job, place.ledger(), replace(OPTIONS, max_wait=max_wait)))
    runs[0].run()
    assert len(queue.given) < 120
    assert sorted(counted(place)) == sorted(queue.given) == sorted(queue.acknowledged)
    run(place, taking(queue))
    assert (len(counted(place)), lost(place)) == (120, 0)


@pytest.mark.parametrize("max_pending", [1, 3])
@pytest.mark.parametrize("fails", [1, 2])
def test_what_fails_while_a_run_is_stopped_is_tried_again_before_its_rows_end_with_it(
    place: Place, max_pending: int, fails: int
) -> None:
    queue = Queue(records(60))
    runs: list[TopologyRun] = []
    failed: list[int] = []

    def stop_and_fail(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid == 2 and len(failed) < fails:
            runs[0].stop()
            failed.append(request.batch.attempt)
            raise RetryableError("the engine has lost it")

    job = receiving_job(Taking(queue), place.state("counts"), meddle=stop_and_fail)
    runs.append(TopologyRun(job, place.ledger(), replace(OPTIONS, max_wait=timedelta(0), max_pending=max_pending)))
    runs[0].run()
    assert len(failed) == fails
    assert len(queue.given) < 60, "no more is asked for"
    assert sorted(counted(place)) == sorted(queue.given) == sorted(queue.acknowledged)
    run(place, Taking(queue))
    assert (len(counted(place)), lost(place)) == (60, 0)


def test_a_stop_does_not_try_for_ever(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue(records(60))
    runs: list[TopologyRun] = []
    tries: list[int] = []

    def stop_and_fail(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid >= 2:
            runs[0].stop()
            tries.append(request.tries)
            raise RetryableError("the engine has lost it")

    job = receiving_job(Taking(queue), place.state("counts"), meddle=stop_and_fail)
    runs.append(TopologyRun(job, place.ledger(), replace(OPTIONS, max_pending=1)))
    with caplog.at_level(logging.WARNING):
        runs[0].run()
    assert tries == [1, 2, 3]
    assert any("5 rows were received and are not done when the run ends" in text for text in caplog.messages)
    run(place, Taking(queue))
    assert len(counted(place)) + lost(place) == 60
    assert lost(place) == 5


def test_a_call_that_does_not_return_is_named_while_it_is_waited_for(
    place: Place, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.spouts.python.watching.LONG_S", 0.05)
    hangs, returns = threading.Event(), threading.Event()

    class Hanging(Taking):
        def receive(self, partition: int, most: int) -> Iterable[Row]:
            if len(self.queue.given) >= 10:
                hangs.set()
                returns.wait(10)
            return super().receive(partition, most)

    def fail(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid == 2:
            assert hangs.wait(10)
            threading.Timer(0.4, returns.set).start()
            raise FatalError("no engine")

    job = receiving_job(Hanging(Queue(records(60))), place.state("counts"), meddle=fail)
    options = replace(OPTIONS, max_wait=timedelta(0), max_pending=3)
    with caplog.at_level(logging.WARNING), pytest.raises(FatalError, match="no engine"):
        TopologyRun(job, place.ledger(), options).run()
    told = [text for text in caplog.messages if "receive() of partition 0 has not returned for" in text]
    assert 2 <= len(told) <= 4, "each time that twice as long has passed"
    assert "stream 's'" in told[0]
    assert not [text for text in caplog.messages if "partitions()" in text]


def test_a_run_that_catches_up_asks_once_more_when_all_is_done(place: Place) -> None:
    """While a batch is processed the source isn't asked: that is no word that it has nothing."""
    queue = Queue(records(3))

    def come_meanwhile(request: ProcessRequest, accounts: Sequence[str]) -> None:
        if request.batch.txid == 1:
            queue.waiting[0] += ["late", "later"]

    run(place, Taking(queue), come_meanwhile)
    assert len(counted(place)) == 5


def test_the_log_says_once_in_a_run_what_is_not_promised(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(place, Taking(Queue(records(20))))
    assert [text for text in caplog.messages if "stream=s is non-transactional" in text] != []
    assert len([text for text in caplog.messages if "non-transactional" in text]) == 1


def test_what_a_broken_run_still_held_is_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(request: ProcessRequest, accounts: Sequence[str]) -> None:
        raise FatalError("no engine")

    spout = Taking(Queue(records(4)))
    with caplog.at_level(logging.WARNING), pytest.raises(FatalError, match="no engine") as raised:
        run(place, spout, refuse)
    assert "stream 's' had received and was not done ends with this run" in raised.value.__notes__[0]
    assert any("4 rows were received and are not done" in text for text in caplog.messages)
    assert spout.closed == 1


class Moving(ListSource):
    """One that looks at its files when the stop of a range is moved."""

    def moved(self, id_: PartitionId, stop: int) -> int:
        if self.topic.is_deleted:
            raise FatalError("the file is not what it was")
        return 3


def run_beside(place: Place, queue: Queue, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ListSpout, "open", lambda spout, name: Moving(spout.topic, name))
    job = receiving_job(Taking(queue), place.state("counts"), beside=topic)
    TopologyRun(job, place.ledger(), OPTIONS).run()


def test_a_stream_beside_it_that_can_not_be_planned_is_refused_before_anything_is_received(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has changed since it was listed, say, which is seen when the stop of its range is moved."""
    queue, topic = Queue(records(4)), Topic([[("k", 1)]])

    def change(source: ListSource, known: Sequence[OffsetRange]) -> tuple[()]:
        source.topic.is_deleted = True
        return ()

    monkeypatch.setattr(Moving, "recognize", change)
    with pytest.raises(FatalError, match="is not what it was"):
        run_beside(place, queue, topic, monkeypatch)
    assert queue.given == []


def test_what_is_moved_beside_it_is_planned_with_what_was_received(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, topic = Queue(records(4)), Topic([[("k", 1)] * 3])
    run_beside(place, queue, topic, monkeypatch)
    assert sum(counted(place).values()) == 7
