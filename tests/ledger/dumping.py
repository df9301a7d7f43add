"""Dumps of a ledger with its states, one per version of the tables, kept as SQL text.

    python -m tests.ledger.dumping sqlite        # or: postgres; writes tests/ledger/dumps/…

A dump is made once, by the code that has that version as its newest, and never again: every later
version opens it and goes on. It holds batches that are done, a loss, dead letters, and a txid that is
pinned and applied to one of two states.
"""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import POISON, ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import Ledger, PostgresLedger, SqliteLedger
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.spouts.base import BadRecord, Limits, LostOffsets
from trident.state import PostgresState, SqliteState
from trident.state.target import State

DUMPS = Path(__file__).parent / "dumps"
PINNED = 5
LOST = 4
"""How many of partition 0's records were gone before they could be read."""


class Died(BaseException):
    """The process is gone."""


def topic() -> Topic:
    """Return the records that the dumped topology was reading; the same in every version."""
    records = Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(30)] for p in range(3)])
    records.partitions[1][4] = POISON
    records.partitions[2][14] = POISON
    return records


def expected() -> Mapping[str, tuple[int, int]]:
    """Return count and sum per account of all that is neither lost nor a dead letter."""
    records = topic()
    records.partitions[0] = records.partitions[0][:8] + records.partitions[0][8 + LOST :]
    return {account: value for account, value in records.expected().items() if account != POISON[0]}


def job_over(records: Topic, *states: State, most: int = 10) -> ListJob:
    """Return the dumped topology, which reads so many records at most in a batch."""
    return make_job(
        records,
        *states,
        on_bad_record=BadRecord.DEAD_LETTER,
        on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST,
        limits=Limits(max_records=most),
    )


def live_and_die(ledger: Ledger, *states: State) -> None:
    """Run until one of two states has the pinned txid, then die; part of what was not read yet gets lost."""
    records = topic()
    job = job_over(records, *states, most=12)  # four of each partition, so that two batches end before what is lost

    dead = False

    def act(point: CrashPoint, txid: int) -> None:
        nonlocal dead
        if point is CrashPoint.AFTER_DONE and txid == 2:
            records.earliest[0] = 8 + LOST
        # whatever the dead one's threads still do comes to nothing
        dead = dead or (point is CrashPoint.AFTER_PIN and txid == PINNED)
        if dead and txid:
            raise Died

    with armed(act), pytest.raises(Died):
        TopologyRun(job.plan(), ledger, replace(OPTIONS, max_pending=1)).run()


def sqlite_states(folder: Path) -> tuple[SqliteLedger, SqliteState, SqliteState]:
    """Return a ledger with one state beside it and one apart."""
    return (
        SqliteLedger(folder / "ledger.sqlite"),
        SqliteState("balances"),
        SqliteState("totals", path=folder / "totals.sqlite"),
    )


def restore_sqlite(version: int, folder: Path) -> None:
    """Make the files of a dump."""
    for name in ("ledger", "totals"):
        with sqlite3.connect(folder / f"{name}.sqlite") as connection:
            connection.executescript((DUMPS / f"sqlite-v{version}-{name}.sql").read_text())


def postgres_states(dsn: str) -> tuple[PostgresLedger, PostgresState, PostgresState]:
    """Return a ledger with one state beside it and one with a connection of its own to the same database."""
    return PostgresLedger(dsn), PostgresState("balances"), PostgresState("totals", dsn=dsn)


def dump_of_postgres(version: int) -> str:
    """Return the statements of a dump."""
    return (DUMPS / f"postgres-v{version}.sql").read_text()


def _dump_sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        live_and_die(*sqlite_states(Path(folder)))
        for name in ("ledger", "totals"):
            with sqlite3.connect(Path(folder) / f"{name}.sqlite") as connection:
                text = "\n".join(connection.iterdump()) + "\n"
            _keep(f"sqlite-v{len(LEDGER_TABLES.steps)}-{name}.sql", text)


def _dump_postgres() -> None:
    from trident.local import postgres

    with postgres.LocalPostgres() as server:
        dsn = server.create_database()
        live_and_die(*postgres_states(dsn))
        program = str(server._binaries() / "pg_dump")
        words = [program, "--inserts", "--no-owner", "--no-privileges", dsn]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    kept = [
        line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_catalog"))
    ]
    _keep(f"postgres-v{len(LEDGER_TABLES.steps)}.sql", "\n".join(kept) + "\n")


def _keep(name: str, text: str) -> None:
    (DUMPS / name).write_text(text.replace(socket.gethostname(), "host-a"))


if __name__ == "__main__":
    DUMPS.mkdir(exist_ok=True)
    {"sqlite": _dump_sqlite, "postgres": _dump_postgres}[sys.argv[1]]()
