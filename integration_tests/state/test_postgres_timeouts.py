"""Whatever connects to Postgres during a run follows the run's lease: ledger, states with a dsn of their own, tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import ListProcessor, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.timeouts import Timeouts
from trident.base.writes import WriteManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger, SqliteLedger
from trident.state import PostgresState
from trident.state.databases.base import SqlDatabase
from trident.state.postgres.database import PostgresDatabase
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.tables.target import TableTarget
from trident.state.target import Target

LEASE = timedelta(seconds=4)
HALF = ("2s", "2s")
"""Lock timeout and idle timeout of a lease of four seconds."""


def limits(database: SqlDatabase) -> tuple[str, str]:
    """Return what the server says of a connection of that database."""
    with database.transaction() as transaction:
        shown = [
            transaction.connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("lock_timeout", "idle_in_transaction_session_timeout")
        ]
    return shown[0], shown[1]


@dataclass
class Looking(ListProcessor):
    """Stages by a task's writer, and looks at the limits of what is open."""

    stores: Mapping[str, Target] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def process(self, request: ProcessRequest) -> ProcessResult:
        result = super().process(request)
        return replace(result, updates={name: self._written(request, name, x) for name, x in result.updates.items()})

    def _written(self, request: ProcessRequest, state: str, updates: StagedUpdates) -> WrittenUpdates:
        store = self.stores[state]
        assert isinstance(store, TableTarget)
        assert isinstance(updates, HeldUpdates)
        self.seen.append(limits(store._place.database))
        spy_on(store)
        assert store.capabilities.writing is not None
        writer = store.capabilities.writing.writer(request.batch)
        words = [decode(word) for word in writer(iter(updates.rows.to_batches()))]
        return WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))


def spy_on(store: TableTarget) -> None:
    """Let the server note the limits of every session that writes to the state's staging table."""
    with store._place.database.transaction() as transaction:
        transaction.connection.exec_driver_sql(
            "CREATE TABLE IF NOT EXISTS seen (lock text, idle text);"
            "CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES "
            "(current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')); "
            "RETURN NULL; END $$;"
            "CREATE OR REPLACE TRIGGER spy BEFORE INSERT ON trident_staging_balances "
            "FOR EACH STATEMENT EXECUTE FUNCTION note()"
        )


@pytest.fixture
def ledger(postgres: Postgres) -> Iterator[PostgresLedger]:
    ledger = PostgresLedger(postgres.dsn)
    yield ledger
    ledger.close()


@pytest.mark.parametrize("place", ["beside a Postgres ledger", "apart from it", "apart from a SQLite ledger"])
def test_a_state_and_its_tasks_follow_the_lease_of_the_run(postgres, tmp_path, place):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite") if "SQLite" in place else PostgresLedger(postgres.dsn)
    state = PostgresState("balances", dsn=postgres.dsn if "apart" in place else None)
    job = make_job(Topic([[("ann", 1), ("bob", 2)]]), state)
    looking = Looking(job.topic, ["balances"], lambda request, result: result)

    def make_processor(_: object, stores: Mapping[str, Target]) -> Looking:
        looking.stores = stores
        return looking

    TopologyRun(replace(job.plan(), make_processor=make_processor), ledger, replace(OPTIONS, lease=LEASE)).run()
    assert set(looking.seen) == {HALF}
    database = PostgresDatabase(postgres.dsn)
    with database.transaction() as transaction:
        written = transaction.connection.exec_driver_sql("SELECT DISTINCT lock, idle FROM seen").all()
    database.close()
    assert [tuple(row) for row in written] == [HALF]


def test_a_decision_follows_the_lease_that_it_is_given(postgres, monkeypatch):
    opened: list[TableTarget] = []
    as_it_is = PostgresState.open

    def open_and_keep(self, layout, ledger_database, timeouts):
        opened.append(as_it_is(self, layout, ledger_database, timeouts))
        return opened[-1]

    monkeypatch.setattr(PostgresState, "open", open_and_keep)
    plan = make_job(Topic([[]]), PostgresState("balances", dsn=postgres.dsn)).plan()
    options = replace(OPTIONS, lease=LEASE)
    reset_topology(plan.spec, plan.targets, PostgresLedger(postgres.dsn), keep_rows=False, start=None, options=options)
    assert [limits(store._place.database) for store in opened] == [HALF]
    opened[0].close()


def test_without_a_run_a_ledger_has_the_limits_of_the_default_lease(ledger):
    assert limits(ledger.database) == ("5s", "5s")


def test_connections_that_were_made_before_a_run_do_not_keep_their_limits(ledger):
    limits(ledger.database)
    ledger.open(Timeouts(lease=LEASE))
    assert limits(ledger.database) == HALF


def test_of_runs_that_share_a_ledger_the_shortest_lease_counts_until_it_is_closed(ledger):
    for lease in (LEASE, LEASE * 5, LEASE):
        ledger.open(Timeouts(lease=lease))
        assert limits(ledger.database) == HALF
    for _ in range(2):
        ledger.close()
        assert limits(ledger.database) == HALF, "one of the runs is left"
    ledger.close()
    ledger.open(Timeouts(lease=LEASE * 5))
    assert limits(ledger.database) == ("10s", "10s")


def test_a_block_that_is_at_work_goes_on_when_another_run_opens_the_ledger(ledger):
    with ledger.database.transaction() as transaction:
        ledger.open(Timeouts(lease=LEASE))
        assert transaction.connection.exec_driver_sql("SELECT 1").scalar_one() == 1


@pytest.mark.parametrize(("given", "option"), [("lease_seconds", "lease"), ("give_up_after", "give_up_after")])
def test_a_ledger_that_is_told_a_time_of_its_own_says_who_decides(postgres, given, option):
    with pytest.raises(ConfigurationError, match=rf"takes no {given} any more: RunOptions\({option}=timedelta"):
        PostgresLedger(postgres.dsn, **{given: 5.0})  # type: ignore[arg-type]


def stop_in_transaction(database: SqlDatabase) -> None:
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("SELECT 1")
        time.sleep(2.5)
        transaction.connection.exec_driver_sql("SELECT 2")


def test_a_session_that_the_server_ended_in_a_transaction_is_for_now(ledger):
    ledger.open(Timeouts(lease=LEASE))
    with pytest.raises(RetryableError, match=r"25P03.*rolled back, nothing was written"):
        stop_in_transaction(ledger.database)
    assert limits(ledger.database) == HALF


@pytest.mark.parametrize("place", ["beside the ledger", "apart"])
def test_a_process_that_was_stopped_in_a_transaction_goes_on(postgres, ledger, place):
    """Stopped for longer than a session may be silent in a transaction, and nobody has taken over."""
    topic = Topic([[("ann", 1), ("bob", 2), ("ann", 3)]])
    job = make_job(topic, PostgresState("balances", dsn=postgres.dsn if place == "apart" else None))
    stops: list[int] = []

    def stop(point: CrashPoint, txid: int) -> None:
        if point in (CrashPoint.IN_PIN_TRANSACTION, CrashPoint.IN_APPLY) and not stops:
            stops.append(txid)
            time.sleep(2.5)

    with armed(stop):
        TopologyRun(job.plan(), ledger, replace(OPTIONS, lease=LEASE)).run()
    assert stops
    database = PostgresDatabase(postgres.dsn)
    with database.transaction() as transaction:
        found = transaction.connection.exec_driver_sql("SELECT account, n, total FROM balances").all()
    database.close()
    assert {row[0]: (row[1], row[2]) for row in found} == topic.expected()
