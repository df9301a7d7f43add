"""Drawn lives of topologies at the weaker levels: whatever happens to one, its targets are what its level promises."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.coordinators.level_world import LevelWorld
from tests.effort import base_seed, effort
from trident.base.levels import Level

STEPS = 10
MET = {
    *("run", "reset", "drop", "an owner wakes up", "a rival is refused"),
    *(f"a coordinator dies in a {kind}" for kind in ("run", "reset", "drop")),
}


def live(world: LevelWorld) -> Counter[str]:
    """Let a world live, then bring its topology to the end of its source."""
    with world.going():
        try:
            for _ in range(STEPS):
                world.step()
            world.finish()
        except BaseException as error:
            error.add_note("\n".join(world.told))
            raise
    return world.met


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("level", [Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE])
def test_whatever_happens_to_a_topology_its_level_is_kept(level: Level, tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for number in range(effort().level_lives // 2):
        seed = base_seed() + number
        folder = tmp_path / str(number)
        folder.mkdir()
        met += live(LevelWorld(random.Random(seed), level, folder))
    if effort().must_meet_everything:
        assert met.keys() >= MET, f"nobody has met: {MET - met.keys()}"
