"""Deaths of processes over a queue whose messages have ids: SIGKILL at every border, and at those of a successor."""

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
from integration_tests.crash_matrix.queues import MESSAGES, MessagesLife, play
from integration_tests.crash_matrix.received import SECOND_DEATHS, SITES, points_of
from integration_tests.crash_matrix.sites import Site
from tests.effort import base_seed, effort, processes
from trident.base.crash_points import CrashPoint

Case = tuple[CrashPoint, CrashPoint | None, bool]
"""Where one dies, where its successor does, and whether the process of the spout is killed with them."""


@pytest.fixture(scope="module")
def addresses(postgres_server: Any, tmp_path_factory: Any) -> Iterator[Addresses]:
    server = Postgres(postgres_server)
    yield Addresses((server.dsn, server.new_dsn(), server.new_dsn()), str(tmp_path_factory.mktemp("queues")))
    server.drop()


@pytest.fixture(scope="module")
def forkers(addresses: Addresses) -> Iterator[list[Forker]]:
    count = min(processes(), effort().queue_borders // 2)
    with warmed_up(count, partial(_warm_up, addresses)) as made:
        yield made


def _warm_up(addresses: Addresses, number: int, forker: Forker) -> None:
    for site in (Site.PER_KEY, Site.BESIDE_AND_APART):
        life = MessagesLife(site, addresses, f"warm{number}{site.name.lower()}")
        life.queue.put(MESSAGES)
        forker.warm_up(life)


@pytest.mark.verify(short=True, one_in=10)
@pytest.mark.parametrize("loses_acks", [False, True], ids=["acked", "acks are lost"])
@pytest.mark.parametrize("site", SITES)
def test_each_message_counts_once_wherever_its_process_is_killed(
    site: Site, loses_acks: bool, addresses: Addresses, forkers: list[Forker]
) -> None:
    """Each border of a batch, or some; a successor dies as well, at a border that is drawn, in half of the cases."""
    rng, points = random.Random(base_seed()), points_of(site)
    drawn = rng.sample(points, min(len(points), effort().queue_borders))
    cases = [(point, rng.choice([None, rng.choice(SECOND_DEATHS)]), rng.random() < 0.5) for point in drawn]
    problems = _played(site, cases, addresses, forkers, loses_acks=loses_acks)
    assert not problems, "\n".join(problems)


@pytest.mark.verify
def test_a_successor_dies_at_each_border_too(addresses: Addresses, forkers: list[Forker]) -> None:
    cases = [
        (first, second, number % 2 == 0)
        for first in (CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PIN)
        for number, second in enumerate(SECOND_DEATHS)
    ]
    problems = _played(Site.APART, cases, addresses, forkers, loses_acks=False)
    assert not problems, "\n".join(problems)


def _played(
    site: Site, cases: Sequence[Case], addresses: Addresses, forkers: list[Forker], *, loses_acks: bool
) -> list[str]:
    """Play the cases side by side; returns what was wrong."""

    def play_one(forker: Forker, case: Case) -> Iterator[str]:
        first, second, along = case
        name = f"{site.name} {first.name} {second and second.name} {along=} {loses_acks=}"
        key = uuid.uuid4().hex[:12]
        life = MessagesLife(site, addresses, key, first, takes_spout_along=along, loses_acks=loses_acks)
        yield from (f"{name}: {problem}" for problem in play(life, forker, second))

    return side_by_side(forkers, cases, play_one)
