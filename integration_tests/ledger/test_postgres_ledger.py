"""The ledger in a real PostgreSQL keeps the contract, between sessions that race and die."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text

from integration_tests.fix_postgres import Postgres
from tests.ledger.contract import LedgerContract
from tests.ledger.late_beats import (
    check_that_a_beat_at_the_last_moment_keeps_it,
    check_that_who_beats_keeps_a_lease_that_has_run_out,
)
from tests.ledger.making import LONG, Run, commit_of, pin_of, started, successor, taken_over
from trident.base.errors import FatalError, FencedError, LeaseHeldError, MismatchError, RetryableError, TridentError
from trident.base.identity import Epoch
from trident.base.timeouts import Timeouts
from trident.coordinators.holding.keeping import HearsOfLease, Heartbeat
from trident.coordinators.ledger import Ledger, PostgresLedger
from trident.coordinators.ledger.sql.postgres import PostgresPresence, _Held, _key
from trident.coordinators.ledger.sql.presence import PresenceMark
from trident.coordinators.ledger.sql.tables import METADATA, SCHEMA
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Lease
from trident.state.databases.base import SqlTransaction
from trident.testing.postgres_proxy import PostgresProxy

OpenLedger = Callable[..., PostgresLedger]


@pytest.fixture
def open_ledger(postgres: Postgres) -> Iterator[OpenLedger]:
    opened: list[PostgresLedger] = []

    def make(lease_seconds: float = 30.0) -> PostgresLedger:
        ledger = PostgresLedger(postgres.dsn, pool_size=2)
        ledger.open(Timeouts(timedelta(seconds=lease_seconds)))
        opened.append(ledger)
        return ledger

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture(scope="module")
def shared(postgres_server: str) -> Iterator[PostgresLedger]:
    database = Postgres(postgres_server)
    ledger = PostgresLedger(database.dsn, pool_size=2)
    ledger.open()
    yield ledger
    ledger.close()
    database.drop()


class TestPostgresLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, shared: PostgresLedger) -> Iterator[PostgresLedger]:
        """Give the same tables to each test, emptied: making a database takes longer than most tests."""
        names = ", ".join(table.name for table in METADATA.sorted_tables if table is not SCHEMA)
        with shared.database.transaction() as transaction:
            transaction.connection.execute(text(f"TRUNCATE {names}"))
            transaction.connection.execute(text("DROP TABLE IF EXISTS mark"))
        yield shared
        shared.close()  # each epoch that a test raised holds a connection


def apply_one(transaction: object) -> None:
    """Move the state's position from 0 to 1, or find it moved."""
    assert isinstance(transaction, SqlTransaction)
    connection = transaction.connection
    if connection.execute(text("UPDATE applied SET txid = 1 WHERE txid = 0")).rowcount == 1:
        connection.execute(text("UPDATE total SET value = value + 1"))


def make_state(ledger: PostgresLedger) -> None:
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("CREATE TABLE applied AS SELECT 0 AS txid"))
        transaction.connection.execute(text("CREATE TABLE total AS SELECT 0 AS value"))


def total(ledger: PostgresLedger) -> int:
    with ledger.database.transaction() as transaction:
        value: int = transaction.connection.execute(text("SELECT value FROM total")).scalar_one()
        return value


def test_a_heartbeat_waits_for_nothing_that_is_at_work(open_ledger: OpenLedger) -> None:
    """As many merges at once as there are connections, each longer than the lease: their owners are alive."""
    ledger = open_ledger()
    run = started(ledger)
    with ledger.database.transaction(), ledger.database.transaction():
        for _ in range(2):
            ledger.renew("payments", run.epoch)


def test_a_take_over_during_the_applies_refuses_the_commit(open_ledger: OpenLedger) -> None:
    run = started(open_ledger())
    make_state(open_ledger())
    plan = run.plan()

    def be_taken_over(_: object) -> None:
        other = open_ledger()
        other.release("payments", run.epoch)
        taken_over(other, "two")

    with pytest.raises(RetryableError, match="administrator command"):  # its session was ended with the take-over
        run.ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), (), [apply_one, be_taken_over])
    with pytest.raises(FencedError):
        run.ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), (), [apply_one])
    other = open_ledger()
    assert total(other) == 0


def test_a_repeat_waits_for_the_lost_call_and_changes_nothing(open_ledger: OpenLedger) -> None:
    run = started(open_ledger())
    ledger = open_ledger()
    make_state(ledger)
    plan = run.plan()
    applied, repeating = threading.Event(), threading.Event()

    def slow(transaction: object) -> None:
        apply_one(transaction)
        applied.set()
        assert repeating.wait(10)

    def repeated(transaction: object) -> None:
        repeating.set()
        apply_one(transaction)

    def call(step: Callable[[object], None]) -> None:
        run.ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), (), [step])

    with ThreadPoolExecutor(2) as pool:
        lost = pool.submit(call, slow)
        assert applied.wait(10)
        again = pool.submit(call, repeated)
        lost.result(20)
        again.result(20)
    assert (total(ledger), run.snapshot().done) == (1, 1)


def test_a_pin_and_a_drop_that_race_leave_one_of_them(open_ledger: OpenLedger) -> None:
    run = started(open_ledger())
    for _ in range(10):
        plan = run.plan()
        start = threading.Barrier(2)

        def drop(txid: int = plan.txid, start: threading.Barrier = start) -> bool:
            start.wait()
            return done(lambda: run.ledger.plan(run.owner, run.epoch, None, drop_from=txid))

        def pin(plan: Plan = plan, start: threading.Barrier = start) -> bool:
            start.wait()
            return done(lambda: run.pin(plan))

        with ThreadPoolExecutor(2) as pool:
            dropped, pinned = (future.result(20) for future in (pool.submit(drop), pool.submit(pin)))
        assert dropped != pinned
        found = run.snapshot()
        assert (found.pin is not None, found.live == ()) == (pinned, dropped)
        if dropped:
            again = replace(plan, attempt=run.attempts + 1)
            run.ledger.plan(run.owner, run.epoch, again)
            run.follow(again)
            run.pin(again)
            plan = again
        run.done(plan)


def done(call: Callable[[], object]) -> bool:
    try:
        call()
    except MismatchError:
        return False
    return True


@pytest.mark.parametrize(
    ("meanwhile", "error"),
    [
        ("UPDATE trident_fence SET number = number + 1", FencedError),
        ("UPDATE trident_fence SET token = 'other'", FencedError),
        ("UPDATE trident_progress SET reset_to = 'next'", MismatchError),
        ("UPDATE trident_progress SET last_attempt = 1", MismatchError),
        ("UPDATE trident_fence SET holder = holder; UPDATE trident_progress SET last_attempt = 1", MismatchError),
    ],
)
def test_a_write_that_waited_for_a_lock_sees_what_was_changed_meanwhile(
    open_ledger: OpenLedger, postgres: Postgres, meanwhile: str, error: type[Exception]
) -> None:
    run = started(open_ledger())
    with psycopg.connect(postgres.dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute(meanwhile)
        writing = pool.submit(run.plan)
        wait_until_blocked(postgres.dsn)
        other.commit()
        with pytest.raises(error):
            writing.result(20)
    assert run.last is None


def wait_until_blocked(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(500):
            waiting = connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()
            if waiting is not None:
                return
            threading.Event().wait(0.01)
    raise AssertionError("nothing waits for a lock")


def test_coordinators_that_come_at_once_get_one_lease(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(4)]
    start = threading.Barrier(4)

    def take(ledger: PostgresLedger) -> int | TridentError:
        start.wait()
        try:
            return ledger.acquire("payments", Lease("someone", LONG)).epoch.number
        except (LeaseHeldError, RetryableError) as error:
            return error

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(take, ledgers))
    assert [answer for answer in answers if isinstance(answer, int)] == [1]


def test_ledgers_that_open_at_once_make_the_tables_once(postgres: Postgres) -> None:
    ledgers = [PostgresLedger(postgres.dsn, pool_size=1) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda ledger: ledger.open(), ledgers))
    with ledgers[0].database.transaction() as transaction:
        versions = transaction.connection.execute(text("SELECT version FROM trident_schema")).scalars().all()
    assert versions == list(range(1, len(LEDGER_TABLES.steps) + 1))
    for ledger in ledgers:
        ledger.close()


def test_a_holder_whose_session_ended_is_noticed_at_once(open_ledger: OpenLedger) -> None:
    first = open_ledger()
    first.acquire("payments", Lease("one", LONG))
    second = open_ledger()
    with pytest.raises(LeaseHeldError):
        second.acquire("payments", Lease("two", LONG))
    first.close()
    assert wait_for_lease(second, "two") == "one"
    with pytest.raises(LeaseHeldError, match="held by two"):
        open_ledger().acquire("payments", Lease("three", LONG))


def wait_for_lease(ledger: PostgresLedger, holder: str) -> str | None:
    """Take the lease as soon as the server has noticed that the other session is gone."""
    for _ in range(100):
        try:
            return ledger.acquire("payments", Lease(holder, LONG)).previous_holder
        except LeaseHeldError:
            threading.Event().wait(0.05)
    raise AssertionError("the lease never became free")


def test_a_session_that_was_cut_is_taken_up_by_the_next_heartbeat(open_ledger: OpenLedger, postgres: Postgres) -> None:
    first = open_ledger()
    epoch = first.acquire("payments", Lease("one", LONG)).epoch
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(session_pid::int, 5000) FROM trident_fence")
    kept(first, epoch)
    with pytest.raises(LeaseHeldError):
        open_ledger().acquire("payments", Lease("two", LONG))


@pytest.mark.parametrize("whose", ["locktype = 'advisory'", "true"])
def test_an_owner_that_lost_only_its_sessions_keeps_the_lease(
    open_ledger: OpenLedger, postgres: Postgres, whose: str
) -> None:
    """A pooler's time limit, a server that is started anew: whoever waits lets the owner show that it lives."""
    owner, second = open_ledger(), open_ledger()
    epoch = owner.acquire("payments", Lease("one", LONG)).epoch
    fenced: list[FencedError] = []
    with Heartbeat(owner, "payments", epoch, LONG, HearsOfLease(fenced.append)):
        for _ in range(3):
            end_sessions(postgres, whose)
            with pytest.raises(LeaseHeldError, match="held by one"):
                wait_until_answered(second)
    assert not fenced
    owner.renew("payments", epoch)


def test_an_owner_whose_lease_has_run_out_while_the_server_stood_still_keeps_it(open_ledger: OpenLedger) -> None:
    check_that_who_beats_keeps_a_lease_that_has_run_out(open_ledger(), open_ledger())


def test_an_owner_that_beats_while_another_one_is_about_to_replace_it_is_kept(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_a_beat_at_the_last_moment_keeps_it(open_ledger(), open_ledger(), monkeypatch)


def test_a_beat_whose_commit_takes_long_does_not_delay_the_presence(
    open_ledger: OpenLedger, postgres: Postgres
) -> None:
    owner, second = open_ledger(), open_ledger()
    epoch = owner.acquire("payments", Lease("one", LONG)).epoch
    end_sessions(postgres, "l.pid IS NOT NULL")
    mark = PresenceMark()
    with psycopg.connect(postgres.dsn) as slow, ThreadPoolExecutor(1) as threads:
        slow.execute("SELECT * FROM trident_heartbeat FOR UPDATE")
        beat = threads.submit(owner.renew, "payments", epoch)
        while second._presence.is_gone("payments", epoch.token, mark):
            assert not beat.done(), "it waits for the row"
        slow.rollback()
        beat.result(30)


def wait_until_answered(ledger: PostgresLedger) -> None:
    for _ in range(20):
        try:
            ledger.acquire("payments", Lease("two", LONG))
        except RetryableError:  # its own session was ended too
            continue
        return
    raise AssertionError("the server never answered")


def kept(ledger: PostgresLedger, epoch: Epoch) -> None:
    """Renew the lease, and wait for what looks after the presence meanwhile."""
    ledger.renew("payments", epoch)
    for thread in threading.enumerate():
        if thread.name == "trident-presence":
            thread.join(30)


def test_a_presence_that_can_not_be_taken_up_is_tried_again_with_each_heartbeat(
    open_ledger: OpenLedger, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server had no room for one more connection just then, or still knew the session before."""
    ledger = open_ledger()
    run = started(ledger)
    held = held_by(ledger, run.epoch)

    def full() -> psycopg.Connection:
        raise RetryableError("sorry, too many clients already")

    end_presence(postgres)
    with monkeypatch.context() as patched:
        patched.setattr(held, "_connect", full)
        for _ in range(2):
            kept(ledger, run.epoch)
    assert caplog.text.count("was not renewed: sorry, too many clients") == 2
    with monkeypatch.context() as patched:
        patched.setattr("trident.coordinators.ledger.sql.postgres._ask", lambda *_: full())
        kept(ledger, run.epoch)
    with psycopg.connect(postgres.dsn, autocommit=True) as other:
        key = _key("payments", run.epoch.token)
        other.execute("SELECT pg_advisory_lock(%s)", (key,))
        kept(ledger, run.epoch)
        other.execute("SELECT pg_advisory_unlock(%s)", (key,))  # a session that is closed may have it a while longer
    kept(ledger, run.epoch)
    with pytest.raises(LeaseHeldError):
        open_ledger().acquire("payments", Lease("another", timedelta(seconds=30)))


def test_a_heartbeat_without_a_thread_left_for_the_presence_goes_on(
    postgres: Postgres, open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger()
    run = started(ledger)

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    end_presence(postgres)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        for _ in range(2):
            ledger.renew("payments", run.epoch)
    kept(ledger, run.epoch)
    assert presence_port(postgres), "it is there again"


def held_by(ledger: PostgresLedger, epoch: Epoch) -> _Held:
    presence = ledger._presence
    assert isinstance(presence, PostgresPresence)
    return presence._held[_key("payments", epoch.token)]


def test_a_presence_that_is_silent_keeps_no_heartbeat_waiting(postgres: Postgres, open_ledger: OpenLedger) -> None:
    """It is a hint for speed only: the lease goes on, and ending it does not wait for the hint either."""
    lease = timedelta(seconds=20)
    with PostgresProxy(postgres.dsn) as proxy:
        ledger = PostgresLedger(proxy.through(postgres.dsn))
        ledger.open(Timeouts(lease=lease))
        epoch = ledger.acquire("payments", Lease("one", lease)).epoch
        ledger.renew("payments", epoch)
        proxy.go_dark(presence_port(postgres))
        began = time.monotonic()
        for _ in range(3):
            ledger.renew("payments", epoch)
        with pytest.raises(LeaseHeldError):
            open_ledger().acquire("payments", Lease("two", lease))
        ledger.close()
        assert time.monotonic() - began < lease.total_seconds() / 2


def presence_port(postgres: Postgres) -> int:
    with psycopg.connect(postgres.dsn) as connection:
        row = connection.execute(
            "SELECT client_port FROM pg_stat_activity JOIN pg_locks USING (pid) "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_presence_that_could_not_be_begun_leaves_no_connection(
    postgres: Postgres, open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger()
    ledger.acquire("payments", Lease("one", LONG))
    before = sessions(postgres)

    def fails(*_: object) -> tuple[bool, int]:
        raise RetryableError("cancelled")

    monkeypatch.setattr("trident.coordinators.ledger.sql.postgres._ask", fails)
    for _ in range(3):
        with pytest.raises(RetryableError, match="cancelled"):
            ledger.acquire("others", Lease("one", LONG))
    for _ in range(100):
        if sessions(postgres) == before:
            return
        threading.Event().wait(0.02)
    assert sessions(postgres) == before


def sessions(postgres: Postgres) -> int:
    with psycopg.connect(postgres.dsn) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return int(row[0])


def end_presence(postgres: Postgres) -> None:
    end_sessions(postgres, "locktype = 'advisory'")


def end_sessions(postgres: Postgres, where: str) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(a.pid, 5000) FROM pg_stat_activity a LEFT JOIN pg_locks l "
            "ON l.pid = a.pid AND l.locktype = 'advisory' "
            f"WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND {where}"
        )


def test_an_owner_that_stopped_in_a_transaction_blocks_its_successor_for_less_than_a_lease(
    open_ledger: OpenLedger,
) -> None:
    old = started(open_ledger())
    plan = old.plan()
    new: list[Run] = []

    def stop_in_a_transaction(ledger: PostgresLedger) -> None:
        with ledger.database.transaction() as transaction:
            transaction.connection.execute(text("SELECT * FROM trident_fence FOR SHARE"))
            transaction.connection.execute(text("SELECT * FROM trident_progress FOR UPDATE"))
            other = open_ledger(lease_seconds=60.0)
            other.release("payments", old.epoch)
            new.append(taken_over(other, "two"))
            transaction.connection.execute(text("SELECT 1"))

    with pytest.raises(RetryableError):
        stop_in_a_transaction(open_ledger(lease_seconds=1.0))
    assert new[0].epoch.number == 2
    with pytest.raises(FencedError):
        old.pin(plan)


def test_a_newer_schema_is_refused(open_ledger: OpenLedger, postgres: Postgres) -> None:
    ledger = open_ledger()
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("INSERT INTO trident_schema VALUES (99, now())"))
    with pytest.raises(MismatchError, match="version 99"):
        PostgresLedger(postgres.dsn).open()


def test_a_refused_record_is_not_quoted(open_ledger: OpenLedger) -> None:
    run = started(open_ledger())
    successor(run)
    with pytest.raises(TridentError) as caught:
        run.plan()
    assert run.epoch.token not in str(caught.value)


def test_an_unreachable_server_is_given_up_with_its_address_and_no_password() -> None:
    ledger: Ledger = PostgresLedger("postgresql://user:hunter2@127.0.0.1:1/bank")
    assert repr(ledger) == "PostgresLedger(host=127.0.0.1 port=1 dbname=bank user=user)"
    with pytest.raises(FatalError, match=r"host=127\.0\.0\.1 port=1") as caught:
        ledger.open(Timeouts(give_up_after=timedelta(seconds=0.3)))
    assert "hunter2" not in str(caught.value)
    ledger.close()


def test_a_run_that_ends_leaves_the_leases_of_others_that_share_the_object(postgres: Postgres) -> None:
    ledger, other = PostgresLedger(postgres.dsn), PostgresLedger(postgres.dsn)
    for opened in (ledger, ledger, other):  # two runs, and another process
        opened.open()
    lease = Lease("a run", timedelta(seconds=30))
    for topology in ("first", "second"):
        ledger.acquire(topology, lease)
    ledger.close()  # the first run ends without having given back: its session is what shows the other's lease
    with pytest.raises(LeaseHeldError):
        other.acquire("second", lease)
    ledger.close()
    other.acquire("second", lease)
    other.close()
