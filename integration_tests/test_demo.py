"""The demo in a short form: the process that counts payments is killed in mid-batch, and nothing differs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import effort

ROOT = Path(__file__).parents[1]


@pytest.mark.verify
@pytest.mark.servers
@pytest.mark.timeout(640)  # a bound for a demo that hangs: beside the other worker's servers it took five minutes
def test_killed_in_mid_batch_nothing_is_lost_and_nothing_counted_twice():
    command = [sys.executable, "-m", "examples.demo", "--records", str(effort().demo_records), "--max-records", "1500"]
    environment = os.environ | {"COLUMNS": "120"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        printed, _ = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # so that it ends the servers that it has started
        printed, _ = process.communicate()
        pytest.fail(f"no end within 600 s:\n{printed.decode()[-8000:]}")
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed.decode())
    assert process.returncode == 0, text
    assert len(re.findall("SIGKILL", text)) >= 2, text
    assert re.search(r"difference\W+0\b", text), text
