"""What a take-over ends, and what it never does: sessions of older epochs of its own topology, and nobody else's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from integration_tests.fix_postgres import Postgres
from tests.ledger.making import started, taken_over
from trident.base.errors import RetryableError
from trident.base.identity import Epoch
from trident.base.timeouts import Timeouts
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.databases.base import Work
from trident.state.postgres.database import PostgresDatabase, connect
from trident.state.postgres.sessions import end_stuck, is_older, mark_of
from trident.testing.state_harness import COUNTS, EPOCH, NEWER, OWNER, batch_of, counts

LEASE = timedelta(seconds=1)


@contextmanager
def frozen_copy(dsn: str, table: str, work: Work | None, *first: str) -> Iterator[psycopg.Connection]:
    """A session that has begun a COPY and waits for its client for ever, as one does whose process was stopped."""
    with ExitStack() as stack:
        connection = connect(dsn, LEASE.total_seconds(), work)
        stack.callback(connection.close)
        for statement in first:
            connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
        connection.execute("CREATE TEMPORARY TABLE IF NOT EXISTS frozen (n int)")
        copy = connection.cursor().copy(f"COPY {table} FROM STDIN")  # type: ignore[call-overload, unused-ignore]
        copy.__enter__()
        yield connection


def is_alive(dsn: str, connection: psycopg.Connection) -> bool:
    with psycopg.connect(dsn) as other:
        pid = connection.info.backend_pid
        return other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is not None


def login(dsn: str, role: str, password: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{role}:{password}@{parts.netloc.rpartition('@')[2]}"))


@pytest.fixture
def roles(postgres: Postgres) -> Iterator[tuple[str, str]]:
    """Two roles that may do everything in the database, but nothing to each other's sessions."""
    names = (f"one_{postgres.dsn[-12:]}", f"two_{postgres.dsn[-12:]}")
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for name in names:
            role = sql.Identifier(name)
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'pw'").format(role))
            connection.execute(sql.SQL("GRANT pg_read_all_data, pg_write_all_data TO {}").format(role))
    yield names
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for name in names:
            connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def test_an_owner_that_froze_in_a_copy_with_the_position_locked_is_ended(postgres: Postgres) -> None:
    """In the state's own database: its successor reads the position at once, and goes on."""
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn), Timeouts(LEASE))
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    old = Work(OWNER.topology, EPOCH)
    with frozen_copy(postgres.dsn, "frozen", old, "UPDATE trident_applied SET txid = 1") as connection:
        ending = store.capabilities.ending
        assert ending is not None
        ending.end_older(OWNER.topology, NEWER)
        assert not is_alive(postgres.dsn, connection)
        store.raise_fence(OWNER, NEWER)
        position = store.position(OWNER.topology)
        assert position is not None
        assert position.txid == 0
    store.apply(batch_of(1, epoch=NEWER), store.stage(batch_of(1, epoch=NEWER), counts(("ann", 1, 10))))
    store.close()


def test_one_that_freezes_after_the_take_over_began_is_ended_when_a_lock_is_not_given(postgres: Postgres) -> None:
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn), Timeouts(LEASE))
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    store.raise_fence(OWNER, NEWER)
    old = Work(OWNER.topology, EPOCH)
    with frozen_copy(postgres.dsn, "frozen", old, "UPDATE trident_applied SET txid = 1") as connection:
        with pytest.raises(RetryableError, match="lock timeout"):
            store.position(OWNER.topology)
        assert not is_alive(postgres.dsn, connection)
        assert store.position(OWNER.topology) is not None
    store.close()


def test_a_frozen_owner_in_the_ledgers_database_is_ended_when_its_lease_is_over(postgres: Postgres) -> None:
    ledger = PostgresLedger(postgres.dsn)
    ledger.open(Timeouts(LEASE))
    old = started(ledger)
    other = PostgresLedger(postgres.dsn)
    other.open(Timeouts(LEASE))
    other.release("payments", old.epoch)
    locks = ("SELECT * FROM trident_fence FOR SHARE", "SELECT * FROM trident_progress FOR UPDATE")
    with frozen_copy(postgres.dsn, "frozen", Work("payments", old.epoch), *locks) as connection:
        new = taken_over(other, "two")
        assert new.epoch.number == old.epoch.number + 1
        assert not is_alive(postgres.dsn, connection)
    ledger.close()
    other.close()


def test_a_task_that_froze_in_its_copy_keeps_no_table_from_being_made_anew(postgres: Postgres) -> None:
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn), Timeouts(LEASE))
    store.prepare()
    staging = "trident_staging_balances"
    with frozen_copy(postgres.dsn, staging, Work(OWNER.topology, EPOCH)) as connection:
        assert store.capabilities.ending is not None
        store.capabilities.ending.end_older(OWNER.topology, NEWER)
        assert not is_alive(postgres.dsn, connection)
        with psycopg.connect(postgres.dsn, autocommit=True) as other:
            other.execute("SET lock_timeout = '1s'")
            other.execute(f"DROP TABLE {staging}")  # type: ignore[call-overload, unused-ignore]
        store.prepare()
    store.close()


@pytest.mark.parametrize(
    "stranger",
    [
        None,
        Work(OWNER.topology, NEWER),
        Work(OWNER.topology, NEWER.next("e")),
        Work("orders of another", EPOCH),
        Work(OWNER.topology, Epoch(EPOCH.number, "another line.c")),
        "trident 1 of mine",
    ],
    ids=["a person", "itself", "a successor", "another topology", "another ledger", "one that is named alike"],
)
def test_a_session_of_anybody_else_is_never_ended(postgres: Postgres, stranger: Work | str | None) -> None:
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn), Timeouts(LEASE))
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    first = [f"SET application_name = '{stranger}'"] if isinstance(stranger, str) else []
    work = stranger if isinstance(stranger, Work) else None
    with frozen_copy(postgres.dsn, "frozen", work, *first, "UPDATE trident_applied SET txid = txid") as connection:
        assert store.capabilities.ending is not None
        store.capabilities.ending.end_older(OWNER.topology, NEWER)
        store.raise_fence(OWNER, NEWER)
        with pytest.raises(RetryableError, match=rf"all that time: backend {connection.info.backend_pid} of role"):
            store.position(OWNER.topology)
        assert is_alive(postgres.dsn, connection)
    store.close()


def test_a_session_in_another_database_is_never_ended(postgres: Postgres) -> None:
    elsewhere = postgres.new_dsn()
    database = PostgresDatabase(postgres.dsn, lease=LEASE)
    with frozen_copy(elsewhere, "frozen", Work("orders", Epoch(1, "t"))) as connection:
        database.end_older("orders", Epoch(5, "t"))
        assert is_alive(elsewhere, connection)
    database.close()


def test_one_that_may_not_be_ended_is_named_with_what_to_grant(postgres: Postgres, roles: tuple[str, str]) -> None:
    first, second = (login(postgres.dsn, role, "pw") for role in roles)
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn))
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    store.close()
    late = PostgresState("balances", dsn=second).open(COUNTS, PostgresDatabase(second), Timeouts(LEASE))
    old = Work(OWNER.topology, EPOCH)
    with frozen_copy(first, "frozen", old, "UPDATE trident_applied SET txid = 1") as connection:
        pid = connection.info.backend_pid
        late.raise_fence(OWNER, NEWER)
        with pytest.raises(RetryableError) as caught:
            late.position(OWNER.topology)
        text = str(caught.value)
        assert f"backend {pid} of role '{roles[0]}'" in text
        assert f'GRANT pg_signal_backend TO "{roles[1]}"' in text
        assert f"SELECT pg_terminate_backend({pid})" in text
        with psycopg.connect(postgres.dsn, autocommit=True) as other:
            other.execute(text[text.index("GRANT pg_signal_backend") : text.index(" (or GRANT")])  # type: ignore[call-overload, unused-ignore]
        with pytest.raises(RetryableError, match="lock timeout"):
            late.position(OWNER.topology)
        position = late.position(OWNER.topology)
        assert position is not None
        assert not is_alive(postgres.dsn, connection)
    late.close()


def test_one_that_froze_while_it_made_tables_is_ended(postgres: Postgres) -> None:
    """In the middle of a message, when the server waits for the rest of it without any limit."""
    database = PostgresDatabase(postgres.dsn, lease=LEASE)
    with making_tables(postgres.dsn) as connection:
        threading.Event().wait(LEASE.total_seconds() / 2)
        ledger = PostgresLedger(postgres.dsn)
        ledger.open(replace(Timeouts(LEASE), give_up_after=timedelta(seconds=20)))
        assert not is_alive(postgres.dsn, connection)
        ledger.close()
    database.close()


def making_tables(dsn: str) -> AbstractContextManager[psycopg.Connection]:
    lock = "SELECT set_config('application_name', 'trident making tables', true), pg_advisory_xact_lock(%s)"
    return frozen_copy(dsn, "frozen", None, lock % 0x7472_6964_656E)


def test_a_take_over_does_not_wait_for_one_that_froze_while_it_made_tables(postgres: Postgres) -> None:
    """It would cost half a lease more, which a take-over within two may not have."""
    database = PostgresDatabase(postgres.dsn, lease=LEASE)
    with making_tables(postgres.dsn) as connection:
        threading.Event().wait(LEASE.total_seconds() / 2)
        database.end_older(OWNER.topology, NEWER)
        assert not is_alive(postgres.dsn, connection)
    database.close()


def test_a_look_at_a_state_apart_does_not_wait_for_it_either(postgres: Postgres) -> None:
    store = PostgresState("balances", dsn=postgres.dsn).open(COUNTS, PostgresDatabase(postgres.dsn), Timeouts(LEASE))
    with making_tables(postgres.dsn) as connection:
        threading.Event().wait(LEASE.total_seconds() / 2)
        assert store.look(OWNER.topology) is None
        assert not is_alive(postgres.dsn, connection)
    store.close()


TAKER = Work(OWNER.topology, EPOCH, "server/database/schema/trident_fence")


@pytest.mark.parametrize(
    ("known", "seconds", "is_ended"),
    [
        (TAKER, 0.2, True),
        (TAKER, 60.0, False),
        (replace(TAKER, raises="server/database/another schema/trident_fence"), 0.2, False),
        (replace(TAKER, topology="orders of another"), 0.2, False),
        (None, 0.2, False),
    ],
    ids=["a dark one", "one that may go on", "another ledger's", "another topology's", "whose nobody knows"],
)
def test_only_who_takes_the_same_lease_and_waits_long_is_ended(
    postgres: Postgres, known: Work | None, seconds: float, is_ended: bool
) -> None:
    marks = {mark_of(known): known.topology} if known else {}
    with frozen_copy(postgres.dsn, "frozen", TAKER) as connection, psycopg.connect(postgres.dsn) as other:
        other.autocommit = True
        threading.Event().wait(0.3)
        assert end_stuck(other, marks, seconds, 5.0) == []
        assert is_alive(postgres.dsn, connection) is not is_ended


def test_a_taker_that_may_not_be_seen_or_ended_is_named_with_what_to_grant(
    postgres: Postgres, roles: tuple[str, str]
) -> None:
    first, second = (login(postgres.dsn, role, "pw") for role in roles)
    marks = {mark_of(TAKER): TAKER.topology}
    with (
        frozen_copy(first, "frozen", TAKER) as connection,
        psycopg.connect(second, autocommit=True) as late,
        psycopg.connect(postgres.dsn, autocommit=True) as person,
    ):
        pid = connection.info.backend_pid
        threading.Event().wait(0.3)
        by_hand = f"SELECT pg_terminate_backend({pid})"
        (text,) = end_stuck(late, marks, 0.2, 5.0)
        assert f"backend {pid} of role '{roles[0]}'" in text
        assert by_hand in text
        person.execute(text[text.index("GRANT ") : text.index("). If its client")])  # type: ignore[call-overload, unused-ignore]
        assert end_stuck(late, marks, 0.2, 5.0) == []
        assert not is_alive(postgres.dsn, connection)


def test_a_taker_that_is_seen_and_may_not_be_ended_is_named_with_what_to_grant(
    postgres: Postgres, roles: tuple[str, str]
) -> None:
    first, second = (login(postgres.dsn, role, "pw") for role in roles)
    marks = {mark_of(TAKER): TAKER.topology}
    with (
        frozen_copy(first, "frozen", TAKER) as connection,
        psycopg.connect(second, autocommit=True) as late,
        psycopg.connect(postgres.dsn, autocommit=True) as person,
    ):
        person.execute(f'GRANT pg_read_all_stats TO "{roles[1]}"')  # type: ignore[call-overload, unused-ignore]
        threading.Event().wait(0.3)
        (text,) = end_stuck(late, marks, 0.2, 5.0)
        grant = text[text.index("GRANT pg_signal_backend") : text.index(" (or GRANT")]
        assert is_alive(postgres.dsn, connection)
        person.execute(grant)  # type: ignore[call-overload, unused-ignore]
        assert end_stuck(late, marks, 0.2, 5.0) == []
        assert not is_alive(postgres.dsn, connection)


def test_a_superusers_taker_is_named_without_a_grant_that_leads_nowhere(
    postgres: Postgres, roles: tuple[str, str]
) -> None:
    second = login(postgres.dsn, roles[1], "pw")
    marks = {mark_of(TAKER): TAKER.topology}
    with (
        frozen_copy(postgres.dsn, "frozen", TAKER) as connection,
        psycopg.connect(second, autocommit=True) as late,
        psycopg.connect(postgres.dsn, autocommit=True) as person,
    ):
        grants = f'GRANT pg_read_all_stats, pg_signal_backend TO "{roles[1]}"'
        person.execute(grants)  # type: ignore[call-overload, unused-ignore]
        threading.Event().wait(0.3)
        (text,) = end_stuck(late, marks, 0.2, 5.0)
        assert "as a superuser, since its role is one" in text
        assert "GRANT" not in text
        person.execute(text[text.index("SELECT ") : text.index(", and let")])  # type: ignore[call-overload, unused-ignore]
        assert end_stuck(late, marks, 0.2, 5.0) == []
        assert not is_alive(postgres.dsn, connection)


def test_where_the_server_does_not_say_what_sessions_do_a_taker_is_named(postgres: Postgres) -> None:
    marks = {mark_of(TAKER): TAKER.topology}
    untracked = f"{postgres.dsn}?options=-c%20track_activities%3Doff"
    with (
        frozen_copy(untracked, "frozen", TAKER) as connection,
        psycopg.connect(postgres.dsn, autocommit=True) as late,
    ):
        threading.Event().wait(0.3)
        (text,) = end_stuck(late, marks, 0.2, 5.0)
        assert "track_activities is off" in text
        assert f"SELECT pg_terminate_backend({connection.info.backend_pid})" in text
        assert is_alive(postgres.dsn, connection)


def test_whatever_is_left_is_named_with_how_to_end_it(postgres: Postgres) -> None:
    """A session without a mark, such as a person's: only a person can know whether it is still needed."""
    database = PostgresDatabase(postgres.dsn, lease=LEASE)
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE mine (n int)")
    with frozen_copy(postgres.dsn, "frozen", None, "LOCK TABLE mine") as connection:
        hand = rf"if its client is gone, end it by hand: SELECT pg_terminate_backend\({connection.info.backend_pid}\)"
        with pytest.raises(RetryableError, match=hand), database.transaction() as transaction:
            transaction.connection.exec_driver_sql("INSERT INTO mine VALUES (1)")
        assert is_alive(postgres.dsn, connection)
    database.close()


def test_who_has_no_epoch_yet_is_older_than_nobody() -> None:
    name = mark_of(TAKER)
    assert not is_older(name, Work(TAKER.topology, EPOCH.next("u")))
    assert len(mark_of(replace(TAKER, topology="x" * 500, raises="y" * 500))) < 64
    assert name == mark_of(replace(TAKER, epoch=Epoch(77, "another line")))


def test_a_mark_is_read_as_it_was_written() -> None:
    old, new = Work("orders", Epoch(9, "t")), Work("orders", Epoch(9, "t").next("u"))
    assert is_older(mark_of(old), new)
    assert not is_older(mark_of(new), new)
    assert not is_older(mark_of(new), old)
    assert not is_older(mark_of(old), Work("other", Epoch(10, "t.u")))
    assert not is_older(mark_of(old), Work("orders", Epoch(10, "u")))
    for name in ("trident", "trident 1", f"{mark_of(old)} ", mark_of(old).upper(), "", "trident  ", "trident -1 x"):
        assert not is_older(name, new)
    assert len(mark_of(Work("x" * 500, Epoch(2**62, "y" * 500)))) < 64
