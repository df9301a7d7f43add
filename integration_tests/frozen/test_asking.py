"""What hinders a login that asks after a session is no word against it; a session that is given up is ended."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.playing import OPTIONS
from integration_tests.frozen.test_one_connection import copy_for_ever, port_of
from tests.coordinators.fakes import POISON, Topic, make_job
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.spouts.base import BadRecord, Limits
from trident.state import PostgresState
from trident.state.postgres.database import connect
from trident.state.postgres.patience import AnswerLostError, PatientConnection
from trident.testing.postgres_proxy import PostgresProxy

LEASE = 0.8
WORK = 3 * LEASE
"""For longer than a server that answers nobody is waited for."""


def works_on(connection: psycopg.Connection) -> bool:
    return connection.execute("SELECT pg_sleep(%s), 1", (WORK,)).fetchone() == ("", 1)


@contextmanager
def refusing(severity: str, message: str) -> Iterator[int]:
    """Give the port of a server that has room for nobody."""
    fields = (b"S" + severity.encode(), b"VFATAL", b"C53300", b"M" + message.encode())
    body = b"".join(field + b"\0" for field in fields) + b"\0"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    while int.from_bytes(client.recv(8)[4:], "big") >> 16 == 1234:  # TLS, or GSSAPI?
                        client.sendall(b"N")
                    client.recv(4096)
                    client.sendall(b"E" + (len(body) + 4).to_bytes(4, "big") + body)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.parametrize(
    ("severity", "message"),
    [
        ("FATAL", "sorry, too many clients already"),
        ("ВАЖНО", "извините, уже слишком много клиентов"),
        ("致命错误", "对不起, 已经有太多的客户"),
    ],
)
@pytest.mark.drawn(one_in=2)
def test_a_refusal_in_any_language_comes_from_a_server_at_work(
    postgres: Postgres, proxy: PostgresProxy, severity: str, message: str
) -> None:
    with connect(proxy.through(postgres.dsn), LEASE) as connection, refusing(severity, message) as port:
        parts = urlsplit(postgres.dsn)
        proxy.lead_to(urlunsplit(parts._replace(netloc=f"127.0.0.1:{port}")))
        assert works_on(connection)


def test_a_slow_login_is_waited_for(postgres: Postgres, proxy: PostgresProxy) -> None:
    with connect(proxy.through(postgres.dsn), LEASE) as connection:
        proxy.delay_logins(WORK - LEASE / 2)
        assert works_on(connection)


def test_an_answer_does_not_wait_for_a_slow_login(postgres: Postgres, proxy: PostgresProxy) -> None:
    with connect(proxy.through(postgres.dsn), LEASE) as connection:
        proxy.delay_logins(15.0)
        began = time.monotonic()
        connection.execute("SELECT pg_sleep(%s)", (LEASE,))
        assert time.monotonic() - began < 5 + LEASE


def test_one_login_serves_all_questions(postgres: Postgres) -> None:
    """The other session is seen with the same number all the time, and is gone with the answer."""
    with connect(postgres.dsn, LEASE, None) as connection, psycopg.connect(postgres.dsn, autocommit=True) as other:
        seen: set[int] = set()
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.02):
                rows = other.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                    "AND backend_type = 'client backend' AND pid <> ALL (%s)",
                    ([connection.info.backend_pid, other.info.backend_pid],),
                )
                seen.update(pid for (pid,) in rows)

        thread = threading.Thread(target=watch)
        thread.start()
        works_on(connection)
        ended.set()
        thread.join()
        assert len(seen) == 1


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 20, before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(taken[0]))
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_process_without_a_descriptor_left_waits_for_its_answer(postgres: Postgres) -> None:
    with connect(postgres.dsn, LEASE) as connection:
        with no_descriptor_left():
            row = connection.execute(f"SELECT pg_sleep({WORK}), 1").fetchone()  # type: ignore[call-overload, unused-ignore]
        assert row == ("", 1)


@pytest.mark.parametrize("columns", ["pid AS procpid", "*"])
def test_a_view_of_users_stands_for_no_session(postgres: Postgres, columns: str) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as other:
        other.execute("CREATE SCHEMA app")
        other.execute(
            f"CREATE VIEW app.pg_stat_activity AS SELECT {columns} FROM pg_catalog.pg_stat_activity WHERE pid = 0"  # type: ignore[call-overload, unused-ignore]
        )
        name = urlsplit(postgres.dsn).path[1:]
        other.execute(f"ALTER DATABASE {name} SET search_path = app, pg_catalog")  # type: ignore[call-overload, unused-ignore]
    with connect(postgres.dsn, LEASE) as connection:
        assert works_on(connection)


def is_there(postgres: Postgres, pid: int) -> bool:
    with psycopg.connect(postgres.dsn) as other:
        return other.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is not None


def lose(postgres: Postgres, proxy: PostgresProxy, connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS t (n int)")
    connection.commit()
    connection.execute("LOCK TABLE t")
    proxy.go_dark(port_of(postgres.dsn, connection.info.backend_pid))
    with pytest.raises(AnswerLostError, match="waits for this process"):
        copy_for_ever(connection)


def test_what_is_given_up_keeps_nothing_locked(postgres: Postgres, proxy: PostgresProxy) -> None:
    connection = connect(proxy.through(postgres.dsn), LEASE)
    pid = connection.info.backend_pid
    lose(postgres, proxy, connection)
    assert not is_there(postgres, pid)
    with connect(postgres.dsn, LEASE) as another:
        another.execute("LOCK TABLE t NOWAIT")


def test_a_session_that_began_at_another_moment_is_not_ended(postgres: Postgres, proxy: PostgresProxy) -> None:
    """Its number may belong to another one by now."""
    connection = connect(proxy.through(postgres.dsn), LEASE)
    pid = connection.info.backend_pid
    assert isinstance(connection, PatientConnection)
    connection.is_of(connection._server, "1700000000.000000")
    proxy.go_dark(port_of(postgres.dsn, pid))
    with pytest.raises(AnswerLostError, match="the server's session is gone"):
        connection.execute("SELECT 1")
    assert is_there(postgres, pid)


def test_the_same_epoch_gets_on_when_a_connection_went_dark_with_the_position_locked(
    postgres: Postgres, proxy: PostgresProxy
) -> None:
    """Nobody takes over: the run ends what it has given up, and repeats it; no limit of the server's would."""
    topic = Topic([[("a", 1)] * 20 + [POISON] * 3000])
    job = make_job(
        topic, PostgresState("balances"), limits=Limits(max_records=10_000), on_bad_record=BadRecord.DEAD_LETTER
    )
    options = replace(OPTIONS, lease=timedelta(seconds=2 * LEASE), give_up_after=timedelta(seconds=8))
    is_dark = proxy.go_dark_behind(b'COPY "trident_dead')
    TopologyRun(job.plan(), PostgresLedger(proxy.through(postgres.dsn)), options).run()
    assert is_dark.is_set()
    with psycopg.connect(postgres.dsn) as other:
        assert other.execute("SELECT n FROM balances").fetchone() == (20,)
        assert other.execute("SELECT max(number) FROM trident_fence").fetchone() == (1,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tcp_keepalives_idle", "2"),
        ("tcp_keepalives_interval", "2"),
        ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "12000"),
    ],
)
def test_the_server_notices_within_half_a_lease_that_a_client_was_cut_off(
    postgres: Postgres, name: str, value: str
) -> None:
    """Its session would hold its locks for as long as the system's own limits are, two hours mostly."""
    with connect(postgres.dsn, 24.0) as connection:
        assert connection.execute(f"SHOW {name}").fetchone() == (value,)  # type: ignore[call-overload, unused-ignore]
