"""Deaths of processes over a source that can't be read again: SIGKILL at every border, and at those of a successor."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from integration_tests.conftest import Postgres
from integration_tests.crash_matrix.forking import Forker, side_by_side, warmed_up
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.received import ROWS, SECOND_DEATHS, SITES, ReceivingLife, play, points_of
from integration_tests.crash_matrix.sites import Site
from tests.effort import base_seed, effort, processes
from trident.base.crash_points import CrashPoint


@pytest.fixture(scope="module")
def addresses(postgres_server: Any, tmp_path_factory: Any) -> Iterator[Addresses]:
    server = Postgres(postgres_server)
    yield Addresses((server.dsn, server.new_dsn(), server.new_dsn()), str(tmp_path_factory.mktemp("received")))
    server.drop()


@pytest.fixture(scope="module")
def forkers(addresses: Addresses) -> Iterator[list[Forker]]:
    count = min(processes(), effort().received_borders // 2)
    with warmed_up(count, partial(_warm_up, addresses)) as made:
        yield made


def _warm_up(addresses: Addresses, number: int, forker: Forker) -> None:
    for site in (Site.PER_KEY, Site.BESIDE_AND_APART):
        life = ReceivingLife(site, addresses, f"warm{number}{site.name.lower()}")
        life.queue.make(ROWS)
        forker.warm_up(life)


@pytest.mark.verify(short=True, one_in=10)
@pytest.mark.parametrize("gives_again", [False, True], ids=["taken once", "given again"])
@pytest.mark.parametrize("site", SITES)
def test_each_row_counts_or_is_recorded_wherever_its_process_is_killed(
    site: Site, gives_again: bool, addresses: Addresses, forkers: list[Forker]
) -> None:
    """Each border of a batch, or some; a successor dies as well, at a border that is drawn, in half of the cases."""
    rng, points = random.Random(base_seed()), points_of(site)
    drawn = rng.sample(points, min(len(points), effort().received_borders))
    cases = [(point, rng.choice([None, rng.choice(SECOND_DEATHS)])) for point in drawn]
    problems = _played(site, gives_again, cases, addresses, forkers)
    assert not problems, "\n".join(problems)


@pytest.mark.verify
@pytest.mark.parametrize("gives_again", [False, True], ids=["taken once", "given again"])
def test_a_successor_dies_at_each_border_too(gives_again: bool, addresses: Addresses, forkers: list[Forker]) -> None:
    cases = [(first, second) for first in (CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PIN) for second in SECOND_DEATHS]
    problems = _played(Site.APART, gives_again, cases, addresses, forkers)
    assert not problems, "\n".join(problems)


Case = tuple[CrashPoint, CrashPoint | None]


def _played(
    site: Site, gives_again: bool, cases: Sequence[Case], addresses: Addresses, forkers: list[Forker]
) -> list[str]:
    """Play the cases side by side; returns what was wrong."""

    def play_one(forker: Forker, case: Case) -> Iterator[str]:
        first, second = case
        name = f"{site.name} {first.name} {second and second.name} {gives_again}"
        life = ReceivingLife(site, addresses, uuid.uuid4().hex[:12], first)
        yield from (f"{name}: {problem}" for problem in play(life, forker, second, gives_again=gives_again))

    return side_by_side(forkers, cases, play_one)
