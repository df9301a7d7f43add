"""A process on Spark and PostgreSQL is killed with rows that it had received: what is lost is known, or given again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from integration_tests.conftest import Postgres
from integration_tests.crash_matrix.received import ROWS, OutsideQueue
from trident import PostgresLedger
from trident.base.crash_points import CrashPoint
from trident.base.timeouts import DEFAULT_TIMEOUTS

ROOT = Path(__file__).parents[2]


def run(dsn: str, folder: Path, *words: str) -> int:
    command = [sys.executable, "-m", "integration_tests.spouts.receiving_job", dsn, str(folder), *words]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    return done.returncode


def counted(dsn: str) -> dict[int, int]:
    """Return how often each row was applied, in the state and in the table alike."""
    with psycopg.connect(dsn) as connection:
        state = connection.execute("SELECT account, n FROM counts").fetchall()
        table = connection.execute("SELECT account, count(*) FROM accounts GROUP BY account").fetchall()
    assert sorted(state) == sorted(table)
    return {int(account[1:]): n for account, n in state}


@pytest.mark.verify
@pytest.mark.parametrize("point", [CrashPoint.IN_PIN_TRANSACTION, CrashPoint.AFTER_DONE])
def test_a_queue_that_is_taken_from_once_has_each_row_applied_once_or_recorded(
    postgres: Postgres, tmp_path: Path, point: CrashPoint
) -> None:
    queue = OutsideQueue(tmp_path / "queue.sqlite")
    queue.make(ROWS)
    assert run(postgres.dsn, tmp_path, point.value) == -signal.SIGKILL
    assert run(postgres.dsn, tmp_path) == 0
    found = counted(postgres.dsn)
    assert set(found.values()) == {1}
    ledger = PostgresLedger(postgres.dsn)
    ledger.open(DEFAULT_TIMEOUTS)
    losses = ledger.view().losses("received")
    ledger.close()
    places = queue.places()
    recorded = [places[at] for loss in losses for at in range(loss.start_offset, loss.stop_offset)]
    assert sorted(recorded) == sorted(set(range(ROWS)) - found.keys()), "just these lack"
    assert bool(recorded) == (point is not CrashPoint.AFTER_DONE)


@pytest.mark.verify
def test_a_queue_that_gives_again_has_every_row_applied(postgres: Postgres, tmp_path: Path) -> None:
    queue = OutsideQueue(tmp_path / "queue.sqlite")
    queue.make(ROWS)
    assert run(postgres.dsn, tmp_path, CrashPoint.AFTER_DONE.value) == -signal.SIGKILL
    told = queue.told()
    queue.give_again()
    assert run(postgres.dsn, tmp_path) == 0
    found = counted(postgres.dsn)
    assert found.keys() == set(range(ROWS))
    twice = {n for n, count in found.items() if count > 1}
    assert max(found.values()) == 2
    assert twice, "what was done and not told of counts again"
    assert not twice & told
    assert queue.told() == set(range(ROWS))
