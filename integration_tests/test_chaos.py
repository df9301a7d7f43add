"""`make chaos` in its short form: at least one fault of each kind on real servers, and nothing is lost or doubled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.scenarios import SHORT

ROOT = Path(__file__).parents[1]


@pytest.mark.verify
@pytest.mark.servers
@pytest.mark.timeout(2400)
def test_no_kill_pause_cut_or_lost_answer_loses_or_doubles_a_record(tmp_path):
    command = [sys.executable, "-m", "chaos.run", "--short", "--folder", str(tmp_path)]
    environment = os.environ | {"COLUMNS": "200"}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=2380, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    summary = re.search(r"(\d+) kills and (\d+) faults in all", text)
    assert summary is not None, text
    kills, faults = map(int, summary.groups())
    assert faults == sum(len(scenario.faults) for scenario in SHORT)
    assert kills >= 13
    for fault in (
        "SIGKILL",
        "immediate stop",
        "COMMIT's answer lost",
        "COMMIT's answer late",
        "cut",
        "SIGSTOP, SIGCONT",
        "the transaction coordinator",
        "a leader of the output topic",
        "EndTxn: lose the answer",
        "EndTxn: lose the request",
        "EndTxn: late, its sender killed",
        "EndTxn: late, sent again",
    ):
        assert fault in text
    good = r"\W+[\d,]+\W+[\d,]+\W+0\W+0\W+0\W+[\d,]+\W+0\W"
    assert len(re.findall(f"_balances{good}", text)) == 2 * len(SHORT), text
    assert len(re.findall(f"│ sent {good}", text)) == sum(scenario.sends for scenario in SHORT), text
    assert len(re.findall(r"a reader held [1-9]\d* moments", text)) == sum(scenario.sends for scenario in SHORT), text
