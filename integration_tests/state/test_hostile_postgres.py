"""Whatever a server, a role or an environment says: each session reads and writes the same way."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.clock import SystemClock
from trident.base.crash_points import CrashPoint, armed
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase, connect

HOSTILE = {
    "timezone": "Europe/Berlin",
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-3",
    "bytea_output": "escape",
    "default_transaction_isolation": "serializable",
}
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
        "default_transaction_isolation": "serializable",  # what counts is the next but one
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
    with psycopg.connect(hostile, client_encoding="UTF8") as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert {row[0]: (row[1], row[2]) for row in rows} == topic.expected()


def test_bytes_that_nobody_acknowledges_end_the_wait_before_the_lease(hostile: str) -> None:
    with connect(hostile, 10.0) as connection, socket.socket(fileno=connection.pgconn.socket) as ours:
        limit = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        ours.detach()
    assert limit == 5000
