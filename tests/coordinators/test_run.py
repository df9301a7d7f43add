"""The real coordinator over real ledgers and states, without Spark and Kafka: exact whatever happens."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from tests.coordinators.fakes import LAYOUT, POISON, ListJob, Topic, make_job
from trident.base.digest import Digest
from trident.base.errors import (
    ConfigurationError,
    FatalError,
    FencedError,
    LeaseHeldError,
    MismatchError,
    OutcomeUnknownError,
    RetryableError,
)
from trident.base.identity import Epoch
from trident.base.ranges import OffsetRange
from trident.base.signals import StopSignal
from trident.base.writes import WriteManifest
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.options import OnRunning, RunOptions, Until
from trident.coordinators.registered import Lease
from trident.coordinators.retrying import Repeater
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind
from trident.state import MemoryState, SqliteState, StateKind
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import WrittenUpdates
from trident.state.target import State

OPTIONS = RunOptions(
    until=Until.CAUGHT_UP,
    lease=timedelta(seconds=2),
    retry_pause=timedelta(0),
    idle_interval=timedelta(milliseconds=5),
    give_up_after=timedelta(seconds=3),
)


def payments(partitions: int = 3, each: int = 25) -> Topic:
    return Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(each)] for p in range(partitions)])


@dataclass
class Place:
    """A ledger with states, and how to read a state back."""

    ledger: Callable[[], Ledger]
    state: Callable[..., State]
    rows: Callable[[str], dict[str, tuple[int, int]]]


def memory_place() -> Place:
    ledger = MemoryLedger()

    def rows(name: str) -> dict[str, tuple[int, int]]:
        found = MemoryState(name).rows(ledger.database)
        return {cast("str", row["account"]): (cast("int", row["n"]), cast("int", row["total"])) for row in found}

    return Place(lambda: ledger, MemoryState, rows)


def sqlite_place(folder: Path, apart: bool = False, beside: str = "") -> Place:
    """Return a place; with `apart`, all states but `beside` are in files of their own."""
    file = folder / "ledger.sqlite"

    def path(name: str) -> Path:
        return folder / f"{name}.sqlite" if apart and name != beside else file

    def state(name: str, **options: StateKind) -> State:
        return SqliteState(name, **options) if path(name) == file else SqliteState(name, path=path(name), **options)

    def rows(name: str) -> dict[str, tuple[int, int]]:
        with sqlite3.connect(path(name)) as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {name}")}

    return Place(lambda: SqliteLedger(file), state, rows)


@pytest.fixture(params=["memory", "sqlite", "sqlite apart", "one beside, one apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "memory":
        return memory_place()
    beside = "totals" if request.param == "one beside, one apart" else ""
    return sqlite_place(tmp_path, apart=request.param != "sqlite", beside=beside)


def run(job: ListJob, ledger: Ledger, options: RunOptions = OPTIONS) -> RunSummary:
    return TopologyRun(job.plan(), ledger, options).run()


@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL])
def test_every_record_counts_once(place, kind):
    job = make_job(payments(), place.state("balances", kind=kind))
    summary = run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    assert summary.batches == 8
    assert job.topic.told == list(range(1, 9))


@pytest.mark.parametrize("kind", SpoutKind)
def test_a_byte_limit_holds_from_the_first_batch_of_each_start(place, kind):
    """A record of the fake has 10 bytes, and nobody knows that before one was read."""
    job = make_job(payments(1, 60), place.state("balances"), kind=kind, limits=Limits(max_bytes=100))
    for _ in range(2):
        job.processor.attempts.clear()
        run(job, place.ledger(), replace(OPTIONS, max_pending=1))
        widths = [sum(edge.range.width for edge in request.edges["s"]) for request in job.processor.attempts]
        assert (widths[:3], max(widths)) == ([1, 4, 10], 10)
        job.topic.partitions[0] += [("late", 1)] * 60
    assert place.rows("balances")["late"] == (60, 60)


def test_two_states_of_one_batch_hold_the_same_txids(place):
    job = make_job(payments(), place.state("balances"), place.state("totals"))
    run(job, place.ledger())
    assert place.rows("balances") == place.rows("totals") == job.topic.expected()


def test_the_next_run_goes_on_where_the_last_one_ended(place):
    job = make_job(payments(), place.state("balances"))
    run(job, place.ledger())
    for partition in job.topic.partitions:
        partition.extend([("late", 5)] * 4)
    job.topic.partitions.append([("new partition", 1)] * 3)
    summary = run(job, place.ledger())
    assert summary.first_done == 8
    assert place.rows("balances") == job.topic.expected()


@pytest.mark.parametrize("kind", SpoutKind)
def test_failed_attempts_leave_nothing_behind(place, kind):
    def fail_twice(request, result):
        if request.tries <= 2 and request.batch.txid % 3 == 0:
            raise RetryableError("a task was lost")
        return result

    job = make_job(payments(), place.state("balances"), meddle=fail_twice, kind=kind)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    assert max(request.tries for request in job.processor.attempts) == 3


def test_a_transactional_spout_reads_the_same_ranges_in_every_attempt_and_run():
    place = memory_place()
    seen: dict[int, set[tuple[OffsetRange, ...]]] = {}

    def grow_and_fail(request, result):
        seen.setdefault(request.batch.txid, set()).add(tuple(edge.range for edge in request.edges["s"]))
        if request.tries == 1 and request.batch.txid <= 12:
            for partition in job.topic.partitions:
                partition.append(("more", 1))
            raise RetryableError("a task was lost")
        return result

    job = make_job(payments(), place.state("balances"), meddle=grow_and_fail, kind=SpoutKind.TRANSACTIONAL)
    run(job, place.ledger(), replace(OPTIONS, max_tries=2))
    assert all(len(ranges) == 1 for ranges in seen.values())
    assert place.rows("balances") == job.topic.expected()


def test_a_batch_with_a_manifest_missing_never_completes():
    place = memory_place()

    def take_one_away(request, result):
        return replace(result, manifests=result.manifests[1:])

    job = make_job(payments(), place.state("balances"), meddle=take_one_away)
    with pytest.raises(FatalError, match=r"failed 3 times.*not all that was read was acknowledged"):
        run(job, place.ledger(), replace(OPTIONS, max_tries=3))
    assert place.rows("balances") == {}


def test_a_range_read_short_never_completes():
    place = memory_place()

    def stop_early(request, result):
        spout, manifest = result.manifests[0]
        short = (spout, replace(manifest, position=manifest.position - 1))
        return replace(result, manifests=(short, *result.manifests[1:]))

    job = make_job(payments(), place.state("balances"), meddle=stop_early)
    with pytest.raises(FatalError, match="not to the planned"):
        run(job, place.ledger(), replace(OPTIONS, max_tries=2))
    assert place.rows("balances") == {}


def test_a_batch_that_hangs_times_out_and_its_late_result_changes_nothing():
    place = memory_place()
    release = threading.Event()

    def hang_once(request, result):
        if request.batch.txid == 2 and request.tries == 1:
            release.wait(5)
        elif request.batch.txid == 3 and request.tries == 2:
            release.set()
        return result

    job = make_job(payments(), place.state("balances"), meddle=hang_once)
    run(job, place.ledger(), replace(OPTIONS, batch_timeout=timedelta(milliseconds=200), max_pending=4))
    assert place.rows("balances") == job.topic.expected()
    hung = next(request.batch.attempt for request in job.processor.attempts if request.batch.txid == 2)
    assert hung in job.processor.cancelled


@pytest.mark.parametrize("apart", [False, True], ids=["shortcut", "another state apart"])
def test_staging_that_a_server_lost_before_the_pin_is_read_again(apart):
    place = memory_place()
    database = MemoryDatabase() if apart else None

    def lose_once(request, result):
        if request.tries == 1 and request.batch.txid == 2:
            lost = WriteManifest("balances", "gone", Digest(3, 1, 2, 3))
            return replace(result, updates={**result.updates, "balances": WrittenUpdates((lost,))})
        return result

    totals = MemoryState("totals", database=database)
    job = make_job(payments(), place.state("balances"), totals, meddle=lose_once)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    assert [row["n"] for row in totals.rows(place.ledger().database)] == [n for n, _ in place.rows("balances").values()]
    assert max(request.tries for request in job.processor.attempts) == 2


def test_a_ledger_that_can_not_be_reached_is_tried_again_then_given_up():
    place = memory_place()
    ledger = place.ledger()
    plan = ledger.plan
    calls = []

    def flaky(*arguments):
        calls.append(arguments)
        if len(calls) in (2, 3, 5):
            raise OutcomeUnknownError("the connection was lost") if len(calls) == 3 else RetryableError("away")
        plan(*arguments)
        if len(calls) == 7:
            raise OutcomeUnknownError("the answer was lost")

    ledger.plan = flaky
    job = make_job(payments(), place.state("balances"))
    run(job, ledger)
    assert place.rows("balances") == job.topic.expected()

    def away(*arguments):
        raise RetryableError("away")

    ledger.plan = away
    job.topic.partitions[0].append(("late", 1))
    with pytest.raises(FatalError, match=r"gave up: planning .* failed for 1 s"):
        run(job, ledger, replace(OPTIONS, give_up_after=timedelta(seconds=1)))


@pytest.mark.drawn(one_in=2)
def test_a_commit_whose_answer_was_lost_is_found_done(place):
    ledger = place.ledger()
    lost = set()
    together, pin, done = ledger.commit_together, ledger.pin, ledger.done

    def losing(name, call):
        def lose_each_answer_once(owner, epoch, first, *rest):
            call(owner, epoch, first, *rest)
            if (name, first.txid) not in lost:
                lost.add((name, first.txid))
                raise OutcomeUnknownError("the answer was lost")

        return lose_each_answer_once

    ledger.commit_together = losing("together", together)
    ledger.pin, ledger.done = losing("pin", pin), losing("done", done)
    job = make_job(payments(), place.state("balances"), place.state("totals"))
    run(job, ledger)
    assert place.rows("balances") == place.rows("totals") == job.topic.expected()
    assert len(lost) in (8, 16)


def test_what_arrives_while_a_batch_is_processed_goes_into_one_batch():
    place = memory_place()
    topic = Topic([[("first", 1)]])

    def arrive(request, result):
        if request.batch.txid == 1:
            for n in range(6):
                topic.partitions[0].append(("later", n))
                time.sleep(0.02)
        return result

    job = make_job(topic, place.state("balances"), meddle=arrive)
    summary = run(job, place.ledger())
    assert place.rows("balances") == topic.expected()
    assert summary.batches == 2


def test_no_more_than_max_pending_batches_are_processed_at_once():
    place = memory_place()
    both = threading.Barrier(2)

    def meet(request, result):
        if request.batch.txid <= 2:
            both.wait(30)
        return result

    job = make_job(payments(), place.state("balances"), meddle=meet)
    run(job, place.ledger(), replace(OPTIONS, max_pending=2))
    assert job.processor.most_running == 2


def test_stop_drains_what_is_live():
    place = memory_place()
    started = threading.Event()

    def announce(request, result):
        started.set()
        return result

    job = make_job(payments(each=2000), place.state("balances"), meddle=announce)
    session = TopologyRun(job.plan(), place.ledger(), replace(OPTIONS, until=Until.STOPPED))
    thread = threading.Thread(target=session.run)
    thread.start()
    assert started.wait(30)
    session.stop()
    session.stop()
    thread.join(10)
    assert not thread.is_alive()
    counted = sum(n for n, _ in place.rows("balances").values())
    assert 0 < counted <= 6000
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_a_bad_record_stops_the_topology_and_says_where_it_is(place):
    topic = payments()
    topic.partitions[1][4] = POISON
    job = make_job(topic, place.state("balances"))
    with pytest.raises(FatalError, match="offset 4 of partition 1 of topic 't'"):
        run(job, place.ledger())
    assert all(account != "poison" for account in place.rows("balances"))


def test_a_bad_record_can_go_to_the_dead_letters(place):
    topic = payments()
    topic.partitions[1][4] = POISON
    job = make_job(topic, place.state("balances"), on_bad_record=BadRecord.DEAD_LETTER)
    run(job, place.ledger())
    expected = {account: value for account, value in topic.expected().items() if account != "poison"}
    assert place.rows("balances") == expected


def test_lost_offsets_stop_or_are_recorded():
    place = memory_place()
    topic = payments()
    job = make_job(topic, place.state("balances"))
    run(job, place.ledger())
    topic.partitions[0].extend([("gone", 1)] * 5 + [("here", 1)] * 5)
    topic.earliest[0] = 30
    with pytest.raises(FatalError, match="offsets 25 to 30"):
        run(job, place.ledger())
    job = make_job(topic, place.state("balances"), on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST)
    run(job, place.ledger())
    expected = {account: value for account, value in topic.expected().items() if account != "gone"}
    assert place.rows("balances") == expected


def test_offsets_lost_while_a_batch_is_read_are_planned_again():
    place = memory_place()
    topic = payments()

    def cut(request, result):
        if request.batch.txid == 2 and request.tries == 1:
            topic.earliest[0] = 12
        return result

    job = make_job(topic, place.state("balances"), meddle=cut, on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST)
    run(job, place.ledger(), replace(OPTIONS, max_pending=1))
    read = sum(n for n, _ in place.rows("balances").values())
    assert read < 75
    # what was read while it vanished is not believed
    assert {request.tries for request in job.processor.attempts if request.batch.txid == 2} == {1, 2}


def test_a_running_topology_is_refused_to_a_second_coordinator():
    place = memory_place()
    job = make_job(payments(), place.state("balances"))
    inside, release = threading.Event(), threading.Event()

    def hold(request, result):
        inside.set()
        release.wait(5)
        return result

    first = make_job(job.topic, place.state("balances"), meddle=hold)
    thread = threading.Thread(target=run, args=(first, place.ledger()))
    thread.start()
    assert inside.wait(30)
    try:
        with pytest.raises(LeaseHeldError):
            run(job, place.ledger(), replace(OPTIONS, on_running=OnRunning.REFUSE))
    finally:
        release.set()
        thread.join(10)
    assert place.rows("balances") == job.topic.expected()


def test_an_owner_that_was_fenced_writes_nothing_more():
    place = memory_place()
    topic = payments()
    inside, release = threading.Event(), threading.Event()
    errors: list[BaseException] = []
    epochs: list[Epoch] = []

    def hold(request, result):
        epochs.append(request.batch.epoch)
        inside.set()
        release.wait(20)
        return result

    def run_old() -> None:
        try:
            run(make_job(topic, place.state("balances"), meddle=hold), place.ledger())
        except FencedError as error:
            errors.append(error)

    old = threading.Thread(target=run_old)
    old.start()
    assert inside.wait(30)
    ledger = place.ledger()
    ledger.release("payments", epochs[0])
    run(make_job(topic, place.state("balances")), ledger)
    release.set()
    old.join(10)
    assert len(errors) == 1
    assert place.rows("balances") == topic.expected()


def test_a_state_of_another_incarnation_or_position_stops(tmp_path):
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(payments(), place.state("balances"))
    run(job, place.ledger())
    with sqlite3.connect(tmp_path / "balances.sqlite") as connection:
        connection.execute("UPDATE trident_applied SET txid = txid - 1")
    with pytest.raises(MismatchError, match=r"stands at txid 7.*txid 8 attempt"):
        run(job, place.ledger())


def test_a_renamed_state_stops_and_shows_both_versions():
    place = memory_place()
    run(make_job(payments(), place.state("balances")), place.ledger())
    with pytest.raises(MismatchError, match="balances"):
        run(make_job(payments(), place.state("renamed")), place.ledger())


@pytest.mark.parametrize("states", ["clear", "adopt"])
def test_a_reset_starts_a_new_life_above_every_txid(place, states):
    job = make_job(payments(), place.state("balances"))
    run(job, place.ledger())
    plan = job.plan()
    decision = reset_topology(
        plan.spec, plan.targets, place.ledger(), keep_rows=states == "adopt", start="earliest", options=OPTIONS
    )
    assert decision.birth_txid == 8
    summary = run(job, place.ledger())
    assert summary.first_done == 8
    factor = 2 if states == "adopt" else 1
    expected = {key: (n * factor, total * factor) for key, (n, total) in job.topic.expected().items()}
    assert place.rows("balances") == expected


def test_a_reset_can_name_another_start(place):
    job = make_job(payments(), place.state("balances"))
    run(job, place.ledger())
    plan = job.plan()
    reset_topology(plan.spec, plan.targets, place.ledger(), keep_rows=True, start="latest", options=OPTIONS)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    job.topic.partitions[0].append(("after the reset", 3))
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_a_reset_over_a_ledger_from_an_old_backup_is_born_above_what_its_states_hold():
    ledger = MemoryLedger()
    job = make_job(payments(partitions=1), MemoryState("balances"))
    run(job, ledger, OPTIONS)
    with ledger.database.transaction() as transaction:
        kept = {name: dict(transaction.table(name)) for name in ("trident_topology", "trident_finished")}
    job.topic.partitions[0] += [("late", n) for n in range(25)]
    run(job, ledger)
    with ledger.database.transaction() as transaction:
        for name, table in kept.items():
            transaction.table(name).clear()
            transaction.table(name).update(table)
    with pytest.raises(MismatchError, match="stands at txid 6") as refused:
        run(job, ledger)
    assert (
        "a MemoryLedger, which no command reaches: in this process, call trident.reset(…)" in refused.value.__notes__[0]
    )
    plan = job.plan()
    decision = reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start="latest", options=OPTIONS)
    assert decision.birth_txid == 6
    run(job, ledger)
    job.topic.partitions[0].append(("a0", 7))
    run(job, ledger)
    rows = {row["account"]: (row["n"], row["total"]) for row in MemoryState("balances").rows(ledger.database)}
    assert rows == job.topic.expected()


def test_a_take_over_that_is_overtaken_while_it_checks_states_is_told_that_it_is_fenced():
    ledger = MemoryLedger()
    job = make_job(payments(), MemoryState("balances"))
    plan = job.plan()
    stores = {"balances": MemoryState("balances").open(LAYOUT, ledger.database)}
    epoch = ledger.acquire("payments", Lease("slow", timedelta(seconds=60))).epoch
    position = stores["balances"].position

    def slowly(topology):
        ledger.release("payments", epoch)
        run(job, ledger)
        return position(topology)

    stores["balances"].position = slowly
    with pytest.raises(FencedError, match="another coordinator has taken over"):
        TakeOver(ledger, stores, plan.spec, epoch, Repeater(timedelta(seconds=1), StopSignal())).complete({})
    rows = {row["account"]: (row["n"], row["total"]) for row in MemoryState("balances").rows(ledger.database)}
    assert rows == job.topic.expected()


@pytest.mark.parametrize("option", ["max_pending", "max_tries"])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_must_be_above_zero(option, value):
    with pytest.raises(ConfigurationError, match=option):
        RunOptions(**{option: value})
