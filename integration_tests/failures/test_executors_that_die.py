"""An executor dies while others use what it has made: an attempt is of one run of its tasks, or it is no result."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from integration_tests.failures.rerun_messages import BATCHES, EACH
from trident.local.spark_cluster import LocalSparkCluster

ROOT = Path(__file__).parents[2]


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="finds an executor's process in /proc")
def test_what_is_made_anew_may_be_other_than_what_was_used(tmp_path: Path) -> None:
    """Once those who had used the first are told nothing of the second, what it fails would be acked."""
    program = [sys.executable, "-m", "integration_tests.failures.rerun_messages"]
    with LocalSparkCluster(workers=2, cores=1, memory="1g") as cluster:
        said = subprocess.run(
            [*program, cluster.master.url, str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=540,
        )
    assert said.returncode == 0, said.stderr[-3000:]
    assert list(tmp_path.glob("struck *")), "nobody was killed while others went on"
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        ((counted,),) = connection.execute("SELECT sum(c) FROM counted").fetchall()
    assert counted == BATCHES * EACH
    assert Counter((tmp_path / "acked").read_text().split()) == Counter(map(str, range(BATCHES * EACH)))
