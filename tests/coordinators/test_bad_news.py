"""Bad news of a batch is about its records, and waits for its turn: it counts when everything before it is done."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from tests.coordinators.fakes import POISON, Topic, make_job
from tests.coordinators.test_decisions import SHORTCUT, Scene
from tests.coordinators.test_run import OPTIONS, run, sqlite_place
from trident.base.errors import DecisionNeededError, FatalError, RetryableError
from trident.coordinators.batches.processor import (
    ProcessRequest,
    ProcessResult,
    StagingRefusedError,
    UnprocessableError,
)
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import DecisionKind, Refusal, StopKind
from trident.coordinators.decisions.commands import retry_topology
from trident.spouts.base import LostOffsets

PATIENCE_S = 5.0


def records(count: int) -> list[tuple[str, int]]:
    return [(f"a{n % 3}", n) for n in range(count)]


def test_a_bad_record_in_a_later_batch_lets_the_slow_one_before_it_finish(tmp_path):
    place, topic = (
        sqlite_place(tmp_path),
        Topic([[*records(10), POISON, *records(15)]]),
    )  # a batch behind one that is read is a full one
    judged = threading.Event()

    def slow_at_first(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if result.bad_records:
            judged.set()
        elif not judged.wait(PATIENCE_S):
            raise RetryableError("the later batch was never read")
        return result

    job = make_job(topic, place.state("balances"), meddle=slow_at_first)
    with pytest.raises(StoppedError, match="offset 10 of partition 0"):
        run(job, place.ledger(), replace(OPTIONS, max_pending=2, max_tries=2))
    standing = place.ledger().view().status("payments")
    assert standing.done == 1
    assert standing.refusal is not None
    assert (standing.refusal.kind, standing.refusal.txid) == ("bad record", 2)
    assert len(job.processor.attempts) == 2


@pytest.mark.parametrize("recorded", [True, False], ids=["a refusal", "another error"])
def test_what_is_refused_out_of_turn_is_void_when_the_batch_before_it_fails(tmp_path, recorded):
    place, topic = sqlite_place(tmp_path), Topic([records(25)])
    refused = threading.Event()

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        batch = request.batch
        if batch.txid == 2 and not refused.is_set():
            topic.partitions[0].append(("late", 1))
            refused.set()
            refusal = Refusal(2, batch.attempt, StopKind.REFUSED, "balances", "too large")
            raise StoppedError("refused", refusal) if recorded else FatalError("no good")
        if batch.txid == 1 and batch.attempt == 1:
            assert refused.wait(PATIENCE_S)
            raise RetryableError("a task died")
        return result

    job = make_job(topic, place.state("balances"), meddle=meddle)
    run(job, place.ledger(), replace(OPTIONS, max_pending=2, max_tries=2))
    assert place.rows("balances") == topic.expected()
    assert place.ledger().view().txid("payments", 2).refusals == ()


def test_a_divert_takes_no_other_records_than_those_that_were_refused(tmp_path, caplog):
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.topic.earliest[0] = 14  # the refused record is gone: what follows was never looked at
    scene.topic.partitions[0].append(("after", 1))
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        run(scene.job(on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST), scene.ledger())
    expected = Topic([[*scene.topic.partitions[0][:12], ("new", 3), ("after", 1)]]).expected()
    assert scene.rows("totals") == scene.rows("balances") == expected
    assert scene.ledger().diverted("payments") == ()
    (decision,) = scene.ledger().view().txid("payments", 3).decisions
    assert (decision.is_finished, decision.void) == (True, True)
    assert "the divert of txid 3 of state 'totals' of topology 'payments' is void" in caplog.text


def test_a_held_divert_reads_just_the_refused_records_however_much_has_come_since(tmp_path):
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.topic.partitions[0] += [("after", n) for n in range(30)]
    scene.topic.partitions.append([("new partition", 1)])
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    kept = [record for n, record in enumerate(scene.topic.partitions[0]) if not 12 <= n < 15]
    assert scene.rows("totals") == Topic([kept, *scene.topic.partitions[1:]]).expected()


@pytest.mark.parametrize("error", [StagingRefusedError("balances", "a text with NUL"), UnprocessableError("no number")])
def test_what_the_engine_says_of_the_records_is_recorded_with_their_attempt(tmp_path, error):
    place, topic = sqlite_place(tmp_path), Topic([records(5)])

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        raise error

    refuses = isinstance(error, StagingRefusedError)
    for _ in range(2):
        with pytest.raises(DecisionNeededError if refuses else StoppedError, match=str(error)):
            run(make_job(topic, place.state("balances"), meddle=meddle), place.ledger())
    refusal = place.ledger().view().status("payments").refusal
    assert refusal is not None
    of = "; the txid has the records 0 to 4 of partition 0 of 't'" if refuses else ""
    assert (refusal.txid, refusal.reason) == (1, f"{error}{of}")
    assert (refusal.kind, refusal.state) == (("refused", "balances") if refuses else ("unprocessable", ""))
    if refuses:
        retry_topology("payments", place.ledger(), 1, OPTIONS)
    run(make_job(topic, place.state("balances")), place.ledger())
    assert place.rows("balances") == topic.expected()


def test_the_engine_is_told_whose_rows_are_diverted(tmp_path):
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, state="totals")
    job = scene.job()
    run(job, scene.ledger())
    assert [request.diverts for request in job.processor.attempts] == [("totals",)]


@pytest.mark.parametrize("decided_after", [False, True], ids=["decided before", "decided after"])
def test_a_divert_does_not_follow_into_a_log_that_was_cut_and_has_grown_again(tmp_path, decided_after):
    """The offsets are the same again, the records are not."""
    topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)], []], epoch=5)
    scene = Scene(tmp_path, SHORTCUT, topic=topic)
    scene.be_refused()
    if not decided_after:
        scene.decide(DecisionKind.DIVERT, state="totals")
    topic.cut(0, 12)
    topic.partitions[0] += [("innocent", n) for n in range(3)]
    if decided_after:
        scene.decide(DecisionKind.DIVERT, state="totals")
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == topic.expected()
    assert scene.ledger().diverted("payments") == ()


def test_a_divert_of_records_behind_a_loss_reads_them_again_behind_the_same_loss(tmp_path):
    scene = Scene(tmp_path, SHORTCUT)
    scene.topic.earliest[0] = 13
    lossy = {"on_lost_offsets": LostOffsets.RESUME_AT_EARLIEST}
    with pytest.raises(DecisionNeededError):
        run(scene.job(**lossy), scene.ledger())
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.topic.partitions[0].append(("after", 1))
    run(scene.job(**lossy), scene.ledger())
    records = scene.topic.partitions[0]
    assert scene.rows("totals") == Topic([[*records[:12], *records[15:]]]).expected()
    assert scene.rows("balances") == Topic([[*records[:12], *records[13:]]]).expected()


@pytest.mark.parametrize("kind", [DecisionKind.RETRY, DecisionKind.DIVERT])
def test_what_is_decided_at_the_last_try_is_carried_out_by_the_next_start(tmp_path, kind):
    scene, options = Scene(tmp_path, SHORTCUT), replace(OPTIONS, max_tries=2)

    def once(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 3 and request.tries == 1:
            raise RetryableError("a task died")
        return result

    with pytest.raises(DecisionNeededError):
        run(scene.job(meddle=once), scene.ledger(), options)
    if kind is DecisionKind.RETRY:
        scene.mend()
        retry_topology("payments", scene.ledger(), 3, OPTIONS)
    else:
        scene.decide(kind, state="totals")
    assert run(scene.job(), scene.ledger(), options).last_done == 3
