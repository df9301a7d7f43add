"""A long history costs nothing: no statement looks through it, and what a txid leaves does not grow with partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from tests.ledger.contract import NOTHING
from tests.ledger.prefilled import fill, first_plans, next_plan, operations
from trident.base.errors import FatalError
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.ledger.sql.retention import MOST_ROWS
from trident.coordinators.registered import Keep

_HISTORY = "(trident_plan|trident_pin|trident_commit)"
_THROUGH_HISTORY = re.compile(rf"SCAN {_HISTORY}\b")
_THROUGH_ALL_OF_A_TOPOLOGY = re.compile(rf"SEARCH {_HISTORY} USING (?!.*trident_plan_(live|open)).*\(topology=\?\)")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    opened = SqliteLedger(tmp_path / "ledger.db")
    opened.open()
    yield opened
    opened.close()


def test_no_statement_looks_through_history(ledger: SqliteLedger) -> None:
    run = fill(ledger, first_plans(ledger, 50, 5), txids=3_000, old=1_500, dropped=2_000)
    statements: list[tuple[str, str, Any]] = []
    now = ""

    @event.listens_for(ledger.database.engine, "before_cursor_execute")
    def _note(_connection, _cursor, statement, parameters, *_):
        statements.append((now, statement, parameters))

    for name, operation in operations(ledger, run, 5).items():
        now = name
        operation()
    event.remove(ledger.database.engine, "before_cursor_execute", _note)
    explained = 0
    with ledger.database.transaction() as transaction:
        for name, statement, parameters in statements:
            if not statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                continue
            plan = transaction.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [str(row[-1]) for row in plan]
            assert not [step for step in steps if _THROUGH_HISTORY.match(step)], (name, statement, steps)
            if "LIMIT" not in statement:
                assert not [step for step in steps if _THROUGH_ALL_OF_A_TOPOLOGY.match(step)], (name, statement, steps)
            explained += 1
    assert explained > 40


def test_one_call_takes_a_bounded_number_of_rows_and_the_next_ones_the_rest(ledger: SqliteLedger) -> None:
    run = fill(ledger, first_plans(ledger, 3, 2), txids=4_000, old=2_500, dropped=0)
    removed = []
    while True:
        removed.append(ledger.clean_up(run.owner, run.epoch, Keep(100)))
        if not removed[-1]:
            break
    assert len(removed) > 3
    assert max(removed) <= 3 * MOST_ROWS
    with ledger.database.transaction() as transaction:
        left = [
            transaction.connection.execute(text(f"SELECT count(*), min(txid) FROM {table}")).one()
            for table in ("trident_plan", "trident_commit", "trident_pin")
        ]
    assert [tuple(row) for row in left] == [(1_500, 2_501), (1_500, 2_501), (1_000, 3_001)]


@pytest.mark.parametrize("partitions", [10, 1_000])
def test_what_a_txid_leaves_is_what_it_changes(ledger: SqliteLedger, partitions: int) -> None:
    run = first_plans(ledger, partitions, 5)
    with ledger.database.transaction() as transaction:
        rows = transaction.connection.execute(
            text(
                "SELECT length(p.ranges), length(i.plan) FROM trident_plan p, trident_pin i"
                " WHERE p.attempt = 2 AND i.txid = 2"
            )
        ).one()
    assert sum(rows) < 200
    found = run.snapshot()
    assert found.done_plan is not None
    assert len(found.done_plan.ranges) == partitions


def test_a_txid_of_very_many_attempts_goes_in_several_calls_and_its_commit_last(ledger: SqliteLedger) -> None:
    run = fill(ledger, first_plans(ledger, 3, 2), txids=3, old=0, dropped=2 * MOST_ROWS)
    plan = next_plan(run, 2)
    run.together(plan)
    run.finish(2)
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("UPDATE trident_commit SET done_at = '2020-01-01T00:00:00+00:00'"))
    assert ledger.clean_up(run.owner, run.epoch, NOTHING) >= MOST_ROWS
    assert _attempts_left(ledger, plan.txid) > 0
    assert [row.txid for row in ledger.view().batches("payments")][-1] == 1, "the commits say that there is more"
    while ledger.clean_up(run.owner, run.epoch, NOTHING):
        pass
    assert _attempts_left(ledger, plan.txid) == 0
    assert [row.txid for row in ledger.view().batches("payments")] == [plan.txid + 2]


def test_the_ranges_of_the_done_plan_that_are_lost_are_never_read_as_a_beginning(ledger: SqliteLedger) -> None:
    run = first_plans(ledger, 10, 2)
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("DELETE FROM trident_done_plan"))
    with pytest.raises(FatalError, match="the ledger is damaged"):
        run.snapshot()
    with pytest.raises(FatalError, match="the ledger is damaged"):
        next_plan(run, 2)


def _attempts_left(ledger: SqliteLedger, txid: int) -> int:
    with ledger.database.transaction() as transaction:
        found = transaction.connection.execute(
            text("SELECT count(*) FROM trident_plan WHERE txid = :txid"), {"txid": txid}
        )
        return int(found.scalar_one())
