"""Every future of a small world; and the proof that a bug is found with its shortest trace."""

from __future__ import annotations

import gc
from functools import cache

import pytest

from tests.effort import base_seed, effort
from tests.simulation import exploring
from tests.simulation.exploring import LARGE, SMALL, explore
from tests.simulation.planted import BUGS, PlantedBug
from tests.simulation.scene import Scene, Scope
from trident.coordinators.batches.requests import CommitStep
from trident.spouts.base import SpoutKind

FOUND_HERE = [bug for bug in BUGS if bug.scope is not None]


@pytest.mark.verify(short=True)
@pytest.mark.timeout(600)
def test_no_future_of_a_small_world_loses_or_doubles_a_record() -> None:
    for scope in SMALL if effort().every_scope else [SMALL[base_seed() % len(SMALL)]]:
        gc.collect()
        gc.disable()
        try:
            result = explore(scope, most_scenes=effort().scenes)
        finally:
            gc.enable()
        print(result.show())
        assert result.violation is None, result.show()
        assert result.is_complete or result.scenes > effort().scenes
        assert result.scenes > 5_000


@cache
def _violation_without_a_bug(scope: Scope) -> object:
    return explore(scope).violation


@pytest.mark.verify(short=True, one_in=4)
@pytest.mark.parametrize("bug", FOUND_HERE, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_with_its_shortest_trace(bug: PlantedBug) -> None:
    assert bug.scope is not None
    with bug.plant():
        found = explore(bug.scope)
        assert found.violation is not None
        print(found.show())
        assert len(found.trace) in (found.depth, found.depth + 1)
        again = Scene(bug.scope)
        for step in found.trace[:-1]:
            again.perform(next(action for action in again.actions() if action.what == step))
    assert _violation_without_a_bug(bug.scope) is None, "without the bug the same scope holds"


def test_most_planted_bugs_are_in_reach_of_the_exploration() -> None:
    assert len(FOUND_HERE) >= 6


def test_the_large_scopes_are_as_large_as_they_claim() -> None:
    first = LARGE[0]
    assert (first.records, first.crashes, first.take_overs, first.losses) == (3, 2, 2, 1)
    assert {scope.kind for scope in LARGE} == set(SpoutKind)


def test_a_copy_is_equal_and_independent() -> None:
    scene = Scene(Scope(records=2))
    for _ in range(40):
        actions = list(scene.actions())
        assert [action.what for action in scene.copy().actions()] == [action.what for action in actions]
        before = scene.key()
        for action in actions:
            other = scene.copy(action.actor)
            assert other.key() == before
            other.perform(action)
            assert scene.key() == before
        scene.perform(next(action for action in actions if not action.is_fault))


def test_a_world_that_can_not_go_on_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(Scene):
        def send(self, actor, job, failures):
            if type(job) is not CommitStep:
                super().send(actor, job, failures)

        def copy(self, acting=None):
            other = super().copy(acting)
            other.__class__ = Deaf
            return other

    monkeypatch.setattr(exploring, "Scene", Deaf)
    found = explore(Scope(records=1, crashes=0, take_overs=0, losses=0))
    assert found.violation == "nothing more happens, but records are missing"
