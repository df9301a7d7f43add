"""What an older version left is opened by this one, and goes on with exact values."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect

from tests.coordinators.fakes import LAYOUT, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.ledger.dumping import DUMPS, expected, job_over, restore_sqlite, sqlite_states, topic
from trident.base.errors import FencedError
from trident.base.identity import BatchId
from trident.base.signals import StopSignal
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.ledger.sql.tables import METADATA
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.coordinators.pinned import Commit
from trident.coordinators.registered import Lease
from trident.coordinators.retrying import Repeater
from trident.state import SqliteState
from trident.state.staged import WrittenUpdates

REPEATER = Repeater(timedelta(seconds=5), StopSignal())
MIXED = ("beside", "away")
"""A topology with a state beside the ledger and one elsewhere, cut off after its second pin before either."""


def rows_of(file: Path, table: str) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(file) as connection:
        return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {table}")}


def test_there_is_a_dump_of_each_version() -> None:
    versions = range(1, len(LEDGER_TABLES.steps) + 1)
    wanted = {f"sqlite-v{version}-{name}.sql" for version in versions for name in ("ledger", "totals")}
    wanted |= {f"postgres-v{version}.sql" for version in versions}
    wanted |= {f"sqlite-v2-pinned-before-{name}-{file}.sql" for name in MIXED for file in ("ledger", "away")}
    assert {file.name for file in DUMPS.iterdir()} == wanted


@pytest.mark.parametrize("version", range(1, len(LEDGER_TABLES.steps) + 1))
def test_a_run_goes_on_from_what_an_older_version_left(version: int, tmp_path: Path) -> None:
    restore_sqlite(version, tmp_path)
    ledger, *states = sqlite_states(tmp_path)
    before = rows_of(tmp_path / "ledger.sqlite", "balances"), rows_of(tmp_path / "totals.sqlite", "totals")
    assert before[0] != before[1], "one of them has the pinned txid"
    job = job_over(topic(), *states)
    summary = TopologyRun(job.plan(), ledger, replace(OPTIONS, max_pending=2)).run()
    assert summary.first_done == 4
    assert rows_of(tmp_path / "ledger.sqlite", "balances") == expected()
    assert rows_of(tmp_path / "totals.sqlite", "totals") == expected()
    assert [loss.stop - loss.start for loss in ledger.losses("payments")] == [4]
    assert [letter.record.offset for letter in ledger.dead_letters("payments")] == [4, 14]


@pytest.mark.parametrize("name", MIXED)
def test_a_pin_of_version_2_is_rolled_forward_in_states_beside_the_ledger_too(name: str, tmp_path: Path) -> None:
    """That version applied them after the pin when another state was elsewhere, and died before the one of the name."""
    for file in ("ledger", "away"):
        with sqlite3.connect(tmp_path / f"{file}.sqlite") as connection:
            connection.executescript((DUMPS / f"sqlite-v2-pinned-before-{name}-{file}.sql").read_text())
    records = Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(25)] for p in range(3)])
    job = make_job(records, SqliteState("beside"), SqliteState("away", path=tmp_path / "away.sqlite"))
    summary = TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), OPTIONS).run()
    assert summary.first_done == 1
    assert rows_of(tmp_path / "ledger.sqlite", "beside") == records.expected()
    assert rows_of(tmp_path / "away.sqlite", "away") == records.expected()


@pytest.mark.parametrize("version", range(1, len(LEDGER_TABLES.steps)))
def test_what_is_pinned_can_be_done_in_tables_of_an_older_version(version: int, tmp_path: Path) -> None:
    """A take-over that adds a state finishes it before it registers."""
    restore_sqlite(version, tmp_path)
    ledger, *_ = sqlite_states(tmp_path)
    ledger.open()
    epoch = ledger.acquire("payments", Lease("me", timedelta(seconds=5))).epoch
    before = ledger.snapshot(epoch, "payments")
    assert before.pin is not None
    ledger.done(before.owner, epoch, Commit(before.pin.txid, before.pin.attempt, 1, 0, 0, 0, 0, 0, 0))
    assert ledger.snapshot(epoch, "payments").done == before.pin.txid
    ledger.close()


@pytest.mark.parametrize("version", range(1, len(LEDGER_TABLES.steps)))
def test_a_state_is_added_to_what_an_older_version_left(version: int, tmp_path: Path) -> None:
    restore_sqlite(version, tmp_path)
    ledger, *states = sqlite_states(tmp_path)
    job = job_over(topic(), *states, SqliteState("added"))
    TopologyRun(job.plan(), ledger, replace(OPTIONS, max_pending=2)).run()
    assert rows_of(tmp_path / "ledger.sqlite", "balances") == expected()
    assert rows_of(tmp_path / "totals.sqlite", "totals") == expected()
    added = rows_of(tmp_path / "ledger.sqlite", "added")
    assert 0 < sum(n for n, _ in added.values()) < sum(n for n, _ in expected().values())


def test_the_steps_make_the_tables_that_the_statements_know(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    ledger.open()
    found = inspect(ledger.database.engine)
    assert set(found.get_table_names()) == set(METADATA.tables)
    for table in METADATA.sorted_tables:
        columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
        assert columns == {column.name: bool(column.nullable) for column in table.columns}, table.name
        assert found.get_pk_constraint(table.name)["constrained_columns"] == [key.name for key in table.primary_key]
        indexes = {str(index["name"]): index["column_names"] for index in found.get_indexes(table.name)}
        assert indexes == {str(index.name): [column.name for column in index.columns] for index in table.indexes}
    ledger.close()


def test_a_late_apply_of_an_older_versions_pin_is_refused_once_another_owner_took_over(tmp_path: Path) -> None:
    for file in ("ledger", "away"):
        with sqlite3.connect(tmp_path / f"{file}.sqlite") as connection:
            connection.executescript((DUMPS / f"sqlite-v2-pinned-before-beside-{file}.sql").read_text())
    ledger, state = SqliteLedger(tmp_path / "ledger.sqlite"), SqliteState("beside")
    away = SqliteState("away", path=tmp_path / "away.sqlite")
    plan = make_job(Topic([[(f"a{n}", 1)] for n in range(3)]), state, away).plan()
    ledger.open()
    with closing(state.open(LAYOUT, ledger.database)) as beside, closing(away.open(LAYOUT, ledger.database)) as apart:
        taken = []
        for holder in ("late", "successor"):
            epoch = ledger.acquire("payments", Lease(holder, timedelta(0))).epoch
            taking = TakeOver(ledger, {"beside": beside, "away": apart}, plan.spec, epoch, REPEATER)
            taking.raise_fences()
            pin = taking.snapshot.pin
            assert pin is not None
            taken.append((BatchId(taking.snapshot.owner, epoch, pin.txid, pin.attempt), pin.states))
        batch, states = taken[0]
        updates = next(item.updates for item in states if item.state == "beside")
        assert isinstance(updates, WrittenUpdates)
        before = rows_of(tmp_path / "ledger.sqlite", "beside")
        with pytest.raises(FencedError):
            beside.apply(batch, updates)
        assert rows_of(tmp_path / "ledger.sqlite", "beside") == before
        beside.apply(taken[1][0], updates)
        assert rows_of(tmp_path / "ledger.sqlite", "beside") != before
    ledger.close()
