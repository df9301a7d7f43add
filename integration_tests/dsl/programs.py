"""Programs in processes of their own: a process has one kind of Spark."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run_program(module: str, *words: str) -> str:
    """Return what a program prints; one runs at a time on a machine, since Connect's local server has one port."""
    with (Path(tempfile.gettempdir()) / "trident-tests-connect.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
