"""A state that is added while a txid is pinned without it: that one goes first, then the state is born."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import DecisionNeededError, MismatchError, RefusedError
from trident.coordinators.decisions.commands import retry_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState
from trident.state.tables.target import TableTarget
from trident.state.target import State


class Died(BaseException):
    """The process is gone."""


def sums(file: Path, state: str) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(file) as connection:
        return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {state}")}


@pytest.mark.parametrize("apart", [False, True], ids=["beside the ledger", "apart"])
@pytest.mark.parametrize("mixed", [False, True], ids=["none was beside", "one was beside"])
def test_a_state_added_while_a_txid_is_pinned_is_born_when_that_one_is_done(
    mixed: bool, apart: bool, tmp_path: Path
) -> None:
    ledger, away = tmp_path / "ledger.sqlite", tmp_path / "away.sqlite"
    first: list[State] = [*([SqliteState("beside")] if mixed else []), SqliteState("away", path=away)]
    topic = Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(25)] for p in range(3)])

    def die(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_PIN and txid == 2:
            raise Died

    with armed(die), pytest.raises(Died):
        TopologyRun(make_job(topic, *first).plan(), SqliteLedger(ledger), OPTIONS).run()
    extra = tmp_path / "extra.sqlite" if apart else ledger
    job = make_job(topic, *first, SqliteState("extra", path=extra if apart else None))
    for _ in range(2):  # and a restart
        TopologyRun(job.plan(), SqliteLedger(ledger), OPTIONS).run()
    assert sums(away, "away") == topic.expected()
    assert not mixed or sums(ledger, "beside") == topic.expected()
    born_late = sums(extra, "extra")
    missed = {key: topic.expected()[key][0] - born_late.get(key, (0, 0))[0] for key in topic.expected()}
    with sqlite3.connect(ledger) as connection:
        counted = [row[0] for row in connection.execute("SELECT records FROM trident_commit WHERE txid <= 2")]
    assert sum(missed.values()) == sum(counted), "it holds what came after the pinned txid, all of it"


def test_a_refusal_while_the_pinned_txid_goes_first_is_recorded_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, away = tmp_path / "ledger.sqlite", SqliteState("away", path=tmp_path / "away.sqlite")
    topic = Topic([[(f"a{n}", n + 1) for n in range(25)] for _ in range(3)])

    def die(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_PIN and txid == 2:
            raise Died

    with armed(die), pytest.raises(Died):
        TopologyRun(make_job(topic, away).plan(), SqliteLedger(ledger), OPTIONS).run()

    def refuse(*_: object) -> None:
        raise RefusedError("a value too large")

    job = make_job(topic, away, SqliteState("extra"))
    with monkeypatch.context() as patched:
        patched.setattr(TableTarget, "apply", refuse)
        for _ in range(2):
            with pytest.raises(DecisionNeededError, match="trident divert"):
                TopologyRun(job.plan(), SqliteLedger(ledger), OPTIONS).run()
    retry_topology("payments", SqliteLedger(ledger), 2, OPTIONS)
    TopologyRun(job.plan(), SqliteLedger(ledger), OPTIONS).run()
    assert sums(tmp_path / "away.sqlite", "away") == topic.expected()


class _Movable(SqliteState):
    """Somebody's own state, whose description does not say where it lives."""

    def description(self) -> dict[str, str]:
        return {"state": "movable"}


def test_a_state_that_was_moved_away_behind_a_pin_stops_instead_of_taking_it_without_rows(tmp_path: Path) -> None:
    """The pin was its rows; a copy from before it has nothing to apply of that txid."""
    ledger, topic = tmp_path / "ledger.sqlite", Topic([[(f"a{n}", n + 1) for n in range(25)] for _ in range(3)])
    away = SqliteState("away", path=tmp_path / "away.sqlite")

    def die(point: CrashPoint, txid: int) -> None:
        if txid == 2 and point is CrashPoint.BEFORE_PIN:
            with sqlite3.connect(ledger) as source, sqlite3.connect(tmp_path / "copy.sqlite") as target:
                source.backup(target)
        if txid == 2 and point is CrashPoint.AFTER_PIN:
            raise Died

    with armed(die), pytest.raises(Died):
        TopologyRun(make_job(topic, _Movable("moved"), away).plan(), SqliteLedger(ledger), OPTIONS).run()
    job = make_job(topic, _Movable("moved", path=tmp_path / "copy.sqlite"), away)
    with pytest.raises(MismatchError, match="'moved' stands at txid 1 attempt 1 and was written with that pin"):
        TopologyRun(job.plan(), SqliteLedger(ledger), OPTIONS).run()
