"""The two lengths of a run, and what the run of coverage refuses."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.covered import by_package, show, too_low
from tests.effort import _EFFORTS, Effort, Length, base_seed, choose, draw_base_seed, effort, processes

ROOT = Path(__file__).parents[1]


@pytest.fixture
def _chosen_again() -> Iterator[None]:
    before = (effort().length, base_seed())
    yield
    choose(*before)


def test_the_long_form_does_at_least_what_the_short_one_does() -> None:
    short, long, whole = (_EFFORTS[length] for length in Length)
    for field in dataclasses.fields(Effort):
        if field.name != "length":
            assert getattr(long, field.name) >= getattr(short, field.name), field.name
            assert getattr(whole, field.name) >= getattr(long, field.name), field.name
    assert whole.seeds >= 10_000
    assert whole.matrix_share == 1


@pytest.mark.usefixtures("_chosen_again")
def test_what_is_chosen_holds_until_something_else_is() -> None:
    choose(Length.VERIFY, 17)
    assert (effort().length, base_seed()) == (Length.VERIFY, 17)
    choose(Length.TEST, 18)
    assert (effort().length, base_seed()) == (Length.TEST, 18)


def test_a_base_seed_is_fresh() -> None:
    assert len({draw_base_seed() for _ in range(5)}) > 1


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    assert processes() == 4
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    assert processes() == 1


def test_workers_draw_from_one_seed(tmp_path: Path) -> None:
    """Or else they would disagree about which tests there are, and run none."""
    (tmp_path / "test_seed.py").write_text(
        "from tests.effort import base_seed\n"
        f"def test_seed():\n    print(base_seed(), file=open({str(tmp_path / 'seeds')!r}, 'a'))\n"
    )
    words = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "each", "-p", "conftest", str(tmp_path)]
    answer = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stdout
    seeds = (tmp_path / "seeds").read_text().split()
    assert len(seeds) == 2
    assert len(set(seeds)) == 1


def counts(lines: int, branches: int) -> Counter[str]:
    return Counter(num_statements=100, covered_lines=lines, num_branches=50, covered_branches=branches)


def test_a_package_of_the_core_that_was_run_too_little_is_refused() -> None:
    files = {f"{package}/a.py": {"summary": counts(100, 35)} for package in ("coordinators", "state", "trident")}
    assert too_low(by_package(files)) == []
    files["state/b.py"] = {"summary": counts(85, 35)}
    files["trident/b.py"] = {"summary": counts(0, 0)}
    packages = by_package(files)
    assert too_low(packages) == ["state"]
    assert "185 of 200" in show(packages)
    assert too_low({}) == ["coordinators", "state"]
