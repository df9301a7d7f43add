"""One connection of several gets no answers, by something in between that goes on to acknowledge what is sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.fix_servers import or_skip
from integration_tests.frozen.playing import LEASE, OPTIONS
from tests.coordinators.fakes import Topic, make_job
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import TridentError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.options import Until
from trident.local.postgres import LocalPostgres
from trident.state import PostgresState
from trident.state.postgres.database import connect
from trident.state.postgres.patience import AnswerLostError
from trident.testing.postgres_proxy import Direction, PostgresProxy

SECONDS = LEASE.total_seconds()


def port_of(dsn: str, pid: int) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT client_port FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT repeat('x', 100000) FROM generate_series(1, 1000)"])
@pytest.mark.drawn(one_in=2)
def test_an_answer_that_is_kept_back_is_given_up(postgres: Postgres, proxy: PostgresProxy, statement: str) -> None:
    connection = connect(proxy.through(postgres.dsn), SECONDS)
    connection.autocommit = True  # else the answer to BEGIN would be the one that is waited for
    proxy.hold_answers(port_of(postgres.dsn, connection.info.backend_pid))
    began = time.monotonic()
    with pytest.raises(AnswerLostError, match="which waits for its answer"):
        connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
    assert time.monotonic() - began < 20 * SECONDS
    assert connection.closed


def test_a_request_that_is_kept_back_is_given_up(
    postgres: Postgres, proxy: PostgresProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.state.postgres.looking.LOGIN_SECONDS", 1)
    monkeypatch.setattr("trident.state.postgres.patience._SILENT_PAUSES", 2)
    connection = connect(proxy.through(postgres.dsn), SECONDS)
    proxy.hold(Direction.TO_SERVER)
    with pytest.raises(AnswerLostError, match="the server answers nobody"):
        connection.execute("SELECT 1")


def test_a_session_that_is_gone_is_given_up(postgres: Postgres, proxy: PostgresProxy) -> None:
    connection = connect(proxy.through(postgres.dsn), SECONDS)
    connection.execute("CREATE TABLE t (n int)")
    pid = connection.info.backend_pid
    proxy.hold_answers(port_of(postgres.dsn, pid))
    with psycopg.connect(postgres.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(psycopg.OperationalError):
        copy_for_ever(connection)


def copy_for_ever(connection: psycopg.Connection) -> None:
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        while True:
            copy.write("1\n" * 10_000)


def test_a_long_statement_on_a_narrow_line_is_waited_for(postgres: Postgres, proxy: PostgresProxy) -> None:
    """The server knows nothing of it before it is there as a whole; all of it has left this side long before."""
    with connect(proxy.through(postgres.dsn), 2 * SECONDS) as connection:
        connection.autocommit = True
        connection.execute("CREATE TABLE t (words text)")
        proxy.slow_down(100_000)
        began = time.monotonic()
        connection.execute("INSERT INTO t VALUES (%s)", ("x" * 500_000,))
        assert time.monotonic() - began > 2 * SECONDS
        assert connection.execute("SELECT length(words) FROM t").fetchone() == (500_000,)


def test_no_session_outlives_its_server(pytestconfig: pytest.Config) -> None:
    with or_skip(pytestconfig, partial(LocalPostgres, durable=False)) as server, PostgresProxy(server.dsn) as proxy:
        connection = connect(proxy.through(server.dsn), 4 * SECONDS)  # so that it is seldom asked while it is away
        proxy.hold_answers(port_of(server.dsn, connection.info.backend_pid))

        with ThreadPoolExecutor(1) as pool:  # a server ends with the thread that has started it
            sleeping = pool.submit(connection.execute, "SELECT pg_sleep(600)")
            time.sleep(SECONDS / 4)
            server.stop()
            server.start()
            with pytest.raises(AnswerLostError, match="the server's session is gone"):
                sleeping.result()


def test_a_narrow_line_is_waited_for(postgres: Postgres, proxy: PostgresProxy) -> None:
    """Most of it lies in the buffers on the way while both sides wait: for more, and for an answer."""
    with connect(proxy.through(postgres.dsn), SECONDS) as connection:
        connection.execute("CREATE TABLE t (words text)")
        proxy.slow_down(400_000)
        words, began = "x" * 4_000_000, time.monotonic()
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for start in range(0, len(words), 1_000):
                copy.write(words[start : start + 1_000] + "\n")
        assert time.monotonic() - began > 3 * SECONDS
        assert connection.execute("SELECT sum(length(words)) FROM t").fetchone() == (len(words),)


def test_what_takes_long_is_waited_for(postgres: Postgres) -> None:
    """Work, a lock, and a server that has no room for one more who asks."""
    connection = connect(postgres.dsn, SECONDS)
    assert connection.execute("SELECT pg_sleep(%s)", (3 * SECONDS,)).fetchone() == ("",)
    with psycopg.connect(postgres.dsn) as other:
        other.execute("SELECT pg_advisory_lock(1)")
        connection.execute("SET lock_timeout = 0")
        timer = threading.Timer(1.5 * SECONDS, lambda: other.execute("SELECT pg_advisory_unlock(1)"))
        timer.start()
        connection.execute("SELECT pg_advisory_lock(1)")
        timer.join()
    connection.close()


@dataclass
class Running:
    """A topology that runs behind a proxy until it is stopped."""

    postgres: Postgres
    proxy: PostgresProxy
    topic: Topic = field(default_factory=lambda: Topic([[("a", 1)] * 50]))
    ended: list[TridentError | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = PostgresLedger(self.proxy.through(self.postgres.dsn))
        self.run = self._run(self.ledger, Until.STOPPED)
        self._thread = threading.Thread(target=self._go)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self.run.stop()
            self._thread.join(30 * SECONDS)
            assert not self._thread.is_alive(), "it ends although a connection is silent"

    def go_on(self) -> None:
        """Let another one take over where this one can't be waited for, or does no more."""
        self._run(PostgresLedger(self.postgres.dsn), Until.CAUGHT_UP).run()

    def counted(self) -> int:
        with psycopg.connect(self.postgres.dsn) as connection:
            row = connection.execute("SELECT n FROM balances").fetchone()
        return int(row[0]) if row else 0

    def _run(self, ledger: PostgresLedger, until: Until) -> TopologyRun:
        plan = make_job(self.topic, PostgresState("balances")).plan()
        return TopologyRun(plan, ledger, replace(OPTIONS, until=until, give_up_after=timedelta(seconds=30)))

    def _go(self) -> None:
        try:
            self.run.run()
            self.ended.append(None)
        except TridentError as error:
            self.ended.append(error)


WHICH = {
    "commits": "application_name LIKE 'trident %' AND state = 'idle in transaction' AND query NOT LIKE '%heartbeat%'",
    "heartbeats": "state <> 'active' AND query LIKE '%trident_heartbeat%' OR query = 'COMMIT' AND state = 'idle'",
    "presence": "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')",
}


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.drawn(one_in=3)
def test_a_run_goes_on_though_one_connection_is_silent(postgres: Postgres, proxy: PostgresProxy, which: str) -> None:
    running = Running(postgres, proxy)
    held = threading.Event()

    def hold(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.IN_PIN_TRANSACTION and txid == 8 and not held.is_set():
            with psycopg.connect(postgres.dsn) as connection:
                rows = connection.execute(
                    f"SELECT client_port FROM pg_stat_activity WHERE datname = current_database() AND "
                    f"pid <> pg_backend_pid() AND ({WHICH[which]})"  # type: ignore[arg-type, unused-ignore]
                ).fetchall()
            assert rows
            for (port,) in rows:
                proxy.hold_answers(port)
            held.set()

    with armed(hold), running.at_work():
        deadline = time.monotonic() + 30 * SECONDS
        while not held.is_set():
            assert time.monotonic() < deadline
            running.topic.partitions[0].append(("a", 1))
            time.sleep(0.05)
        running.topic.partitions[0] += [("a", 1)] * 30
        deadline = time.monotonic() + 30 * SECONDS
        while running.counted() < len(running.topic.partitions[0]) and not running.ended:
            assert time.monotonic() < deadline, "it gets nowhere, and nobody else may"
            time.sleep(0.1)
        time.sleep(SECONDS)  # presence and lease are asked for meanwhile
    running.go_on()
    assert running.counted() == len(running.topic.partitions[0])
