"""H2, H10, H11, H15, H16: what states hold after failures, and what a reader sees of them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, memory_place, payments, run, sqlite_place
from tests.hazards.replays import Counts, Death, die, hiding_job, in_map, once_at, ranges_of
from tests.state.harnesses import ConditionalMap, DictMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError, RetryableError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.state import BackingMapState, SqliteState, StateKind
from trident.state.target import State

Store = tuple[Callable[[], Ledger], State, Callable[[], Counts]]
"""A ledger, a state with it, and how to read the state past them."""


def store_of(name: str, kind: StateKind, folder: Path) -> Store:
    if name == "memory":
        place = memory_place()
        return place.ledger, place.state("balances", kind=kind), lambda: place.rows("balances")
    if name.startswith("sqlite"):
        place = sqlite_place(folder, apart=name == "sqlite apart")
        return place.ledger, place.state("balances", kind=kind), lambda: place.rows("balances")
    backing_map = DictMap() if name == "map" else ConditionalMap()
    ledger = MemoryLedger()
    state = BackingMapState("balances", backing_map, kind=kind, chunk_rows=3)
    return lambda: ledger, state, lambda: in_map(backing_map)


every_store = pytest.mark.parametrize("name", ["memory", "sqlite", "sqlite apart", "map", "conditional map"])


@every_store
def test_h02_a_key_of_a_failed_attempt_that_does_not_come_back_keeps_nothing(name: str, tmp_path: Path) -> None:
    """apple is 3 at txid 4; txid 5 brings 2, fails, brings none when tried again; txid 6 has the 2: 7 instead of 5."""
    make_ledger, state, found = store_of(name, StateKind.OPAQUE, tmp_path)
    topic, hidden = Topic([[], []]), set[int]()
    job = hiding_job(topic, state, hidden=hidden)
    for account in ("pear", "apple", "apple", "apple"):
        topic.partitions[0].append((account, 1))
        run(job, make_ledger())
    assert found()["apple"] == (3, 3)
    topic.partitions[0].append(("pear", 1))
    topic.partitions[1].extend([("apple", 1)] * 2)

    def fail_and_hide_the_apples() -> None:
        hidden.add(1)
        raise RetryableError("the attempt fails when its updates are staged")

    with once_at(CrashPoint.AFTER_STAGING, 5, fail_and_hide_the_apples, hidden.clear):
        run(job, make_ledger())
    first, second = ([span.id.partition for span in spans] for spans in ranges_of(job, 5))
    assert (first, second) == ([0, 1], [0])
    assert [span.id.partition for span in ranges_of(job, 6)[0]] == [1]
    assert found() == {"apple": (5, 5), "pear": (2, 2)}


class Flaky(DictMap):
    """Its `failing`-th put of rows stores the first of them and fails; the process lives on."""

    def __init__(self, failing: int) -> None:
        super().__init__()
        self.failing = failing

    def multi_put(self, items):
        self.failing -= 1
        if not self.failing:
            super().multi_put(items[:1])
            raise RetryableError("the store was away for a moment")
        super().multi_put(items)


@pytest.mark.parametrize("failing", range(1, 14))
@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.OPAQUE])
@pytest.mark.parametrize("cached", [0, 100])
def test_h10_a_failed_put_is_done_again_and_nothing_remembers_it_as_done(
    failing: int, kind: StateKind, cached: int
) -> None:
    """Storm's cache has the txid before the store has: the replay skips it, and the keys miss a batch: 24 of 25."""
    backing_map, ledger = Flaky(failing), MemoryLedger()
    state = BackingMapState("balances", backing_map, kind=kind, chunk_rows=2, cached_keys=cached)
    job = make_job(payments(partitions=1), state)
    run(job, ledger)
    assert backing_map.failing <= 0
    assert in_map(backing_map) == job.topic.expected()


@pytest.mark.parametrize("kind", list(StateKind))
def test_h11_txids_that_begin_again_are_refused(kind: StateKind, tmp_path: Path) -> None:
    """Storm's root is wiped, txids start at 1 again: a transactional map applies all of it once more: 150, not 75.

    Here it stops each time, and a person may decide to count anew.
    """
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(payments(), place.state("balances", kind=kind))
    for _ in range(3):
        run(job, place.ledger())
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(MismatchError, match=r"one that was lost.*Nothing was changed.*--ledger-lost"):
        run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
    plan = job.plan()
    lost = partial(reset_topology, plan.spec, plan.targets, keep_rows=False, start=None, options=OPTIONS)
    with pytest.raises(MismatchError, match=r"one that was lost.*Nothing was changed.*--ledger-lost"):
        lost(place.ledger())
    assert place.rows("balances") == job.topic.expected()
    lost(place.ledger(), ledger_lost=True)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_h11_a_ledger_that_has_seen_as_many_epochs_is_refused_too(tmp_path: Path) -> None:
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(payments(), place.state("balances"))
    run(job, place.ledger())
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    for _ in range(3):
        with pytest.raises(MismatchError, match=r"belongs to incarnation .* which this ledger has never had"):
            run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


def test_h11_a_ledger_from_an_older_backup_is_refused(tmp_path: Path) -> None:
    """Storm applies the batches after the backup again, or takes them for replays: either way silently."""
    topic = payments()
    place = sqlite_place(tmp_path, apart=True)
    run(make_job(topic, place.state("balances")), place.ledger())
    shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite")
    topic.partitions[0].extend([("late", 1)] * 20)
    run(make_job(topic, place.state("balances")), place.ledger())
    for _ in range(2):
        found = r"stands at txid 10 .*has txid 8 .*restored from a backup.*--ledger-lost"
        with pytest.raises(MismatchError, match=found):
            run(make_job(topic, place.state("balances")), SqliteLedger(tmp_path / "backup.sqlite"))
    assert place.rows("balances") == topic.expected()


def test_h11_a_person_may_go_on_with_a_ledger_from_an_older_backup(tmp_path: Path) -> None:
    """The rows are kept, the next txid is above every one that the state has ever seen, new records count once."""
    topic = payments()
    place = sqlite_place(tmp_path, apart=True)
    run(make_job(topic, place.state("balances")), place.ledger())
    shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite")
    for _ in range(3):
        topic.partitions[0].extend([("late", 1)] * 20)
        run(make_job(topic, place.state("balances")), place.ledger())
    job, ledger = make_job(topic, place.state("balances")), SqliteLedger(tmp_path / "backup.sqlite")
    plan = job.plan()
    lost = partial(reset_topology, plan.spec, plan.targets, keep_rows=True, start="latest", options=OPTIONS)
    with pytest.raises(MismatchError, match=r"knows a later epoch than .*--ledger-lost"):
        lost(ledger)
    decision = lost(ledger, ledger_lost=True)
    assert decision.birth_txid == 14
    run(job, ledger)
    topic.partitions[1].extend([("after the reset", 1)] * 5)
    assert run(job, ledger).last_done == 15
    assert place.rows("balances") == topic.expected()


def test_h11_a_map_of_another_life_is_refused():
    backing_map, ledger = ConditionalMap(), MemoryLedger()
    job = make_job(payments(), BackingMapState("balances", backing_map))
    run(job, MemoryLedger())
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"belongs to incarnation .* which this ledger has never had"):
            run(job, ledger)
    assert in_map(backing_map) == job.topic.expected()


@every_store
@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.OPAQUE, StateKind.NON_TRANSACTIONAL])
@pytest.mark.parametrize("point", [CrashPoint.AFTER_APPLY, CrashPoint.BEFORE_DONE, CrashPoint.AFTER_DONE])
def test_h15_a_batch_that_is_applied_when_the_coordinator_dies_is_not_applied_again(
    name: str, kind: StateKind, point: CrashPoint, tmp_path: Path
) -> None:
    """Most of Storm's sinks ignore the txid: the batch is written once more, 85 instead of 75 records."""
    make_ledger, state, found = store_of(name, kind, tmp_path)
    together = name in ("memory", "sqlite")
    job = make_job(payments(), state)
    with once_at(CrashPoint.AFTER_DONE if together else point, 3, die), pytest.raises(Death):
        run(job, make_ledger())
    run(job, make_ledger())
    assert found() == job.topic.expected()


@pytest.mark.parametrize("apart", [False, True], ids=["beside the ledger", "apart"])
def test_h16_a_reader_sees_whole_txids_and_nothing_of_failed_attempts(apart: bool, tmp_path: Path) -> None:
    """Storm's queries see what an attempt that fails later has put: 10 or 5 records too many, for a while.

    Here somebody reads at every border that the coordinator comes to, in every thread.
    """
    place = sqlite_place(tmp_path, apart)
    file = tmp_path / ("balances.sqlite" if apart else "ledger.sqlite")
    sums: set[int] = set()

    def read(point: CrashPoint, txid: int) -> None:
        with sqlite3.connect(file, timeout=10) as reader:
            if reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'balances'").fetchone():
                sums.add(reader.execute("SELECT coalesce(sum(n), 0) FROM balances").fetchone()[0])
        if point is CrashPoint.AFTER_STAGING and txid % 2 and txid not in failed:
            failed.add(txid)
            raise RetryableError("the attempt fails when its updates are staged")

    failed: set[int] = set()
    job = make_job(payments(), SqliteState("balances", path=file if apart else None))
    with armed(read):
        run(job, place.ledger(), replace(OPTIONS, max_pending=2))
    assert failed == {1, 3, 5, 7}
    assert place.rows("balances") == job.topic.expected()
    whole = {0, 10, 20, 30, 40, 50, 60, 70, 75}
    assert sums <= whole
    assert len(sums) > 5
