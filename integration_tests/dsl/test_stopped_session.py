"""Whoever stops Spark under a running topology is told what happened to the data and what to do; nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration_tests.dsl.programs import run_program
from integration_tests.dsl.stopping_job import RECORDS


@pytest.mark.parametrize("states", [1, 2])
@pytest.mark.verify
def test_a_session_that_is_stopped_under_a_run_is_said_and_the_next_run_goes_on(states: int, tmp_path: Path) -> None:
    shown = play(tmp_path, str(states))
    check(shown, 2)
    sums = [line for line in shown.splitlines() if line.startswith("sum")]
    assert sums == [f"sum {RECORDS} {sum(range(RECORDS))}"] * states


@pytest.mark.verify
def test_so_it_is_through_spark_connect(tmp_path: Path) -> None:
    check(play(tmp_path, "1", "connect"), 1)
    sums = [line for line in play(tmp_path, "1").splitlines() if line.startswith("sum")]
    assert sums == [f"sum {RECORDS} {sum(range(RECORDS))}"]


def play(folder: Path, *words: str) -> str:
    return run_program("integration_tests.dsl.stopping_job", str(folder), *words)


def check(shown: str, runs: int) -> None:
    ended = [line for line in shown.splitlines() if line.startswith("ended")]
    assert len(ended) == runs
    for text in ended:
        assert text.startswith("ended FatalError")
        assert "the Spark session was stopped (spark.stop())" in text
        assert "Nothing of the batch was applied, what was done before stays" in text
        assert "run it again" in text
