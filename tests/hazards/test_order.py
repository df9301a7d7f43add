"""H1, H6, H8, H9, H12, H13, H14: which attempt reads what, and whose words count."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import event

from tests.coordinators.fakes import LAYOUT, ListProcessor, ListSpout, Topic, make_job
from tests.coordinators.test_run import OPTIONS, memory_place, payments, run, sqlite_place
from tests.hazards.replays import Death, hiding_job, ranges_of, tries_of
from trident.base.errors import FatalError, RetryableError
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import Limits, Spout, SpoutKind
from trident.state import MemoryState


def test_h01_txids_are_emitted_in_order_and_share_no_offset():
    """Storm emits txid 3 before txid 2 when its throttle opens in mid-loop; both read 10 to 20: 55 instead of 45.

    Here four batches are in flight, planned with a throttle, and come back in the opposite order.
    """
    topic = Topic([[("ann", 1)] * 45])
    all_at_work = threading.Barrier(4)

    def later_ones_first(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid <= 4:
            all_at_work.wait(20)
            time.sleep(0.03 * (4 - request.batch.txid))
        return result

    place = memory_place()
    job = make_job(topic, place.state("balances"), meddle=later_ones_first)
    throttled = replace(OPTIONS, max_pending=4, emit_interval=timedelta(milliseconds=5))
    run(job, place.ledger(), throttled)
    read = [[(span.start, span.stop) for span in spans] for txid in range(1, 5) for spans in ranges_of(job, txid)]
    assert read == [[(0, 10)], [(10, 20)], [(20, 30)], [(30, 40)]]
    assert place.rows("balances") == {"ann": (45, 45)}


def test_h06_the_failure_of_an_old_attempt_leaves_the_live_one_alone():
    """Storm drops the live attempt when the old one times out, and the next batch was based on it: a gap or an overlap.

    Here attempt 1 at txid 2 times out and fails when attempt 2 is at work, with txid 3 behind it.
    """
    place = memory_place()
    second_at_work = threading.Event()

    def fail_late(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2 and request.tries == 1:
            assert second_at_work.wait(20)
            raise RetryableError("an old attempt fails")
        if request.batch.txid == 2 and request.tries == 2:
            second_at_work.set()
            time.sleep(0.2)
        return result

    job = make_job(payments(), place.state("balances"), meddle=fail_late)
    run(job, place.ledger(), replace(OPTIONS, batch_timeout=timedelta(seconds=1), max_pending=4))
    assert tries_of(job)[2] == 2
    assert place.rows("balances") == job.topic.expected()


def test_h08_batches_that_wait_for_their_commit_turn_do_not_time_out():
    """Storm forgets batches that wait longer than the message timeout: endless replays, 0 of 80 records committed.

    Here eight batches are processed at once, and the last one waits more than twice the timeout for its turn.
    """
    place = memory_place()
    ledger = place.ledger()
    together = ledger.commit_together

    def slow(*arguments):
        time.sleep(0.15)
        together(*arguments)

    ledger.commit_together = slow
    job = make_job(Topic([[("ann", 1)] * 80]), place.state("balances"))
    run(job, ledger, replace(OPTIONS, max_pending=8, batch_timeout=timedelta(milliseconds=400)))
    assert set(tries_of(job).values()) == {1}
    assert place.rows("balances") == {"ann": (80, 80)}


def test_h09_a_plan_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Storm writes a batch's metadata partition by partition; a crash between two of them: every restart crashes again.

    Here the process dies at each statement of the transaction that writes the plan of txid 2, in turn.
    """
    for statement in count(1):
        folder = tmp_path / str(statement)
        folder.mkdir()
        place = sqlite_place(folder)
        job = make_job(payments(), place.state("balances"))
        died = dies_while_planning(folder / "ledger.sqlite", job, statement)
        run(job, place.ledger())
        assert place.rows("balances") == job.topic.expected()
        assert ranges_of(job, 2)[0] == ranges_of(job, 2)[-1]
        if not died:
            break
    assert statement > 4


def dies_while_planning(file: Path, job: Any, statement: int) -> bool:
    """Run until the n-th statement of the plan of txid 2; returns whether there was one."""
    ledger = SqliteLedger(file)
    plan, left = ledger.plan, [0]

    def counting_plan(owner, epoch, what, drop_from=None):
        if what is not None and what.txid == 2:
            left[0] = statement
        plan(owner, epoch, what, drop_from)
        left[0] = 0

    def die_at_statement(*_):
        if left[0] and threading.current_thread().name.startswith("trident-plan"):
            left[0] -= 1
            if not left[0]:
                raise Death

    ledger.plan = counting_plan
    event.listen(ledger.database.engine, "before_cursor_execute", die_at_statement)
    try:
        run(job, ledger, replace(OPTIONS, max_pending=1))
    except Death:
        return True
    return False


@dataclass
class TwoStreams:
    """Counts two spouts into a state each; both have a topic and partitions of the same names."""

    topics: dict[str, Topic]
    attempts: list[ProcessRequest] = field(default_factory=list)

    def process(self, request: ProcessRequest) -> ProcessResult:
        if request.tries == 1 and request.batch.txid % 2:
            raise RetryableError("a task was lost")
        self.attempts.append(request)
        results = [self._read(request, spout) for spout in self.topics]
        return ProcessResult(
            tuple(pair for result in results for pair in result.manifests),
            tuple(bad for result in results for bad in result.bad_records),
            {name: staged for result in results for name, staged in result.updates.items()},
        )

    def cancel(self, batch: Any) -> None:
        pass

    def _read(self, request: ProcessRequest, spout: str) -> ProcessResult:
        reader = ListProcessor(self.topics[spout], [f"from {spout}"], lambda request, result: result)
        return reader.read(spout, request.edges[spout])


@pytest.mark.parametrize("kind", SpoutKind)
def test_h12_two_spouts_of_one_topology_do_not_collide(kind: SpoutKind) -> None:
    """Storm tracks batches of a bolt by txid alone: two spouts' batches of one txid are taken for each other's."""
    topics = {"left": Topic([[("ann", 1)] * 25]), "right": Topic([[("ann", 100)] * 7, [("bob", 100)] * 40])}
    place = memory_place()
    states = {f"from {spout}": MemoryState(f"from {spout}") for spout in topics}
    spouts = {spout: ListSpout(topic, kind, Limits(max_records=10)) for spout, topic in topics.items()}
    spec = TopologySpec(
        "two streams",
        {name: spout.description() for name, spout in spouts.items()},
        {name: state.description() for name, state in states.items()},
    )
    processor = TwoStreams(topics)
    plan = RunnableTopology(
        spec,
        cast(Mapping[str, Spout], spouts),
        {name: partial(state.open, LAYOUT) for name, state in states.items()},
        lambda *_: processor,
    )
    TopologyRun(plan, place.ledger(), OPTIONS).run()
    assert place.rows("from left") == topics["left"].expected()
    assert place.rows("from right") == topics["right"].expected()


@pytest.mark.parametrize("kind", SpoutKind)
@pytest.mark.parametrize("seed", range(4))
def test_h13_partitions_come_and_go_while_batches_are_in_flight(kind: SpoutKind, seed: int) -> Any:
    """In Storm a new owner of a partition reads it from before the old one's write: ranges twice, or from the start.

    Here partitions vanish from metadata answers and come back, and new ones appear, while attempts fail.
    """
    place = memory_place()
    rng = random.Random(seed)
    topic, hidden = payments(partitions=4), set[int]()
    job = hiding_job(topic, place.state("balances"), hidden=hidden, kind=kind)

    def shift(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        hidden.clear()
        hidden.update(rng.sample(range(len(topic.partitions)), 2))
        if request.batch.txid == 3 and len(topic.partitions) == 4:
            topic.partitions.append([("late", 1)] * 12)
        if rng.random() < 0.3 and request.tries < 5:
            raise RetryableError("a task was lost")
        return result

    job.processor.meddle = shift
    for _ in range(4):
        run(job, place.ledger())
    hidden.clear()
    job.processor.meddle = lambda request, result: result
    run(job, place.ledger())
    assert len(topic.partitions) == 5
    assert place.rows("balances") == topic.expected()


def test_h14_attempt_numbers_go_on_over_restarts(tmp_path: Path) -> Any:
    """Storm's master starts again at attempt 0 (max pending 1): words of the old attempt 0 pass for the new one's."""
    place = sqlite_place(tmp_path)
    topic = payments()

    def fail(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2:
            raise RetryableError("a task was lost")
        return result

    attempts, tries = [], []
    for _ in range(3):
        job = make_job(topic, place.state("balances"), meddle=fail)
        with pytest.raises(FatalError, match="failed"):
            run(job, place.ledger(), replace(OPTIONS, max_pending=1, max_tries=2))
        mine = [item for item in job.processor.attempts if item.batch.txid == 2]
        attempts += [item.batch.attempt for item in mine]
        tries += [item.tries for item in mine]
    job = make_job(topic, place.state("balances"))
    run(job, place.ledger())
    attempts += [item.batch.attempt for item in job.processor.attempts]
    assert all(earlier < later for earlier, later in pairwise(attempts))
    assert tries == sorted(tries)
    assert place.rows("balances") == topic.expected()
