"""Which rows of commands are carried out: suspicion of what is written there, in the order of their numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.ledger.lifecycle_contract import sent
from trident.base.identity import Owner
from trident.coordinators.ledger.rules.lifecycle import KeptCommand, kept_of, sort_out
from trident.coordinators.lifecycle import Activate, Deactivate, Given, Kill, LifeCycleCommand, Rebalance, Verdict

OWNER = Owner("payments", "life-1")


def kept(number: int, command: LifeCycleCommand) -> KeptCommand:
    return kept_of(number, OWNER.incarnation, sent(command, f"id-{number}"))


@pytest.mark.parametrize(
    "command", [Activate(), Deactivate(), Rebalance(2, 3), Rebalance(None, 3), Kill(timedelta(milliseconds=1500))]
)
def test_a_command_is_read_as_it_was_given(command: LifeCycleCommand) -> None:
    assert sort_out([(kept(1, command), False)], OWNER).due == (Given(1, command),)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("explode", "{}"),
        ("activate", "no json"),
        ("rebalance", "{}"),
        ("rebalance", '{"max_pending": 0}'),
        ("rebalance", '{"max_pending": "many"}'),
        ("kill", '{"wait": "-PT1S"}'),
        ("kill", '{"wait": 5000000000000}'),
        ("kill", '{"of": ' + 20_000 * "[" + 20_000 * "]" + "}"),
    ],
)
def test_what_is_no_command_is_refused_and_holds_up_none(kind: str, arguments: str) -> None:
    rows = [(kept(2, Activate()), False), (replace(kept(1, Deactivate()), kind=kind, arguments=arguments), False)]
    found = sort_out(rows, OWNER)
    assert found.due == (Given(2, Activate()),)
    assert [(number, reply.verdict) for number, reply in found.settled] == [(1, Verdict.REFUSED)]


def test_they_come_in_the_order_of_their_numbers() -> None:
    found = sort_out([(kept(number, Activate()), False) for number in (3, 1, 2)], OWNER)
    assert [given.number for given in found.due] == [1, 2, 3]


def test_one_that_is_late_is_still_done_where_somebody_had_begun_with_it() -> None:
    mine, others, nobodys = (replace(kept(n, Activate()), epoch=epoch) for n, epoch in ((1, 3), (2, 2), (3, None)))
    found = sort_out([(row, True) for row in (mine, others, nobodys)], OWNER)
    assert [given.number for given in found.due] == [1, 2]
    assert [(number, reply.verdict) for number, reply in found.settled] == [(3, Verdict.VOID)]
