"""`trident run`: a topology is a module and a command, in a process of its own with a real Spark session."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

MODULE = """
from datetime import timedelta
from prices import doubled
from trident import Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

def topology():
    topology = Topology("payments")
    spout = FixedBatchSpout("account string, amount bigint", [("a", n) for n in range(50)], max_records_per_batch=20)
    stream = topology.stream("in", spout).map(price, "account string, amount bigint")
    stream.group_by("account").persistent_aggregate(SqliteState("totals"), total=Sum("amount"))
    return topology

def price(batch):
    return batch.set_column(1, "amount", doubled(batch.column("amount")))
"""
NEIGHBOUR = "import pyarrow.compute as pc\ndef doubled(amounts):\n    return pc.multiply(amounts, 2)\n"
PATIENCE_S = 90


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    (folder / "jobs.py").write_text(MODULE)
    (folder / "prices.py").write_text(NEIGHBOUR)
    command = [sys.executable, "-m", "trident", "run", str(folder / "jobs.py:topology")]
    root = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [*command, "--ledger", str(folder / "ledger.sqlite"), *words],
        env={**os.environ, "PYTHONPATH": root},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def totals(folder: Path) -> list[tuple[str, int]]:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        return connection.execute("SELECT account, total FROM totals").fetchall()


def test_a_module_runs_until_it_has_caught_up(tmp_path: Path) -> None:
    """With a function of its own that uses a file beside it: Spark's workers find both."""
    process = begin(tmp_path, "--until", "caught_up", "--json")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    ended = json.loads(out.splitlines()[-1])
    assert (ended["topology"], ended["batches"], ended["last_done"]) == ("payments", 3, 3)
    assert totals(tmp_path) == [("a", sum(range(50)) * 2)]


def test_a_run_says_how_it_goes_and_drains_at_sigterm(tmp_path: Path) -> None:
    process = begin(tmp_path)
    try:
        assert process.stdout is not None
        assert "took over with epoch 1" in process.stdout.readline()
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not _is_done(tmp_path):
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert "txid 3 done" in out
    assert "lag 0: ended" in out


def _is_done(folder: Path) -> bool:
    try:
        return totals(folder) == [("a", sum(range(50)) * 2)]
    except sqlite3.OperationalError:  # the table is not there yet
        return False
