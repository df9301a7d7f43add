"""A trigger that skips a row without an error has refused it, as one that raises has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.errors import DecisionNeededError, FatalError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.deciding import WantedDecision
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState

SKIP = "CREATE TRIGGER g BEFORE INSERT ON totals WHEN NEW.account = 'big' BEGIN SELECT RAISE(IGNORE); END"


def filled(file: Path) -> tuple[Topic, SqliteState]:
    topic, state = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]]), SqliteState("totals")
    run(make_job(topic, state), SqliteLedger(file))
    topic.partitions[0] += [("a1", 7), ("big", 99)]
    return topic, state


def test_it_is_recorded_and_can_be_diverted(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topic, state = filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute(SKIP)
    with pytest.raises(DecisionNeededError, match=r"1 of 2 staged rows were not stored in 'totals': a trigger"):
        run(make_job(topic, state), SqliteLedger(file))
    plan = make_job(topic, state).plan()
    wanted = WantedDecision(DecisionKind.DIVERT, 3, "totals")
    decide_topology(plan.spec, plan.states, SqliteLedger(file), wanted, OPTIONS)
    topic.partitions[0].append(("after", 1))
    run(make_job(topic, state), SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        accounts = {row[0] for row in connection.execute("SELECT account FROM totals")}
    assert accounts == {"a0", "a1", "a2", "a3", "a4", "after"}


def test_a_row_of_a_later_txid_is_no_refusal_of_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topic, state = filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE totals SET txid = 99 WHERE account = 'a1'")
    with pytest.raises(FatalError, match="a stored row of a later txid"):
        run(make_job(topic, state), SqliteLedger(file))
