"""Which tests of a whole run are played: every rule is met in each run, and what is much alike takes turns.

The suite has far more tests than `make test` has minutes. What a run leaves out, another one draws: a test's turn
depends on the base seed of the run and on its name, so that each run plays a like share of each folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from zlib import crc32

from tests.effort import Length

FOLDERS: Final = {
    "integration_tests/crash_matrix/": 2,
    "integration_tests/test_": 3,
    "integration_tests/doctor/": 8,
    "integration_tests/dsl/": 24,
    "integration_tests/pages/": 8,
    "integration_tests/pipelines/": 8,
    "integration_tests/state/": 18,
    "integration_tests/": 12,
    "tests/simulation/": 8,
    "tests/coordinators/": 9,
    "tests/cli/": 5,
    "tests/hazards/": 3,
    "tests/ledger/": 2,
    "tests/state/": 3,
    "tests/spouts/": 3,
}
"""Of how many tests in these folders the short form plays one; the first that fits counts, elsewhere it plays all."""
LONG_ONE_IN: Final = 8
"""Of how many cases of a long form `verify` plays one."""
LONG_SINGLE_ONE_IN: Final = 2
"""In one of how many runs `verify` plays a long form of a single case, but for `LONG_ALWAYS`."""
LONG_ALWAYS: Final = ("integration_tests/test_", "tests/coordinators/", "tests/simulation/")
"""Whose single cases are in each `verify`: the demo, the chaos, and lives that are drawn anew each time."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One case of a test, among the cases of this test."""

    test: str
    """The id of the test, without its parameters."""
    number: int
    """Which of its cases, from 0."""
    cases: int
    """How many it has."""


def is_its_turn(turn: Turn, length: Length, seed: int, *, one_in: int, by_folder: bool) -> bool:
    """Whether a run of this length and seed plays it; `one_in` is what the test itself says (1: nothing).

    With `by_folder` what holds for its folder counts too: for runs of the whole suite, not of what somebody has named.
    """
    if length is Length.WHOLE:
        return True
    if length is Length.TEST:
        share = max(one_in, _of_folder(turn.test) if by_folder else 1)
    else:
        share = min(LONG_ONE_IN, max(turn.cases, _of_single(turn.test))) if by_folder else 1
    return (turn.number + seed + crc32(turn.test.encode())) % share == 0


def _of_single(test: str) -> int:
    return 1 if test.startswith(LONG_ALWAYS) else LONG_SINGLE_ONE_IN


def _of_folder(test: str) -> int:
    return next((share for folder, share in FOLDERS.items() if test.startswith(folder)), 1)
