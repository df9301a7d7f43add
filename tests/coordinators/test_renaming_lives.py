"""Drawn lives of a topology whose state is renamed, dies in between, is undone, reset and renamed back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.coordinators.renaming_lives import PLACES, World
from tests.effort import base_seed, effort

STEPS = 14


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("number", range(effort().server_lives))
@pytest.mark.drawn(one_in=4)
def test_whatever_it_is_called_every_record_counts_once(number: int, where: str, tmp_path: Path) -> None:
    World(PLACES[where](tmp_path), random.Random(base_seed() + number)).live(STEPS)


@pytest.mark.parametrize("where", PLACES)
def test_lives_do_rename(where: str, tmp_path: Path) -> None:
    """Else the ones above would show nothing."""
    renamed = 0
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(PLACES[where](folder), random.Random(number))
        world.live(STEPS)
        renamed += world.renamed
    assert renamed
