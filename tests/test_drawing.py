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
    cases = [Turn(test, number, 9) for number in range(9)]
    met = Counter(
        turn for seed in range(360) for turn in cases if is_its_turn(turn, length, seed, one_in=one_in, by_folder=True)
    )
    assert set(met) == set(cases)
    assert len(set(met.values())) == 1, "one as often as another"


def test_tests_of_one_folder_do_not_all_have_theirs_in_the_same_run() -> None:
    turns = [Turn(f"tests/coordinators/a.py::test_{number}", 0, 1) for number in range(600)]
    for seed in range(3):
        share = sum(is_its_turn(turn, Length.TEST, seed, one_in=1, by_folder=True) for turn in turns)
        assert 45 < share < 90


def test_what_somebody_names_is_played_whatever_its_folder_says() -> None:
    for length in Length:
        turn = Turn("tests/coordinators/a.py::test_a", 0, 1)
        assert all(is_its_turn(turn, length, seed, one_in=1, by_folder=False) for seed in range(9))


def played(test: str, cases: int, seed: int) -> int:
    turns = [Turn(test, number, cases) for number in range(cases)]
    return sum(is_its_turn(turn, Length.VERIFY, seed, one_in=9, by_folder=True) for turn in turns)


def test_of_a_long_form_of_few_cases_each_verify_plays_one() -> None:
    for seed in range(9):
        for cases in range(2, LONG_ONE_IN + 1):
            assert played("integration_tests/frozen/a.py::test_a", cases, seed) == 1


def test_a_long_form_of_one_case_is_in_one_verify_of_two_and_demo_and_lives_in_each() -> None:
    single = Counter(played("integration_tests/frozen/a.py::test_a", 1, seed) for seed in range(10))
    assert single == {0: 5, 1: 5}
    for test in ("integration_tests/test_demo.py::test_a", "tests/coordinators/test_lives.py::test_a"):
        assert all(played(test, 1, seed) == 1 for seed in range(10))


def test_the_folders_are_there() -> None:
    for folder in FOLDERS:
        assert list(ROOT.glob(f"{folder}*")), folder
