"""Resets of a weaker level's topology that were replaced, or cut off: what they empty, and what they keep."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import make_job
from tests.coordinators.test_levels_kept import WEAKER, counted, dropped, emptied, of_another_file, reset
from tests.coordinators.test_run import OPTIONS, Place, memory_place, payments, run, sqlite_place
from trident.base.errors import FatalError, FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.levels import Level
from trident.coordinators.decisions import dropping
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.coordinators.holding import takeover
from trident.coordinators.holding.keeping import Heartbeat
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState
from trident.state.memory.plain import PlainMemory
from trident.state.plainly import Holds
from trident.state.tables.plain import PlainTable
from trident.testing.lives import CoordinatorDiedError

LEASE = timedelta(seconds=0.3)
Own = Callable[..., None]


def place_of(which: str, folder: Path) -> tuple[Place, type[PlainTable] | type[PlainMemory]]:
    if which == "memory":
        return memory_place(), PlainMemory
    return sqlite_place(folder, apart=which == "apart"), PlainTable


@pytest.mark.parametrize("wakes", ["before it follows", "after it has followed"])
@pytest.mark.parametrize("which", ["memory", "sqlite", "apart"])
@pytest.mark.parametrize("level", WEAKER)
def test_a_reset_that_was_replaced_empties_nothing_that_its_successor_has_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level, which: str, wakes: str
) -> None:
    place, kept = place_of(which, tmp_path)
    options = replace(OPTIONS, lease=LEASE, give_up_after=timedelta(seconds=10))
    topic = payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger(), options)
    own: Own = kept.own
    stood: list[str] = []

    def stand_still() -> None:
        stood.append("still")
        time.sleep(2 * LEASE.total_seconds())
        run(make_job(topic, place.state("balances"), level=level), place.ledger(), options)
        assert counted(place) == 30

    def stands(self: object, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        if stood or not emptied:
            own(self, owner, epoch, emptied=emptied, holds=holds)
        elif wakes == "before it follows":
            stand_still()
            own(self, owner, epoch, emptied=emptied, holds=holds)
        else:
            own(self, owner, epoch, emptied=emptied, holds=holds)
            stand_still()

    monkeypatch.setattr(kept, "own", stands)
    monkeypatch.setattr(Heartbeat, "_beat", lambda _: None)
    made = job.plan()
    with pytest.raises(FencedError):
        reset_topology(made.spec, made.targets, place.ledger(), keep_rows=False, start="earliest", options=options)
    assert counted(place) == 30
    topic.partitions[0] += [("late", 1)] * 5
    run(job, place.ledger(), options)
    assert counted(place) == 35


def file_is_gone(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def cut_off(monkeypatch: pytest.MonkeyPatch, decide: Callable[[], object], *, after_own: bool) -> None:
    """Record a reset and die before, or after, the targets have followed."""

    def dies(*_: object) -> None:
        raise FatalError("it was cut off")

    with monkeypatch.context() as patching:
        if after_own:
            patching.setattr(SqliteLedger, "finish_reset", dies)
        else:
            patching.setattr(takeover, "carry_out_reset", dies)
        with pytest.raises(FatalError, match="cut off"):
            decide()


@pytest.mark.parametrize("after_own", [False, True])
@pytest.mark.parametrize("lose", [emptied, dropped, file_is_gone, of_another_file])
@pytest.mark.parametrize("level", WEAKER)
def test_a_reset_that_keeps_rows_and_was_cut_off_goes_on_with_none_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level, lose: Callable[[Path], None], after_own: bool
) -> None:
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())
    cut_off(monkeypatch, lambda: reset(job, place.ledger(), keep_rows=True, start=None), after_own=after_own)
    lose(tmp_path / "balances.sqlite")
    topic.partitions[0] += [("late", 1)] * 5
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"was recorded and can't be finished.*--states clear"):
            run(job, place.ledger())
    reset(job, place.ledger())
    run(job, place.ledger())
    assert counted(place) == 35


def test_what_a_version_adds_while_a_reset_is_open_is_looked_at_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(payments(1, 30), place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    cut_off(monkeypatch, lambda: reset(job, place.ledger()), after_own=False)
    (tmp_path / "other").mkdir()
    other = sqlite_place(tmp_path / "other", apart=True)
    run(make_job(payments(1, 7), other.state("totals"), level=Level.AT_LEAST_ONCE), other.ledger())
    file = (tmp_path / "other" / "totals.sqlite").replace(tmp_path / "totals.sqlite")
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM trident_plain")
    both = make_job(payments(1, 30), place.state("balances"), place.state("totals"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(ApartError, match="'totals' is new and its table has rows"):
        run(both, place.ledger())
    assert counted(place, "totals") == 7


@pytest.mark.parametrize("level", WEAKER)
def test_a_state_that_was_taken_out_leaves_its_table_to_others(tmp_path: Path, level: Level) -> None:
    file, topic = tmp_path / "ledger.sqlite", payments(1, 30)
    kept = SqliteState("z", table="other")
    both = make_job(topic, SqliteState("a", table="sums"), kept, level=level)
    run(both, SqliteLedger(file))
    other = make_job(payments(1, 10), SqliteState("a", table="sums"), level=level)
    with pytest.raises(MismatchError, match=r"topology 'payments', not to.*trident drop"):
        reset(other, SqliteLedger(file), name="other")
    made = both.plan()
    drop_from_topology(made.spec, made.targets, SqliteLedger(file), "a", OPTIONS)
    with pytest.raises(ApartError, match="is new and its table has rows"):
        TopologyRun(other.plan("other"), SqliteLedger(file), OPTIONS).run()
    reset(other, SqliteLedger(file), name="other")
    TopologyRun(other.plan("other"), SqliteLedger(file), OPTIONS).run()
    with pytest.raises(MismatchError, match="topology 'other'"):
        run(both, SqliteLedger(file))
    run(make_job(topic, kept, level=level), SqliteLedger(file))


def test_a_state_whose_place_is_away_is_taken_out_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = sqlite_place(tmp_path, apart=True)
    both = make_job(payments(), place.state("balances"), place.state("totals"), level=Level.AT_LEAST_ONCE)
    run(both, place.ledger())

    def away(*_: object) -> None:
        raise FatalError("the disk is gone")

    monkeypatch.setattr(PlainTable, "leave", away)
    made = both.plan()
    drop_from_topology(made.spec, made.targets, place.ledger(), "totals", OPTIONS)
    assert "could not be given free for others (the disk is gone)" in caplog.text
    assert [birth.state for birth in place.ledger().view().status("payments").births] == ["balances"]


@pytest.mark.parametrize("since", ["nothing", "a run", "a reset"])
def test_a_drop_that_was_cut_off_behind_its_record_gives_the_table_free_when_it_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, since: str
) -> None:
    file, topic, kept = tmp_path / "ledger.sqlite", payments(1, 30), SqliteState("z", table="kept")
    both = make_job(topic, SqliteState("a", table="sums"), kept, level=Level.AT_LEAST_ONCE)
    without = make_job(topic, kept, level=Level.AT_LEAST_ONCE)
    run(both, SqliteLedger(file))

    def drop() -> None:
        made = both.plan()
        drop_from_topology(made.spec, made.targets, SqliteLedger(file), "a", OPTIONS)

    def dies(*_: object) -> None:
        raise CoordinatorDiedError("died")

    with monkeypatch.context() as patching:
        patching.setattr(dropping, "_leave", dies)
        with pytest.raises(CoordinatorDiedError):
            drop()
    topic.partitions[0].append(("late", 1))
    if since == "a run":
        run(without, SqliteLedger(file))
    elif since == "a reset":
        reset(without, SqliteLedger(file))
    other = make_job(payments(1, 10), SqliteState("a", table="sums"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(MismatchError, match="topology 'payments'"):
        reset(other, SqliteLedger(file), name="other")
    with pytest.raises(MismatchError, match=r"it was taken out before.*is free for others"):
        drop()
    reset(other, SqliteLedger(file), name="other")
    with pytest.raises(MismatchError):
        drop()
    with pytest.raises(MismatchError, match="topology 'other'" if since == "nothing" else "was taken out after txid 3"):
        run(both, SqliteLedger(file))


def test_a_drop_says_no_table_free_that_it_does_not_know(tmp_path: Path) -> None:
    lost, place = tmp_path / "ledger.sqlite", sqlite_place(tmp_path, apart=True)
    made = make_job(payments(1, 30), place.state("totals"), level=Level.AT_LEAST_ONCE)
    run(made, SqliteLedger(lost))
    lost.unlink()
    plan = made.plan()
    with pytest.raises(MismatchError) as refused:
        drop_from_topology(plan.spec, plan.targets, SqliteLedger(lost), "totals", OPTIONS)
    assert "free for others" not in str(refused.value)
