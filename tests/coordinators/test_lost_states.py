"""A state that the ledger has known must be there: what is absent, emptied or another one stops the start."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_new_states import Died, sums
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError
from trident.coordinators.decided import ResetStart
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import MemoryLedger, SqliteLedger
from trident.coordinators.registered import Birth
from trident.state import BackingMapState, MemoryState, SqliteState
from trident.state.memory.database import MemoryDatabase
from trident.state.target import State


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)]])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    found = SqliteLedger(tmp_path / "ledger.sqlite")
    yield found
    found.close()


class DictMap(dict[object, object]):
    """A user's store in memory."""

    def multi_get(self, keys: list[object]) -> list[object]:
        return [self.get(key) for key in keys]

    def multi_put(self, items: list[tuple[object, object]]) -> None:
        self.update(items)


def more(topic: Topic) -> None:
    topic.partitions[0] += [("late", 1)] * 5


def births(ledger: SqliteLedger) -> tuple[Birth, ...]:
    return ledger.view().status("payments").births


def drop_tables(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            connection.execute(f'DROP TABLE "{name}"')


def file_gone(folder: Path) -> State:
    (folder / "away.sqlite").unlink()
    return SqliteState("away", path=folder / "away.sqlite")


def tables_gone(folder: Path) -> State:
    drop_tables(folder / "away.sqlite")
    return SqliteState("away", path=folder / "away.sqlite")


def another_address(folder: Path) -> State:
    return SqliteState("away", path=folder / "elsewhere.sqlite")


@pytest.mark.parametrize("lose", [file_gone, tables_gone, another_address])
def test_a_state_that_was_filled_and_is_gone_stops_the_start(
    lose: Callable[[Path], State], topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    first = make_job(topic, SqliteState("away", path=tmp_path / "away.sqlite"))
    TopologyRun(first.plan(), ledger, OPTIONS).run()
    more(topic)
    again = make_job(topic, lose(tmp_path))
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"state 'away' is gone: .*since txid 0.*--states clear"):
            TopologyRun(again.plan(), ledger, OPTIONS).run()
    assert not again.processor.attempts, "nothing is read for a state that is not there"


def test_the_address_of_an_old_incarnation_is_asked_after(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    """Nobody has restored anything: the address leads to the rows from before a reset."""
    away, before = tmp_path / "away.sqlite", tmp_path / "before.sqlite"

    def job_at(file: Path) -> ListJob:
        return make_job(topic, SqliteState("away", path=file))

    TopologyRun(job_at(away).plan(), ledger, OPTIONS).run()
    before.write_bytes(away.read_bytes())
    plan = job_at(away).plan()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    more(topic)
    TopologyRun(job_at(away).plan(), ledger, OPTIONS).run()
    with pytest.raises(MismatchError, match=r"or the address of state 'away' is another one\..* Correct the address, "):
        TopologyRun(job_at(before).plan(), ledger, OPTIONS).run()
    TopologyRun(job_at(away).plan(), ledger, OPTIONS).run()
    assert sums(away, "away") == topic.expected()


def test_an_emptied_map_and_another_memory_are_gone_too(topic: Topic) -> None:
    def a_map() -> State:
        return BackingMapState("away", DictMap())  # type: ignore[arg-type]

    def a_memory() -> State:
        return MemoryState("away", database=MemoryDatabase())

    for new in (a_map, a_memory):
        ledger = MemoryLedger()
        TopologyRun(make_job(topic, new()).plan(), ledger, OPTIONS).run()
        more(topic)
        with pytest.raises(MismatchError, match="state 'away' is gone"):
            TopologyRun(make_job(topic, new()).plan(), ledger, OPTIONS).run()


def test_the_way_out_that_the_text_names_gives_exact_sums(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    TopologyRun(make_job(topic, SqliteState("away", path=tmp_path / "away.sqlite")).plan(), ledger, OPTIONS).run()
    more(topic)
    plan = make_job(topic, file_gone(tmp_path)).plan()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()


def test_rows_that_are_gone_can_not_be_adopted(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    TopologyRun(make_job(topic, SqliteState("away", path=tmp_path / "away.sqlite")).plan(), ledger, OPTIONS).run()
    before = births(ledger)
    plan = make_job(topic, file_gone(tmp_path)).plan()
    with pytest.raises(MismatchError, match="state 'away' is gone"):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start="earliest", options=OPTIONS)
    assert births(ledger) == before
    assert ledger.view().status("payments").open_reset is None


@pytest.mark.parametrize("knows_births", [True, False], ids=["", "a reset of an older version"])
@pytest.mark.parametrize("lose", [file_gone, tables_gone, another_address])
def test_rows_that_a_reset_kept_are_missed_before_anything_more_is_done(
    lose: Callable[[Path], State], knows_births: bool, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """The state is born where the ledger stands, and not empty."""
    plan = make_job(topic, SqliteState("away", path=tmp_path / "away.sqlite")).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=ResetStart.RESUME, options=OPTIONS)
    if not knows_births:
        with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
            connection.execute("UPDATE trident_incarnation SET births = NULL")
    more(topic)
    again = make_job(topic, lose(tmp_path)).plan()
    with pytest.raises(MismatchError, match="state 'away' is gone"):
        TopologyRun(again, ledger, OPTIONS).run()
    with pytest.raises(MismatchError, match="state 'away' is gone"):
        reset_topology(again.spec, again.targets, ledger, keep_rows=True, start=ResetStart.RESUME, options=OPTIONS)
    reset_topology(again.spec, again.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    TopologyRun(again, ledger, OPTIONS).run()
    folder = tmp_path / ("elsewhere.sqlite" if lose is another_address else "away.sqlite")
    assert sums(folder, "away") == topic.expected()


def test_a_map_that_a_reset_kept_is_missed_before_anything_more_is_done(topic: Topic) -> None:
    ledger, kept = MemoryLedger(), BackingMapState("away", DictMap())  # type: ignore[arg-type]
    plan = make_job(topic, kept).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=ResetStart.RESUME, options=OPTIONS)
    more(topic)
    empty = BackingMapState("away", DictMap())  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="state 'away' is gone"):
        TopologyRun(make_job(topic, empty).plan(), ledger, OPTIONS).run()
    TopologyRun(plan, ledger, OPTIONS).run()


@pytest.mark.parametrize("point", [CrashPoint.AFTER_RECORDING_BIRTHS, CrashPoint.AFTER_BIRTH])
def test_a_birth_behind_a_reset_that_kept_rows_may_be_cut_off(
    point: CrashPoint, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    old = SqliteState("away", path=tmp_path / "away.sqlite")
    plan = make_job(topic, old).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=ResetStart.RESUME, options=OPTIONS)
    more(topic)
    job = make_job(topic, old, SqliteState("late", path=tmp_path / "late.sqlite"))

    def die(reached: CrashPoint, _: int) -> None:
        if reached is point:
            raise Died

    with armed(die), pytest.raises(Died):
        TopologyRun(job.plan(), ledger, OPTIONS).run()
    TopologyRun(job.plan(), ledger, OPTIONS).run()
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()
    assert sums(tmp_path / "late.sqlite", "late") == {"late": (5, 5)}


def test_rows_that_were_put_back_while_a_reset_waits_are_not_resumed_from(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    file = tmp_path / "away.sqlite"
    plan = make_job(topic, SqliteState("away", path=file)).plan()
    TopologyRun(plan, ledger, OPTIONS).run()
    backup = file.read_bytes()
    more(topic)
    TopologyRun(plan, ledger, OPTIONS).run()
    now = file.read_bytes()

    def die(reached: CrashPoint, _: int) -> None:
        if reached is CrashPoint.AFTER_DECIDING_RESET:
            raise Died

    with armed(die), pytest.raises(Died):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=ResetStart.RESUME, options=OPTIONS)
    more(topic)
    file.write_bytes(backup)
    with pytest.raises(MismatchError, match="state 'away' stands at txid"):
        TopologyRun(plan, ledger, OPTIONS).run()
    file.write_bytes(now)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert sums(file, "away") == topic.expected()


def test_a_new_state_is_born_at_a_recorded_txid(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    first: list[State] = [SqliteState("beside")]
    TopologyRun(make_job(topic, *first).plan(), ledger, OPTIONS).run()
    done = ledger.view().status("payments").done
    late = SqliteState("late", path=tmp_path / "late.sqlite")
    more(topic)
    TopologyRun(make_job(topic, *first, late).plan(), ledger, OPTIONS).run()
    assert births(ledger) == (Birth("beside", 0), Birth("late", done))
    assert sums(tmp_path / "late.sqlite", "late") == {"late": (5, 5)}
    more(topic)
    (tmp_path / "late.sqlite").unlink()
    with pytest.raises(MismatchError, match=f"state 'late' is gone: .*since txid {done}"):
        TopologyRun(make_job(topic, *first, late).plan(), ledger, OPTIONS).run()


@pytest.mark.parametrize("point", [CrashPoint.AFTER_RECORDING_BIRTHS, CrashPoint.AFTER_BIRTH])
def test_a_birth_that_was_cut_off_is_finished(
    point: CrashPoint, topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    states = [SqliteState("one", path=tmp_path / "one.sqlite"), SqliteState("two", path=tmp_path / "two.sqlite")]

    def die(reached: CrashPoint, _: int) -> None:
        if reached is point:
            raise Died

    job: ListJob = make_job(topic, *states)
    with armed(die), pytest.raises(Died):
        TopologyRun(job.plan(), ledger, OPTIONS).run()
    TopologyRun(job.plan(), ledger, OPTIONS).run()
    for state in ("one", "two"):
        assert sums(tmp_path / f"{state}.sqlite", state) == topic.expected()


def test_a_ledger_that_knew_no_births_knows_that_there_were_states(
    topic: Topic, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """As an older version left it: the column is there, and nothing in it."""
    away = SqliteState("away", path=tmp_path / "away.sqlite")
    TopologyRun(make_job(topic, away).plan(), ledger, OPTIONS).run()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE trident_incarnation SET births = NULL")
    kept = (tmp_path / "away.sqlite").read_bytes()
    (tmp_path / "away.sqlite").unlink()
    with pytest.raises(MismatchError, match="state 'away' is gone"):
        TopologyRun(make_job(topic, away).plan(), ledger, OPTIONS).run()
    for left in tmp_path.glob("away.sqlite*"):
        left.unlink()
    (tmp_path / "away.sqlite").write_bytes(kept)
    more(topic)
    TopologyRun(make_job(topic, away).plan(), ledger, OPTIONS).run()
    assert births(ledger) == (Birth("away", 0),)
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()


def test_a_state_that_was_begun_anew_meanwhile_is_noticed(topic: Topic, ledger: SqliteLedger, tmp_path: Path) -> None:
    """As a version before this one would have done with an emptied state."""
    away = SqliteState("away", path=tmp_path / "away.sqlite")
    TopologyRun(make_job(topic, away).plan(), ledger, OPTIONS).run()
    with sqlite3.connect(tmp_path / "away.sqlite") as connection:
        connection.execute("DELETE FROM away")
        connection.execute("UPDATE trident_applied SET birth_txid = txid, attempt = 0")
    with pytest.raises(MismatchError, match=r"holds what came after txid \d+, though it was born at txid 0"):
        TopologyRun(make_job(topic, away).plan(), ledger, replace(OPTIONS)).run()
