"""Whatever a server, a role or an environment says: each session reads and writes the same way."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote_plus, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.clock import SystemClock
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError
from trident.base.timeouts import Timeouts
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.memory.database import MemoryDatabase
from trident.state.postgres.database import PostgresDatabase, connect
from trident.testing.postgres_proxy import PostgresProxy
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, writing

HOSTILE = {
    "timezone": "Europe/Berlin",
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-3",
    "bytea_output": "escape",
    "default_transaction_isolation": "serializable",
    "statement_timeout": "1ms",
    "idle_session_timeout": "200ms",
    "idle_in_transaction_session_timeout": "1ms",
    "lock_timeout": "1ms",
}
UNLIMITED = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
SUMMER_ENDS = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
"""Half past two in Berlin, for the first time of that night."""


class Died(BaseException):
    """The process is gone."""


@dataclass
class Night(SystemClock):
    """A clock in the night when summer time ends; each look is twenty minutes later."""

    moment: datetime = SUMMER_ENDS

    def now(self) -> datetime:
        self.moment += timedelta(minutes=20)
        return self.moment


@pytest.fixture
def hostile(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> str:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()
        assert name is not None
        for setting, value in HOSTILE.items():
            connection.execute(f"ALTER DATABASE {name[0]} SET {setting} = '{value}'")  # type: ignore[call-overload, unused-ignore]
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    return postgres.dsn


def test_each_session_reads_and_writes_the_same_way(hostile: str) -> None:
    database = PostgresDatabase(hostile)
    with database.transaction() as transaction:
        shown = {
            name: transaction.connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in (*HOSTILE, "client_encoding", "transaction_isolation")
        }
    database.close()
    assert shown == {
        "timezone": "UTC",
        "datestyle": "ISO, YMD",
        "intervalstyle": "postgres",
        "extra_float_digits": "1",
        "bytea_output": "hex",
        "default_transaction_isolation": "serializable",  # what counts is `transaction_isolation`
        "statement_timeout": "0",
        "idle_session_timeout": "0",
        "idle_in_transaction_session_timeout": "5s",
        "lock_timeout": "5s",
        "client_encoding": "UTF8",
        "transaction_isolation": "read committed",
    }


def test_a_run_goes_through_the_hour_that_comes_twice(hostile: str) -> None:
    """Plans made in it are read back, compared and followed, by this run and the next."""
    topic = Topic([[(f"größe-{n % 5}", n + 1) for n in range(40)]])
    job = make_job(topic, PostgresState("balances"))

    def die(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_PLAN and txid == 3:
            raise Died

    with armed(die), pytest.raises(Died):
        TopologyRun(job.plan(), PostgresLedger(hostile), OPTIONS, Night()).run()
    for _ in range(2):
        TopologyRun(job.plan(), PostgresLedger(hostile), OPTIONS, Night()).run()
    with psycopg.connect(hostile, client_encoding="UTF8", options=UNLIMITED) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert {row[0]: (row[1], row[2]) for row in rows} == topic.expected()


def test_bytes_that_nobody_acknowledges_end_the_wait_before_the_lease(hostile: str) -> None:
    with connect(hostile, 10.0) as connection, socket.socket(fileno=connection.pgconn.socket) as ours:
        limit = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        ours.detach()
    assert limit == 5000


def test_limits_that_a_role_has_for_its_other_sessions_end_nothing_of_ours(hostile: str) -> None:
    with connect(hostile, 10.0) as connection:
        time.sleep(0.3)
        connection.execute("SELECT pg_sleep(0.1)")


def set_for_all(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        name = connection.execute("SELECT current_database()").fetchone()
        assert name is not None
        connection.execute(f"ALTER DATABASE {name[0]} {statement}")  # type: ignore[call-overload, unused-ignore]


@pytest.mark.parametrize("apart", [False, True], ids=["beside the ledger", "apart from it"])
def test_a_read_only_phase_is_waited_for(postgres: Postgres, apart: bool) -> None:
    """Sessions that are made meanwhile are read-only for good; the run goes on with others."""
    topic = Topic([[(f"a{n % 5}", n + 1) for n in range(40)]])
    job = make_job(topic, PostgresState("balances", dsn=postgres.dsn if apart else None))
    phases: list[str] = []

    def read_only(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.BEFORE_PLAN and txid == 2 and not phases:
            phases.append("begun")
            set_for_all(postgres.dsn, "SET default_transaction_read_only = on")
            with psycopg.connect(postgres.dsn, autocommit=True) as connection:
                ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                connection.execute(ours + "AND datname = current_database()")
            threading.Timer(0.7, lambda: set_for_all(postgres.dsn, "RESET default_transaction_read_only")).start()

    with armed(read_only):
        TopologyRun(
            job.plan(), PostgresLedger(postgres.dsn), replace(OPTIONS, give_up_after=timedelta(seconds=20))
        ).run()
    with psycopg.connect(postgres.dsn) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert phases
    assert {row[0]: (row[1], row[2]) for row in rows} == topic.expected()


def test_a_pooler_is_refused_by_ledger_states_and_tasks(postgres: Postgres) -> None:
    with PostgresProxy(postgres.dsn, as_a_pooler=True) as proxy, PostgresProxy(postgres.dsn) as plain:
        connect(plain.through(postgres.dsn), 10.0).close()
        pooled = proxy.through(postgres.dsn)
        with pytest.raises(ConfigurationError, match="a pooler") as told:
            PostgresLedger(pooled).open(Timeouts(give_up_after=timedelta(seconds=3)))
        assert str(urlsplit(postgres.dsn).password) not in str(told.value)
        state = PostgresState("balances", dsn=postgres.dsn, tasks_dsn=pooled).open(
            COUNTS, PostgresDatabase(postgres.dsn)
        )
        state.prepare()
        with pytest.raises(ConfigurationError, match="a pooler"):
            list(writing(state).writer(batch_of(1))(iter(counts(("ann", 1, 1)).rows.to_batches())))
        state.close()


@pytest.mark.parametrize("encoding", ["WIN1251", "LATIN1", "SQL_ASCII"])
def test_a_database_that_keeps_texts_in_another_encoding_is_refused(postgres: Postgres, encoding: str) -> None:
    """By ledger, states and tasks, before anything is made there; one of UTF8 beside it is not."""
    name = f"enc_{encoding.lower()}_{postgres.dsn[-12:]}"
    dsn = urlunsplit(urlsplit(postgres.dsn)._replace(path=f"/{name}"))
    made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE_PROVIDER libc LOCALE 'C'"
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(made)  # type: ignore[call-overload, unused-ignore]
    topic = Topic([[("a", 1)]])
    refused = f"dbname={name} .*as {encoding}.*Nothing was written.*ENCODING 'UTF8'"
    try:
        with pytest.raises(ConfigurationError, match=refused) as told:
            PostgresLedger(dsn).open(Timeouts(give_up_after=timedelta(seconds=3)))
        assert str(urlsplit(dsn).password) not in str(told.value)
        job = make_job(topic, PostgresState("balances", dsn=dsn))
        with pytest.raises(ConfigurationError, match=refused):
            TopologyRun(job.plan(), PostgresLedger(postgres.dsn), OPTIONS).run()
        state = PostgresState("totals", dsn=postgres.dsn, tasks_dsn=dsn).open(COUNTS, PostgresDatabase(postgres.dsn))
        state.prepare()
        with pytest.raises(ConfigurationError, match=refused):
            list(writing(state).writer(batch_of(1))(iter(counts(("ann", 1, 1)).rows.to_batches())))
        state.close()
        with psycopg.connect(dsn) as connection:
            made = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            assert connection.execute(made).fetchone() == (0,)
        TopologyRun(make_job(topic, PostgresState("balances")).plan(), PostgresLedger(postgres.dsn), OPTIONS).run()
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload, unused-ignore]


def in_a_closed_schema(postgres: Postgres, table: str) -> None:
    """Begin a state of another topology, by another role, that shares the small tables but not the schema."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA finance")
    dsn = f"{postgres.dsn}?options={quote_plus('-csearch_path=trident')}"
    theirs = PostgresState("theirs", dsn=dsn, table=table).open(COUNTS, MemoryDatabase())
    for step in (theirs.prepare, lambda: theirs.raise_fence(OWNER, EPOCH), lambda: theirs.register(OWNER, EPOCH, 0)):
        step()
    theirs.close()


def test_the_least_rights_are_enough(postgres: Postgres) -> None:
    """A role of its own with CREATE and USAGE on one schema, which its search_path names; nothing of public's.

    Others keep tables in schemas that it may not use, and their positions beside its own.
    """
    name = f"least_{postgres.dsn[-12:]}"
    parts = urlsplit(postgres.dsn)
    dsn = urlunsplit(parts._replace(netloc=f"{name}:pw@{parts.netloc.rpartition('@')[2]}"))
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        database = connection.execute("SELECT current_database()").fetchone()
        assert database is not None
        for statement in (
            f"CREATE ROLE {name} LOGIN PASSWORD 'pw'",
            "REVOKE ALL ON SCHEMA public FROM PUBLIC",
            f"GRANT CONNECT, TEMPORARY ON DATABASE {database[0]} TO {name}",
            "CREATE SCHEMA trident",
            f"GRANT USAGE, CREATE ON SCHEMA trident TO {name}",
            f"ALTER ROLE {name} SET search_path = trident",
        ):
            connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
    try:
        topic = Topic([[(f"a{n % 5}", n + 1) for n in range(40)]])
        states = (PostgresState("balances"), PostgresState("outside", dsn=dsn))
        for _ in range(2):
            TopologyRun(make_job(topic, *states).plan(), PostgresLedger(dsn), OPTIONS).run()
            topic.partitions[0] += [("a9", 1)] * 12
        in_a_closed_schema(postgres, "finance.sums")
        TopologyRun(make_job(topic, *states).plan(), PostgresLedger(dsn), OPTIONS).run()
        with psycopg.connect(postgres.dsn) as connection:
            for table in ("balances", "outside"):
                rows = connection.execute(f"SELECT account, n, total FROM trident.{table}").fetchall()  # type: ignore[call-overload, unused-ignore]
                assert {row[0]: (row[1], row[2]) for row in rows} == topic.expected()
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {name}")  # type: ignore[call-overload, unused-ignore]
            connection.execute(f"DROP ROLE {name}")  # type: ignore[call-overload, unused-ignore]


def test_keys_are_told_apart_by_their_bytes(postgres: Postgres) -> None:
    """Text that a language sorts, or folds, as equal is different text."""
    name = f"coll_{postgres.dsn[-12:]}"
    dsn = urlunsplit(urlsplit(postgres.dsn)._replace(path=f"/{name}"))
    made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(made)  # type: ignore[call-overload, unused-ignore]
    try:
        keys = [
            "a",
            "A",
            "\u00e4",
            "a\u0308",
            "\u00c4",
            "ss",
            "\u00df",
            "i",
            "I",
            "\u0130",
            "\u0131",
            "",
            " ",
            "a ",
            "-a",
            "co-op",
            "coop",
        ]
        topic = Topic([[(key, number) for number, key in enumerate(keys * 3)]])
        states = (PostgresState("balances"), PostgresState("outside", dsn=dsn))
        TopologyRun(make_job(topic, *states).plan(), PostgresLedger(dsn), OPTIONS).run()
        with psycopg.connect(dsn) as connection:
            for table in ("balances", "outside"):
                rows = connection.execute(f"SELECT account, n, total FROM {table}").fetchall()  # type: ignore[call-overload, unused-ignore]
                assert {row[0]: (row[1], row[2]) for row in rows} == topic.expected()
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload, unused-ignore]


def test_a_service_keeps_the_options_of_its_own(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA app")
    lines = [f"{key}={value}" for key, value in conninfo_to_dict(postgres.dsn).items()]
    (tmp_path / "services").write_text("\n".join(["[prod]", *lines, "options=-c search_path=app", ""]))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    for dsn in ("service=prod", ""):
        monkeypatch.setenv("PGSERVICE", "prod")
        with connect(dsn, 20.0) as session:
            assert session.execute("SELECT current_schema(), current_setting('TimeZone')").fetchone() == ("app", "UTC")
