"""On a cluster each attempt is of one run of its tasks: an executor dies, or two of them want the same rows."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from integration_tests.failures.drawn_numbers import NUMBERS
from integration_tests.failures.rerun_messages import BATCHES, EACH
from trident.local.spark_cluster import LocalSparkCluster

ROOT = Path(__file__).parents[2]


def run_on_two(program: str, folder: Path) -> None:
    """Run a program of this folder on a cluster of two executors."""
    with LocalSparkCluster(workers=2, cores=1, memory="1g") as cluster:
        said = subprocess.run(
            [sys.executable, "-m", f"integration_tests.failures.{program}", cluster.master.url, str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=540,
        )
    assert said.returncode == 0, said.stderr[-3000:]


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="finds an executor's process in /proc")
def test_what_is_made_anew_may_be_other_than_what_was_used(tmp_path: Path) -> None:
    """Once those who had used the first are told nothing of the second, what it fails would be acked."""
    run_on_two("rerun_messages", tmp_path)
    assert list(tmp_path.glob("struck *")), "nobody was killed while others went on"
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        ((counted,),) = connection.execute("SELECT sum(c) FROM counted").fetchall()
    assert counted == BATCHES * EACH
    assert Counter((tmp_path / "acked").read_text().split()) == Counter(map(str, range(BATCHES * EACH)))


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_two_executors_that_want_the_rows_of_a_function_are_given_those_of_one_run(tmp_path: Path) -> None:
    run_on_two("drawn_numbers", tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        found = Counter(n for (n,) in connection.execute("SELECT n FROM both"))
    assert found == Counter(range(NUMBERS))
