"""When the last txid that is done may be undone: each thing that keeps it from that, by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.ledger.making import dead_letter_of, loss_of, pin_of, plan_of, range_of, received_of
from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Refusal, StopKind
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.rules.taking_back import check_taken_back
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Birth, ColumnBirth, Dropped

BEFORE = plan_of(4, 41, 31, range_of(0, 5, 15))
PLAN = plan_of(5, 52, 41, range_of(0, 15, 25), range_of(1, 7, 7), range_of(2, 0, 3))
"""Partition 1 had nothing for long, and partition 2 was seen for the first time."""
UNDO = Decision(DecisionKind.UNDO, 5, 52)
FOUND = LastDone(pin_of(PLAN), BEFORE, (Birth("balances", 0), Birth("totals", 4)))
GONE = Dropped("totals", {}, Birth("totals", 0), "life", 5)


def before(
    decision: Decision = UNDO,
    found: LastDone | None = FOUND,
    pinned: tuple[int, int] | None = None,
    refusal: Refusal | None = None,
    decisions: tuple[Decision, ...] = (),
) -> Plan:
    return check_taken_back((5, 52), pinned, decision, found, refusal, decisions)


def found(plan: Plan = PLAN, **changes: Any) -> LastDone:
    return replace(replace(FOUND, pin=pin_of(plan)), **changes)


def test_the_plan_before_has_every_partition_where_the_txid_has_begun() -> None:
    assert before() == replace(BEFORE, ranges=(range_of(0, 5, 15), range_of(1, 7, 7), range_of(2, 0, 0)))


def test_what_proves_a_log_further_on_proves_it_here() -> None:
    later = replace(range_of(2, 0, 3), range=replace(range_of(2, 0, 3).range, epoch=9))
    assert before(found=found(replace(PLAN, ranges=(*PLAN.ranges[:2], later)))).ranges[2].range.epoch == 9


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"decision": replace(UNDO, txid=4, attempt=41)}, "txid 5 attempt 52 is the last one that is done"),
        ({"decision": replace(UNDO, txid=6)}, "txid 5 attempt 52 is the last one that is done"),
        ({"decision": replace(UNDO, attempt=51)}, "txid 5 attempt 52 is the last one that is done"),
        ({"pinned": (6, 53)}, "txid 6 is pinned and not done"),
        ({"decisions": (Decision(DecisionKind.DIVERT, 6, 53, "totals"),)}, "a divert of txid 6 .* is not finished"),
        ({"refusal": Refusal(6, 53, StopKind.REFUSED, "totals", "no")}, "txid 6 was refused and waits"),
        ({"found": None}, "the ledger has not kept what was applied"),
        ({"found": found(replace(PLAN, predecessor=0))}, "it is the first of its incarnation"),
        ({"found": found(before=None)}, "let go of the plan of txid 4"),
        ({"found": found(replace(PLAN, losses=(loss_of(0, 15, 16),)))}, "offsets were lost"),
        ({"found": found(replace(PLAN, received=(received_of("a"),)))}, "it has messages"),
        ({"found": found(replace(PLAN, timers=("noon",)))}, "was due at a time"),
        ({"found": found(pin=pin_of(PLAN, dead_letter_of(16)))}, "it has 1 dead letters"),
        ({"found": found(dead_letters=2)}, "it has 2 dead letters"),
        ({"found": found(diverted=("totals",))}, "rows of it were diverted"),
        ({"found": found(replace(PLAN, diverts=("totals",)))}, "rows of it were diverted"),
        ({"found": found(births=(Birth("totals", 5),))}, "state 'totals' came behind it"),
        ({"found": found(births=(Birth("totals", None),))}, "state 'totals' came behind it"),
        (
            {"found": found(births=(Birth("totals", 0, columns=(ColumnBirth("n", 4), ColumnBirth("m", 5))),))},
            "value 'm' of state 'totals' came behind it",
        ),
        ({"found": found(taken_out=(GONE,))}, "'totals' was taken out behind it"),
        ({"found": found(before=plan_of(4, 41, 31, range_of(0, 5, 14)))}, "does not begin where that of txid 4 stops"),
        ({"found": found(before=plan_of(4, 41, 31, range_of(3, 5, 14)))}, "does not begin where that of txid 4 stops"),
        (
            {"found": found(before=plan_of(4, 41, 31, range_of(0, 5, 15, "id-of-another")))},
            "does not begin where that of txid 4 stops",
        ),
        ({"found": found(before=replace(BEFORE, attempt=42))}, "does not follow on attempt 42"),
        ({"found": found(before=replace(BEFORE, txid=3))}, "does not follow on attempt 41 of txid 3"),
    ],
)
def test_what_keeps_it_from_being_taken_back_is_said(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(MismatchError, match=f"no undo of txid .*it is done, and .*{word}.* Nothing was changed"):
        before(**wrong)


def test_what_is_older_than_the_txid_is_in_no_way() -> None:
    assert before(refusal=Refusal(6, 53, StopKind.GAVE_UP, "", "no")) == before()
    births = (Birth("totals", 4, columns=(ColumnBirth("n", 4),)),)
    assert before(found=found(births=births, taken_out=(replace(GONE, txid=4),))) == before()
