"""A log that was cut and has grown again, with the real coordinator: nothing of the new one is taken for the old."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, payments, run, sqlite_place
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError
from trident.coordinators.decisions.commands import reset_topology
from trident.spouts.base import LostOffsets, SpoutKind

CUT = r"partition 1 of topic 't' was read up to offset 25, but its log was cut at 10 since"


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path)


def with_epochs(first: int | None = 3) -> Topic:
    topic = payments()
    topic.epoch = first
    return topic


def grow(topic: Topic, partition: int, count: int) -> None:
    topic.partitions[partition] += [("new", n + 1) for n in range(count)]


@contextmanager
def once(point: CrashPoint, txid: int, action: Callable[[], None]) -> Iterator[None]:
    """Do something the first time that the coordinator comes to a point with a txid."""
    left = [action]

    def reached(at: CrashPoint, with_txid: int) -> None:
        if (at, with_txid) == (point, txid) and left:
            left.pop()()

    with armed(reached):
        yield
    assert not left


@pytest.mark.parametrize("kind", SpoutKind)
@pytest.mark.parametrize("policy", LostOffsets)
def test_a_cut_between_two_runs_stops_the_start(place: Place, kind: SpoutKind, policy: LostOffsets) -> None:
    """Also where lost offsets may be skipped: how many records were never counted is not known."""
    job = make_job(with_epochs(), place.state("balances"), kind=kind, on_lost_offsets=policy)
    run(job, place.ledger())
    counted = job.topic.expected()
    job.topic.cut(1, 10)
    grow(job.topic, 1, 40)
    for _ in range(2):
        with pytest.raises(FatalError, match=f"{CUT}.*What was counted stays.*--states adopt --start MOMENT"):
            run(job, place.ledger())
        assert place.rows("balances") == counted
    reset_topology(
        job.plan().spec, job.plan().targets, place.ledger(), keep_rows=False, start="earliest", options=OPTIONS
    )
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_another_leader_alone_changes_nothing(place: Place) -> None:
    job = make_job(with_epochs(), place.state("balances"))
    run(job, place.ledger())
    for round_ in range(3):
        job.topic.cut(0, len(job.topic.partitions[0]))
        grow(job.topic, round_, 12)
        run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_a_cut_of_what_was_never_read_loses_nothing(place: Place) -> None:
    """An opaque spout has no word to keep about a batch that was only planned: it reads what the log has now."""
    job = make_job(with_epochs(), place.state("balances"))

    def cut() -> None:
        job.topic.cut(1, 10)
        grow(job.topic, 1, 40)

    with once(CrashPoint.AFTER_PLAN, 4, cut):
        run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    assert max(request.tries for request in job.processor.attempts) == 2


def test_a_transactional_batch_that_was_cut_before_it_was_read_stops(place: Place) -> None:
    job = make_job(with_epochs(), place.state("balances"), kind=SpoutKind.TRANSACTIONAL)

    def cut() -> None:
        job.topic.cut(1, 10)
        grow(job.topic, 1, 40)

    with (
        once(CrashPoint.AFTER_PLAN, 4, cut),
        pytest.raises(FatalError, match=r"was planned to be read up to offset 1[1-9], but its log was cut at 10 since"),
    ):
        run(job, place.ledger(), replace(OPTIONS, max_pending=1))
    assert sum(n for n, _ in place.rows("balances").values()) == 30


@pytest.mark.parametrize("max_pending", [1, 3])
def test_a_cut_below_what_is_done_while_a_batch_waits_stops(place: Place, max_pending: int) -> None:
    job = make_job(with_epochs(), place.state("balances"))

    def cut() -> None:
        job.topic.cut(1, 2)
        grow(job.topic, 1, 40)

    with once(CrashPoint.AFTER_PLAN, 5, cut), pytest.raises(FatalError, match="its log was cut at 2 since"):
        run(job, place.ledger(), replace(OPTIONS, max_pending=max_pending))
    assert "new" not in place.rows("balances")


def test_a_ledger_without_proofs_goes_on_and_gets_them(place: Place) -> None:
    """What an older version planned has no epoch: it can't be proven, and what follows can."""
    job = make_job(with_epochs(None), place.state("balances"))
    run(job, place.ledger())
    job.topic.epoch = 7
    for partition in range(3):
        grow(job.topic, partition, 5)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    job.topic.cut(1, 29)
    grow(job.topic, 1, 5)
    with pytest.raises(FatalError, match="was read up to offset 30, but its log was cut at 29 since"):
        run(job, place.ledger())


def test_a_reset_that_resumes_keeps_the_proof(place: Place) -> None:
    job = make_job(with_epochs(), place.state("balances"))
    run(job, place.ledger())
    reset_topology(job.plan().spec, job.plan().targets, place.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    job.topic.cut(1, 10)
    grow(job.topic, 1, 40)
    with pytest.raises(FatalError, match=CUT):
        run(job, place.ledger())


def test_a_start_at_the_end_is_a_position_too(place: Place) -> None:
    """What takes the place of records from before the start has come after it, and would never be counted."""
    job = make_job(with_epochs(), place.state("balances"))
    run(job, place.ledger())
    reset_topology(
        job.plan().spec, job.plan().targets, place.ledger(), keep_rows=False, start="latest", options=OPTIONS
    )
    run(job, place.ledger())
    job.topic.cut(1, 10)
    grow(job.topic, 1, 40)
    with pytest.raises(FatalError, match=CUT):
        run(job, place.ledger())


@pytest.mark.parametrize("kind", SpoutKind)
def test_a_transaction_that_is_open_before_what_was_read_is_waited_for(
    place: Place, kind: SpoutKind, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a change to read_committed: the other partitions go on, and nothing is read again."""
    job = make_job(with_epochs(), place.state("balances"), kind=kind)
    run(job, place.ledger())
    counted = job.topic.expected()
    job.topic.stable = 3
    caplog.clear()
    assert run(job, place.ledger()).batches == 0
    assert place.rows("balances") == counted
    told = [record.getMessage() for record in caplog.records if "transaction is open from 3 on" in record.getMessage()]
    assert len(told) == 3, "once for each partition"
    job.topic.stable = None
    for partition in range(3):
        grow(job.topic, partition, 4)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_a_log_that_was_cut_is_noticed_behind_an_open_transaction_too(place: Place) -> None:
    job = make_job(with_epochs(), place.state("balances"))
    run(job, place.ledger())
    job.topic.cut(1, 10)
    job.topic.stable = 3
    grow(job.topic, 1, 40)
    with pytest.raises(FatalError, match=CUT):
        run(job, place.ledger())
