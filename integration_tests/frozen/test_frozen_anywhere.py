"""An owner that freezes inside of any statement or COPY is replaced within two leases, and changes nothing later."""

from __future__ import annotations

import random

import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.playing import (
    LATER,
    LEASE,
    LEASES,
    PLACES,
    databases,
    draw_cut,
    messages_of,
    play,
    seconds_alone,
)
from tests.effort import base_seed, effort

WITHIN_S = LEASES * LEASE.total_seconds()
PLAYS = 3


def draws(place: str, postgres: Postgres) -> list[tuple[int, str]]:
    """Return in which messages to freeze, each so many from a drawn one on, and where inside of them."""
    total = messages_of(databases(postgres), lambda where: where.run(place))
    step, rng = -(-total // effort().freezes), random.Random(f"{base_seed()} {place}")
    return [(number, draw_cut(rng)) for number in range(rng.randint(1, step), total + 1, step)]


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.drawn(one_in=2)
def test_a_network_that_goes_dark_inside_of_any_message(postgres: Postgres, place: str) -> None:
    for number, cut in draws(place, postgres):
        check(postgres, place, number, cut, by_signal=False)


@pytest.mark.verify(short=True)
def test_a_process_that_is_stopped_inside_of_any_message(postgres: Postgres) -> None:
    place = random.Random(base_seed()).choice(PLACES)
    for number, cut in draws(place, postgres):
        check(postgres, place, number, cut, by_signal=True)


def check(postgres: Postgres, place: str, number: int, cut: str, *, by_signal: bool) -> None:
    """What is stored is right in every play; how long it took is the quickest's affair, since machines are shared.

    A machine that is slow at it with nobody in the way may be as much slower here.
    """
    told = f"{place}, frozen in message {number}, of which {cut} has passed"
    took: list[float] = []
    while not took or (min(took) >= WITHIN_S and len(took) < PLAYS):
        where = databases(postgres)
        played = play(where, place, number, cut, by_signal=by_signal)
        expected = where.job(place, LATER).topic.expected()
        assert all(rows == expected for rows in played.rows.values()), told
        assert played.rows_after_waking == played.rows, told
        took.append(played.seconds)
    if min(took) >= WITHIN_S:
        alone = seconds_alone(databases(postgres), place)
        assert min(took) < WITHIN_S + 3 * alone, f"{told}: {took} s, and {alone} s with nobody in the way"
