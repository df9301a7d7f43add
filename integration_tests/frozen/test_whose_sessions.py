"""Of two ledgers with a topology of the same name on one server: each take-over ends its own predecessors only."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote_plus

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.test_ending_sessions import LEASE, frozen_copy, is_alive
from tests.ledger.making import SPEC, Run, started, taken_over
from trident.base.errors import RetryableError
from trident.base.identity import BatchId, Epoch
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger import PostgresLedger, SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import PostgresState
from trident.state.databases.base import Work
from trident.state.postgres.database import PostgresDatabase
from trident.state.tables.target import TableTarget
from trident.testing.state_harness import COUNTS, counts, writing

TOPOLOGY = SPEC.name
HOLDER = Lease("one", timedelta(seconds=60))


def in_schema(dsn: str, schema: str) -> str:
    """The address with a schema of its own, made when it is missing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")  # type: ignore[call-overload, unused-ignore]
    return f"{dsn}?options={quote_plus(f'-csearch_path={schema}')}"


@contextmanager
def opened(ledger: PostgresLedger | SqliteLedger) -> Iterator[PostgresLedger | SqliteLedger]:
    ledger.open(Timeouts(LEASE))
    try:
        yield ledger
    finally:
        ledger.close()


def take_over_again(ledger: PostgresLedger | SqliteLedger, times: int) -> Run:
    run = started(ledger)
    for number in range(times):
        ledger.release(TOPOLOGY, run.epoch)
        run = taken_over(ledger, f"successor {number}")
    return run


def state_at(dsn: str, database: PostgresDatabase | None = None) -> TableTarget:
    return PostgresState("balances", dsn=dsn).open(COUNTS, database or PostgresDatabase(dsn), Timeouts(LEASE))


def waiting(dsn: str) -> int:
    """How many sessions of this library's wait for a lock."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"{count} AND application_name LIKE 'trident %'").fetchone()  # type: ignore[call-overload, unused-ignore]
    assert row is not None
    return int(row[0])


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def end_older(store: TableTarget, epoch: Epoch) -> None:
    assert store.capabilities.ending is not None
    store.capabilities.ending.end_older(TOPOLOGY, epoch)


def test_a_take_over_ends_no_session_of_another_ledgers_topology_of_the_same_name(postgres: Postgres) -> None:
    """Test and production in two schemas of a database: the ledger's sessions, also when one has to wait for a lock."""
    production, test = in_schema(postgres.dsn, "production"), in_schema(postgres.dsn, "test")
    with opened(PostgresLedger(production)) as first, opened(PostgresLedger(test)) as second:
        run = started(first)
        with frozen_copy(production, "frozen", Work(TOPOLOGY, run.epoch)) as connection:
            take_over_again(second, 3)
            assert is_alive(postgres.dsn, connection)
            first.release(TOPOLOGY, run.epoch)
            taken_over(first, "its own successor")
            assert not is_alive(postgres.dsn, connection)


def test_states_of_two_ledgers_in_one_database_keep_their_sessions(postgres: Postgres, tmp_path: Path) -> None:
    """Two SQLite ledgers whose states have schemas of one database: an apply and a task of the other run go on."""
    production, test = in_schema(postgres.dsn, "production"), in_schema(postgres.dsn, "test")
    with (
        opened(SqliteLedger(tmp_path / "production.db")) as first,
        opened(SqliteLedger(tmp_path / "test.db")) as second,
    ):
        ours, theirs = started(first), take_over_again(second, 3)
        assert ours.epoch.number < theirs.epoch.number
        other = state_at(test)
        with frozen_copy(production, "frozen", Work(TOPOLOGY, ours.epoch)) as connection:
            end_older(other, theirs.epoch)
            assert is_alive(postgres.dsn, connection)
        other.close()


def test_a_predecessor_is_ended_after_a_reset_and_several_epochs(postgres: Postgres, tmp_path: Path) -> None:
    """What froze first is ended by the last of a chain, in the ledger's database and in a state's, a task's too."""
    elsewhere = postgres.new_dsn()
    store = state_at(elsewhere)
    store.prepare()
    with opened(PostgresLedger(postgres.dsn)) as ledger:
        first = started(ledger)
        work = Work(TOPOLOGY, first.epoch)
        with (
            frozen_copy(elsewhere, "frozen", work) as in_state,
            frozen_copy(elsewhere, "trident_staging_balances", work) as in_task,
        ):
            ledger.release(TOPOLOGY, first.epoch)
            second = taken_over(ledger, "two")
            decision = ResetDecision(secrets.token_hex(8), 0, "clear", None)
            ledger.decide_reset(second.epoch, TOPOLOGY, decision)
            ledger.finish_reset(second.epoch, TOPOLOGY, decision)
            with frozen_copy(postgres.dsn, "frozen", Work(TOPOLOGY, second.epoch)) as in_ledger:
                ledger.release(TOPOLOGY, second.epoch)
                third = ledger.acquire(TOPOLOGY, HOLDER).epoch
                assert not is_alive(postgres.dsn, in_ledger)
            ledger.release(TOPOLOGY, third)
            last = ledger.acquire(TOPOLOGY, HOLDER).epoch
            end_older(store, last)
            assert not is_alive(elsewhere, in_state)
            assert not is_alive(elsewhere, in_task)
    store.close()


def test_a_tasks_session_is_found_by_its_own_successor_only(postgres: Postgres, tmp_path: Path) -> None:
    """A real one, that waits in its COPY for a lock of somebody else's."""
    store = state_at(postgres.dsn)
    store.prepare()
    with (
        opened(SqliteLedger(tmp_path / "production.db")) as first,
        opened(SqliteLedger(tmp_path / "test.db")) as second,
        psycopg.connect(postgres.dsn) as locking,
        ThreadPoolExecutor(1) as pool,
    ):
        run, other = started(first), take_over_again(second, 3)
        locking.execute("LOCK TABLE trident_staging_balances IN SHARE MODE")
        writer = writing(store).writer(BatchId(run.owner, run.epoch, 1, 1))
        task = pool.submit(lambda: list(writer(iter(counts(("ann", 1, 1)).rows.to_batches()))))
        until(lambda: waiting(postgres.dsn) == 1)
        end_older(store, other.epoch)
        assert waiting(postgres.dsn) == 1
        first.release(TOPOLOGY, run.epoch)
        end_older(store, taken_over(first, "its own successor").epoch)
        assert waiting(postgres.dsn) == 0
        with pytest.raises(RetryableError):
            task.result()
    store.close()


def test_a_ledger_of_the_version_before_keeps_its_line(postgres: Postgres) -> None:
    """A fence that an older version raised has no line yet: it is the first of those that follow."""
    with opened(PostgresLedger(postgres.dsn)) as ledger:
        run = started(ledger)
        ledger.release(TOPOLOGY, run.epoch)
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("UPDATE trident_fence SET token = %s", ("0" * 32,))
        second = ledger.acquire(TOPOLOGY, HOLDER).epoch
        ledger.release(TOPOLOGY, second)
        third = ledger.acquire(TOPOLOGY, HOLDER).epoch
        assert second.line == third.line == "0" * 32
        assert len({second.token, third.token, "0" * 32}) == 3


def test_an_older_run_of_the_same_process_takes_no_session_of_its_successor_for_its_own(postgres: Postgres) -> None:
    database = PostgresDatabase(postgres.dsn)
    older, newer = Epoch(1, "line.a"), Epoch(2, "line.b")

    def shown(epoch: Epoch | None) -> object:
        with database.transaction() as transaction:
            transaction.work_for(TOPOLOGY, epoch) if epoch else transaction.work_on(TOPOLOGY)
            return transaction.connection.exec_driver_sql("SHOW application_name").scalar_one()

    try:
        first = shown(older)
        later = shown(newer)
        assert first != later
        assert shown(older) == first
        assert shown(None) == later
    finally:
        database.close()
