"""A trigger that skips a row without an error has refused it, as one that raises has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, FatalError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState, StateKind
from trident.state.capabilities import CannotUndoError

TRIGGERS = {
    "skips a new row": "BEFORE INSERT ON totals WHEN NEW.account = 'big' BEGIN SELECT RAISE(IGNORE); END",
    "takes a new row away": "AFTER INSERT ON totals WHEN NEW.account = 'big' BEGIN DELETE FROM totals "
    "WHERE account = 'big'; END",
    "leaves a row as it was": "AFTER UPDATE ON totals WHEN NEW.account = 'a1' AND NEW.txid > OLD.txid BEGIN "
    "UPDATE totals SET n = OLD.n, total = OLD.total, txid = OLD.txid WHERE account = 'a1'; END",
    "gives it another txid": "AFTER INSERT ON totals WHEN NEW.account = 'big' BEGIN UPDATE totals SET txid = 2 "
    "WHERE account = 'big'; END",
}


def filled(file: Path) -> tuple[Topic, SqliteState]:
    topic, state = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]]), SqliteState("totals")
    run(make_job(topic, state), SqliteLedger(file))
    topic.partitions[0] += [("a1", 7), ("big", 99)]
    return topic, state


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_it_is_recorded_and_can_be_diverted(trigger: str, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topic, state = filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute(f"CREATE TRIGGER g {TRIGGERS[trigger]}")
    with pytest.raises(DecisionNeededError, match=r"1 of 2 staged rows were not stored in 'totals': a trigger"):
        run(make_job(topic, state), SqliteLedger(file))
    plan = make_job(topic, state).plan()
    wanted = WantedDecision(DecisionKind.DIVERT, 3, "totals")
    decide_topology(plan.spec, plan.targets, SqliteLedger(file), wanted, OPTIONS)
    topic.partitions[0].append(("after", 1))
    run(make_job(topic, state), SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        found = dict(connection.execute("SELECT account, total FROM totals").fetchall())
    left_out = {"a1": 7, "big": 99}
    assert found == {
        account: total - left_out.get(account, 0)
        for account, (_, total) in topic.expected().items()
        if account != "big"
    }


def test_a_trigger_that_changes_nothing_of_ours_is_no_refusal(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topic, state = filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE seen (account text)")
        connection.execute("CREATE TRIGGER g AFTER UPDATE ON totals BEGIN INSERT INTO seen VALUES (NEW.account); END")
    run(make_job(topic, state), SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        found = dict(connection.execute("SELECT account, total FROM totals").fetchall())
        assert connection.execute("SELECT account FROM seen").fetchall() == [("a1",)]
    assert found == {account: total for account, (_, total) in topic.expected().items()}


@pytest.mark.parametrize(
    "hinders",
    [
        "BEFORE UPDATE ON totals WHEN NEW.account = 'a1' AND NEW.txid < OLD.txid",
        "BEFORE DELETE ON totals WHEN OLD.account = 'new'",
    ],
)
def test_an_undo_that_a_trigger_hinders_goes_on_once_it_is_mended(hinders: str, tmp_path: Path) -> None:
    file, own = tmp_path / "ledger.sqlite", tmp_path / "own.sqlite"
    topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
    state = SqliteState("totals", path=own, kind=StateKind.OPAQUE)
    run(make_job(topic, state), SqliteLedger(file))
    with sqlite3.connect(own) as connection:
        connection.execute(f"CREATE TRIGGER g {hinders} BEGIN SELECT RAISE(IGNORE); END")
        connection.commit()
        topic.partitions[0] += [("a1", 7), ("a2", 99), ("new", 5)]
        plan = make_job(topic, state).plan()
        with dying_at(CrashPoint.AFTER_APPLY):
            TopologyRun(plan, SqliteLedger(file), OPTIONS).run()
        wanted = WantedDecision(DecisionKind.UNDO, 3)
        for _ in range(2):
            with pytest.raises(CannotUndoError, match="1 rows of table 'totals' could not be brought back from txid 3"):
                decide_topology(plan.spec, plan.targets, SqliteLedger(file), wanted, OPTIONS)
        connection.execute("DROP TRIGGER g")
        connection.commit()
    run(make_job(topic, state), SqliteLedger(file))
    with sqlite3.connect(own) as connection:
        found = dict(connection.execute("SELECT account, total FROM totals").fetchall())
    assert found == {account: total for account, (_, total) in topic.expected().items()}


def test_a_row_of_a_later_txid_is_no_refusal_of_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topic, state = filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE totals SET txid = 99 WHERE account = 'a1'")
    with pytest.raises(FatalError, match="a stored row of a later txid"):
        run(make_job(topic, state), SqliteLedger(file))
