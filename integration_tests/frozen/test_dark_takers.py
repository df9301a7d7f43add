"""Who goes dark before it has an epoch that is older than any: while it takes the lease, tries, or makes tables."""

from __future__ import annotations

import random
import threading
import time

import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.commanding import COMMANDS, PLACE, dark, seconds_to_take_over
from integration_tests.frozen.playing import CUTS, LATER, LEASE, LEASES, Owner, databases, draw_cut, messages_of
from tests.effort import base_seed, effort
from trident.coordinators.ledger import PostgresLedger
from trident.testing.postgres_proxy import PostgresProxy, all_but_the_last_byte

WITHIN_S = 2 * LEASES * LEASE.total_seconds()  # commands do more behind the lock than an owner that takes over
PLAYS = 3


@pytest.mark.parametrize(
    ("runs_before", "words"),
    [
        (False, b"INSERT INTO trident_fence"),
        (False, b"INSERT INTO trident_heartbeat"),
        (True, b"UPDATE trident_fence"),
        (True, b"UPDATE trident_heartbeat SET epoch"),
    ],
)
def test_who_goes_dark_while_it_takes_the_lease_is_got_past(
    postgres: Postgres, runs_before: bool, words: bytes
) -> None:
    """The server has done what it was told, holds the locks, and waits for the end of the message without a limit."""
    place = "beside the ledger"
    where = databases(postgres)
    if runs_before:
        where.run(place)
    else:
        PostgresLedger(where.ledger).open()
    with PostgresProxy(where.ledger) as proxy:
        through = where.through(proxy)
        owner = Owner(lambda: through.run(place))
        frozen = proxy.freeze_in(words, all_but_the_last_byte)
        owner.start()
        assert frozen.wait(30)
        began = time.monotonic()
        where.run(place, count=LATER)
        assert time.monotonic() - began < PLAYS * WITHIN_S  # a machine may be shared; it was for ever
        assert where.are_exact(place)
        proxy.cut()
        proxy.release()
        owner.wait()
    assert where.are_exact(place)


@pytest.mark.parametrize("trial", [1, 2], ids=["before the fences", "behind them"])
def test_a_trial_that_goes_dark_with_all_rows_locked_is_got_past(postgres: Postgres, trial: int) -> None:
    """The first one goes by an epoch that the state's own database does not know yet."""
    command = COMMANDS["reset"]
    where = command.prepared(postgres)
    words = b'DELETE FROM "trident_staging_outside"'

    def freeze(proxy: PostgresProxy) -> threading.Event:
        return proxy.freeze_in(words, all_but_the_last_byte, trial)

    with dark(where, command, freeze) as happened:
        assert happened
        assert seconds_to_take_over(where, command) < PLAYS * WITHIN_S
        assert where.are_exact(PLACE)
    where.run(PLACE, count=LATER)
    assert where.are_exact(PLACE)


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.drawn(one_in=2)
def test_a_command_that_goes_dark_inside_of_any_message(postgres: Postgres, name: str) -> None:
    command, rng = COMMANDS[name], random.Random(f"{base_seed()} {name}")
    total = messages_of(command.prepared(postgres), command.give)
    step = -(-total // effort().freezes)
    for number in range(rng.randint(1, step), total + 1, step):
        check(postgres, name, number, draw_cut(rng))


def check(postgres: Postgres, name: str, number: int, cut: str) -> None:
    """What is stored is right in every play; how long it took is the quickest's affair."""
    told, took = f"{name}, frozen in message {number}, of which {cut} has passed", list[float]()
    while not took or (min(took) >= WITHIN_S and len(took) < PLAYS):
        where = COMMANDS[name].prepared(postgres)
        with dark(where, COMMANDS[name], lambda proxy: proxy.freeze_at(number, CUTS[cut])):
            took.append(seconds_to_take_over(where, COMMANDS[name]))
            assert where.are_exact(PLACE), told
        where.run(PLACE, count=LATER)  # a command that wakes up before it was begun may do what it was given for
        assert where.are_exact(PLACE), told
    assert min(took) < WITHIN_S, f"{told}: {took} s"
