"""A reset that keeps rows goes on where each partition stood; where it begins is for the streams that there were."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListSource, Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_new_states import sums
from tests.coordinators.test_run import OPTIONS
from tests.ledger.making import SPEC, started
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Owner
from trident.base.ranges import PartitionId
from trident.base.signals import StopSignal
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.decisions.beginning import Beginning, Prospect, beginning
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.holding.starts import starts_to_store
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.state import MemoryState, SqliteState


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)], [("b", 1)] * 7])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    found = SqliteLedger(tmp_path / "ledger.sqlite")
    yield found
    found.close()


def reset(
    plan: RunnableTopology, ledger: Ledger, start: str | None, *, keep_rows: bool = True, ledger_lost: bool = False
) -> ResetDecision:
    return reset_topology(
        plan.spec, plan.targets, ledger, keep_rows=keep_rows, start=start, options=OPTIONS, ledger_lost=ledger_lost
    )


def test_what_is_kept_is_not_read_again(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    for _ in range(2):
        reset(plan, ledger, ResetStart.RESUME)
        topic.partitions[0] += [("late", 3)] * 4
        TopologyRun(plan, ledger, OPTIONS).run()
        assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_nothing_was_read_before_the_reset(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    reset(plan, ledger, ResetStart.RESUME)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


@pytest.mark.parametrize("start", ["latest", "2020-01-01T00:00:00+00:00"])
def test_what_resumes_before_anything_has_begun_begins_as_was_decided_before(
    start: str, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Who names no start does not take back the one that was named."""
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, start)
    for _ in range(2):
        again = reset(plan, ledger, None)
        assert (again.start, again.streams) == (start, ("s",))
    if start == "latest":
        TopologyRun(plan, ledger, OPTIONS).run()
        topic.partitions[0] += [("late", 3)] * 4
        reset(plan, ledger, None)  # it has begun since, and is resumed from there
        TopologyRun(plan, ledger, OPTIONS).run()
        assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_a_start_that_was_resolved_is_kept_in_numbers(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    """What has come since the topology was started is not skipped, though nothing is done yet."""
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, "latest")
    with dying_at(CrashPoint.AFTER_STARTS):
        TopologyRun(plan, ledger, OPTIONS).run()
    topic.partitions[0] += [("late", 3)] * 4
    assert reset(plan, ledger, None).start == "latest"
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


@pytest.mark.parametrize(
    ("before", "until"),
    [
        (("earliest",), None),
        (("earliest",), CrashPoint.AFTER_PLAN),
        (("2020-01-01T00:00:00+00:00",), CrashPoint.AFTER_STARTS),
        (("latest", None, "earliest"), None),
        (("latest", "earliest"), CrashPoint.AFTER_STARTS),
    ],
)
def test_a_start_that_nothing_has_begun_from_is_taken_back(
    before: tuple[str | None, ...], until: CrashPoint | None, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    for start in before:
        reset(plan, ledger, start)
        topic.partitions[0] += [("late", 3)] * 4
        if until is not None:
            with dying_at(until):
                TopologyRun(plan, ledger, OPTIONS).run()
    topic.partitions.append([("new", 1)] * 3)
    for _ in range(2):  # and it may be said twice
        assert reset(plan, ledger, ResetStart.RESUME).start == "resume"
    assert reset(plan, ledger, None).start == "resume"
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


@pytest.mark.parametrize("until", [None, CrashPoint.AFTER_REGISTRATION], ids=["never started", "died early"])
@pytest.mark.parametrize("slip", ["latest", "2100-01-01T00:00:00+00:00"])
def test_a_start_is_taken_back_before_the_first_one_was_ever_resolved(
    slip: str, until: CrashPoint | None, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    if until is not None:
        with dying_at(until):
            TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, slip)
    TopologyRun(plan, ledger, OPTIONS).run()  # it is resolved now, and nothing is done
    reset(plan, ledger, ResetStart.RESUME)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_to_resume_what_was_never_resolved_asks_the_spouts(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    topic.begins = "latest"
    plan = make_job(topic, SqliteState("balances")).plan()
    reset(plan, ledger, "earliest")
    with dying_at(CrashPoint.AFTER_STARTS):
        TopologyRun(plan, ledger, OPTIONS).run()
    assert reset(plan, ledger, ResetStart.RESUME).start is None, "it says that there was nothing to resume"
    TopologyRun(plan, ledger, OPTIONS).run()
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == {"late": (4, 12)}


@pytest.mark.parametrize("keep_rows", [True, False])
def test_emptied_rows_are_not_brought_back_by_a_resumed_start(
    keep_rows: bool, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, "earliest", keep_rows=False)
    reset(plan, ledger, ResetStart.RESUME, keep_rows=keep_rows)
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == {"late": (4, 12)}


def test_a_memory_ledger_takes_a_start_back_too(topic: Topic) -> None:
    ledger = MemoryLedger()
    plan = make_job(topic, MemoryState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, "earliest")
    reset(plan, ledger, ResetStart.RESUME)
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, ledger, OPTIONS).run()
    rows = MemoryState("balances").rows(ledger.database)
    assert {row["account"]: (row["n"], row["total"]) for row in rows} == topic.expected()


def test_a_start_is_taken_back_after_a_reset_that_died(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    for start in ("earliest", ResetStart.RESUME):
        with dying_at(CrashPoint.AFTER_DECIDING_RESET):
            reset(plan, ledger, start)
        assert reset(plan, ledger, start).start == start
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_what_is_resumed_after_a_start_was_taken_back_is_proven(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """The leader epochs are handed on: a log that was cut and has grown again meanwhile is another one."""
    topic.epoch = 3
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, "earliest")
    reset(plan, ledger, ResetStart.RESUME)
    topic.cut(0, 20)
    topic.partitions[0] += [("late", 3)] * 40
    before = sums(tmp_path / "ledger.sqlite", "balances")
    with pytest.raises(FatalError, match="its log was cut at 20 since"):
        TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == before


def test_a_stream_that_came_after_the_start_was_named_goes_on_where_it_began() -> None:
    """A reset that names a start is not about it, so taking that back is not either."""
    known, came = (StartPosition(name, PartitionId("t", 0), "id", 7) for name in ("s", "later"))
    waits = ResetDecision("second", 5, "adopt", "latest", ("s",), stood=(known,))
    resolved = StartPosition("s", PartitionId("t", 0), "id", 99)
    snapshot = Snapshot(Owner("payments", "second"), 5, 5, 0, None, None, (), (came, resolved), 5, 5, reset=waits)
    found = beginning(snapshot, ResetStart.RESUME, ("later", "s"), keep_rows=True)
    assert found == Beginning("resume", ("later", "s"), (known, came))


@pytest.mark.parametrize("keep_rows", [True, False])
def test_what_nobody_knows_is_not_resumed_once_a_start_was_named(
    keep_rows: bool, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """The rows were of another moment than the ledger when a start was named; then their positions are the ledger's."""
    away = tmp_path / "away.sqlite"
    plan = make_job(topic, SqliteState("balances", path=away)).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    old = away.read_bytes()
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, ledger, OPTIONS).run()
    away.write_bytes(old)
    for side in tmp_path.glob("away.sqlite-*"):
        side.unlink()
    reset(plan, ledger, "latest")
    before = sums(away, "balances"), ledger.view().status("payments").incarnation
    with pytest.raises(MismatchError, match=r"begins at latest. Instead, .*--states adopt --start MOMENT"):
        reset(plan, ledger, ResetStart.RESUME, keep_rows=keep_rows)
    assert before == (sums(away, "balances"), ledger.view().status("payments").incarnation)
    assert reset(plan, ledger, None).start == "latest"


def test_what_an_older_version_decided_is_not_taken_back(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    """It has not written down where the rows stood."""
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, "earliest")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE trident_reset SET stood = NULL")
    with pytest.raises(MismatchError, match="nothing can be resumed"):
        reset(plan, ledger, ResetStart.RESUME)


def test_what_a_reset_will_do_is_heard_before_anything_is_changed(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    class Refused(Exception):
        pass

    heard: list[Prospect] = []

    def refuse(prospect: Prospect) -> None:
        heard.append(prospect)
        raise Refused

    def asked(start: str | None, *, keep_rows: bool = True) -> Prospect:
        before = ledger.view().status("payments").incarnation
        with pytest.raises(Refused):
            reset_topology(
                plan.spec, plan.targets, ledger, keep_rows=keep_rows, start=start, options=OPTIONS, agree=refuse
            )
        assert ledger.view().status("payments").incarnation == before
        return heard[-1]

    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    assert asked(None) == asked("resume") == Prospect("adopt", "resume")
    reset(plan, ledger, "latest")
    assert asked(None) == Prospect("adopt", "latest", is_kept=True)
    assert asked("resume") == Prospect("adopt", "resume")
    assert asked(None, keep_rows=False) == Prospect("clear", None)
    reset(plan, ledger, "earliest", keep_rows=False)
    assert asked("resume") == Prospect("adopt", "resume", without_rows=("balances",))
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        reset(plan, ledger, "latest", keep_rows=False)
    assert asked("resume") == Prospect("clear", "latest", finishes_another=True)


def test_a_partition_that_comes_after_a_resumed_start_is_read_from_its_beginning(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    plan = make_job(topic, SqliteState("balances")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset(plan, ledger, ResetStart.RESUME)
    topic.partitions.append([("c", 2)] * 6)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()


def test_a_ledger_that_knows_nothing_of_the_rows_can_not_resume_and_says_what_can(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """The ledger was lost, the rows stayed."""
    away = SqliteState("away", path=tmp_path / "away.sqlite")
    plan = make_job(topic, away).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    new = SqliteLedger(tmp_path / "new.sqlite")
    with pytest.raises(
        MismatchError, match=r"nothing can be resumed. Instead, .*--ledger-lost --states adopt --start MOMENT"
    ):
        reset(plan, new, ResetStart.RESUME, ledger_lost=True)
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()
    reset(plan, new, "latest", ledger_lost=True)
    topic.partitions[0] += [("late", 3)] * 4
    TopologyRun(plan, new, OPTIONS).run()
    found = sums(tmp_path / "away.sqlite", "away")
    new.close()
    # latest is resolved at the first start after the reset: what came before that was skipped, as was asked for
    assert "late" not in found


@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE])
@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_after_a_lost_ledger_that_was_cut_off_is_finished_by_the_next_start(
    keep_rows: bool, point: CrashPoint, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    one, two = (SqliteState(name, path=tmp_path / f"{name}.sqlite") for name in ("one", "two"))
    other = SqliteState("two", path=tmp_path / "other.sqlite")
    plan = make_job(topic, one, two).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    new = SqliteLedger(tmp_path / "new.sqlite")
    with dying_at(point):
        reset(plan, new, "latest" if keep_rows else None, keep_rows=keep_rows, ledger_lost=True)
    strange = SqliteLedger(tmp_path / "strange.sqlite")
    TopologyRun(make_job(topic, other).plan(), strange, OPTIONS).run()
    with pytest.raises(MismatchError, match="which this ledger has never had"):
        TopologyRun(
            make_job(topic, one, other).plan(), new, OPTIONS
        ).run()  # what was found then is named, and nothing else
    TopologyRun(plan, new, OPTIONS).run()
    for name in ("one", "two"):
        assert sums(tmp_path / f"{name}.sqlite", name) == topic.expected()
    for each in (new, strange):
        each.close()


@pytest.mark.parametrize("make", [MemoryLedger, SqliteLedger])
def test_a_stream_that_is_added_after_a_reset_begins_as_its_spout_says(make: type, tmp_path: Path) -> None:
    ledger = make() if make is MemoryLedger else make(tmp_path / "ledger.sqlite")
    ledger.open()
    run = started(ledger)
    decision = ResetDecision("second", 5, "clear", "latest", tuple(SPEC.spouts))
    ledger.decide_reset(run.epoch, "payments", decision)
    ledger.finish_reset(run.epoch, "payments", decision)
    snapshot = ledger.snapshot(run.epoch, "payments")
    assert snapshot.reset == decision
    known = next(iter(SPEC.spouts))
    topic = Topic([[("a", 1)] * 9])
    sources = {name: ListSource(topic, name) for name in (known, "added")}
    starts = starts_to_store(snapshot, sources, Repeater(timedelta(seconds=1), StopSignal()))
    assert {item.spout: item.start for item in starts or ()} == {known: 9, "added": 0}
    ledger.close()


def test_a_reset_of_an_older_version_is_for_the_streams_that_began_with_it() -> None:
    ledger = MemoryLedger()
    run = started(ledger)
    decision = ResetDecision("second", 5, "clear", "latest", None)
    ledger.decide_reset(run.epoch, "payments", decision)
    ledger.finish_reset(run.epoch, "payments", decision)
    topic = Topic([[("a", 1)] * 9])
    repeater = Repeater(timedelta(seconds=1), StopSignal())
    first = ledger.snapshot(run.epoch, "payments")
    starts = starts_to_store(first, {"s": ListSource(topic, "s")}, repeater)
    assert [item.start for item in starts or ()] == [9]
    ledger.set_starts(first.owner, run.epoch, starts or ())
    later = ledger.snapshot(run.epoch, "payments")
    sources = {"s": ListSource(topic, "s"), "added": ListSource(topic, "added")}
    both = starts_to_store(later, sources, repeater)
    assert {item.spout: item.start for item in both or ()} == {"s": 9, "added": 0}
