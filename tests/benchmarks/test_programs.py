"""The table of measured systems, and that the hand-written ones merge as the library does."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.measure import systems
from benchmarks.options import options_of
from benchmarks.programs import PROGRAMS
from benchmarks.systems import merge
from trident.state.postgres import dialect
from trident.state.tables import staged


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_system_is_a_program(name: str) -> None:
    assert find_spec(PROGRAMS[name].module) is not None


def test_only_ours_run_from_another_checkout_too() -> None:
    names = [system.name for system in systems(list(PROGRAMS), Path("/elsewhere"))]
    assert [name for name in PROGRAMS if f"{name}_before" in names] == [
        name for name, program in PROGRAMS.items() if program.is_ours
    ]


def test_the_usual_ones_run_unless_others_are_named() -> None:
    usual = [system.name for system in options_of([]).systems]
    assert usual == ["trident", "structured_streaming", "floor"]


def test_the_hand_written_merge_is_tuned_as_the_librarys() -> None:
    assert (merge._LARGE, merge._WIDE) == (staged._LARGE, staged._WIDE)
    costs = Path(dialect.__file__).read_text()
    for cost in ("0.01", "0.00001"):
        assert cost in merge._CHEAP_PROBES
        assert f'"{cost}"' in costs
