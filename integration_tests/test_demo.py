"""The demo in a short form: the process that counts payments is killed in mid-batch, and nothing differs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import effort

ROOT = Path(__file__).parents[1]


@pytest.mark.verify
@pytest.mark.servers
@pytest.mark.timeout(300)
def test_killed_in_mid_batch_nothing_is_lost_and_nothing_counted_twice():
    command = [sys.executable, "-m", "examples.demo", "--records", str(effort().demo_records), "--max-records", "1500"]
    environment = os.environ | {"COLUMNS": "120"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    assert len(re.findall("SIGKILL", text)) >= 2, text
    assert re.search(r"difference\W+0\b", text), text
