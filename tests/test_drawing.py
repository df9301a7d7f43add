"""Nothing is left out for ever, and what somebody names is played."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.drawing import FOLDERS, LONG_ONE_IN, Turn, is_its_turn
from tests.effort import Length

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("length", Length)
@pytest.mark.parametrize("one_in", [1, 5])
@pytest.mark.parametrize("test", ["tests/coordinators/a.py::test_a", "integration_tests/state/a.py::test_b", "tests/x"])
def test_every_case_has_its_turn(length: Length, one_in: int, test: str) -> None:
    cases = [Turn(test, number, 7) for number in range(7)]
    met = Counter(
        turn for seed in range(240) for turn in cases if is_its_turn(turn, length, seed, one_in=one_in, by_folder=True)
    )
    assert set(met) == set(cases)
    assert len(set(met.values())) == 1, "one as often as another"


def test_tests_of_one_folder_do_not_all_have_theirs_in_the_same_run() -> None:
    turns = [Turn(f"tests/coordinators/a.py::test_{number}", 0, 1) for number in range(600)]
    for seed in range(3):
        share = sum(is_its_turn(turn, Length.TEST, seed, one_in=1, by_folder=True) for turn in turns)
        assert 80 < share < 160


def test_what_somebody_names_is_played_whatever_its_folder_says() -> None:
    for length in Length:
        turn = Turn("tests/coordinators/a.py::test_a", 0, 1)
        assert all(is_its_turn(turn, length, seed, one_in=1, by_folder=False) for seed in range(9))


def test_a_long_form_of_one_case_is_in_each_verify_and_of_few_cases_one() -> None:
    for seed in range(9):
        for cases in range(1, LONG_ONE_IN + 1):
            turns = [Turn("integration_tests/a.py::test_a", number, cases) for number in range(cases)]
            assert sum(is_its_turn(turn, Length.VERIFY, seed, one_in=9, by_folder=True) for turn in turns) == 1


def test_the_folders_are_there() -> None:
    for folder in FOLDERS:
        assert list(ROOT.glob(f"{folder}*")), folder
