"""What every ledger does when diverted rows are put back: the pin carries the decision, which is the mark of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.ledger.decision_contract import DIVERT, REFUSED, ROWS, planned_again, refused
from tests.ledger.making import BATCH_TIME, Run, commit_of, dead_letter_of, pin_of, successor
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Diverted, ResetDecision, RowsOf
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.ledger.rules.reapplying import due
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.planned import Plan

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
OF = RowsOf(1, "balances")
REAPPLY = Decision(DecisionKind.REAPPLY, 2, 3, str(OF), "ann")


def diverted(ledger: AnyLedger, kind: Decision = DIVERT) -> Run:
    """Return the next owner of a topology whose first txid is done with a later attempt, without its rows."""
    run = refused(ledger, pinned=False)
    ledger.decide(run.owner, run.epoch, kind)
    plan = planned_again(run, diverts=("balances",))
    pin = replace(pin_of(plan), states=(StatePin("balances", 0),), diverts=(Diverted("balances", ROWS),))
    ledger.commit_together(run.owner, run.epoch, pin, commit_of(plan), (), ())
    return successor(run)


def plan_back(run: Run, txid: int = 2, attempt: int = 3) -> Plan:
    """Plan a txid that reads nothing and puts the rows back."""
    assert run.last is not None
    stand = [replace(item, range=replace(item.range, start=item.range.stop)) for item in run.last.ranges]
    plan = Plan(txid, attempt, 1, run.last.attempt, BATCH_TIME, tuple(stand), timers=(due(OF),))
    run.ledger.plan(run.owner, run.epoch, plan, txid)
    return plan


def pin_back(plan: Plan) -> Pin:
    decision = replace(REAPPLY, txid=plan.txid, attempt=plan.attempt)
    return replace(pin_of(plan), manifests=(), reapply=decision)


def put_back(run: Run) -> int | None:
    found = run.ledger.taken_out(run.owner, run.epoch, 1, ["balances", "other"])
    assert found is not None
    assert (found.of, found.rows, found.incarnation) == (OF, ROWS, run.owner.incarnation)
    return found.put_back


class ReapplyingContract:
    """Rows are put back by one txid at most, whatever is repeated."""

    def test_rows_are_marked_in_the_transaction_that_pins_and_finishes(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        assert put_back(run) is None
        plan = plan_back(run)
        for _ in range(2):  # its answer was lost
            ledger.commit_together(run.owner, run.epoch, pin_back(plan), commit_of(plan), (), ())
        assert put_back(run) == 2
        story = ledger.view().txid("payments", 2)
        assert [(row.kind, row.state, row.is_finished) for row in story.decisions] == [
            ("reapply", "1 of balances", True)
        ]
        assert story.attempts[0].timers == ("reapply 1 of balances",)
        kinds = [(row.kind, row.txid) for row in ledger.view().txid("payments", 1).decisions]
        assert kinds == [("divert", 1), ("reapply", 2)]

    def test_rows_are_marked_with_the_pin_and_nothing_is_open_after_it(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        plan = plan_back(run)
        for _ in range(2):
            ledger.pin(run.owner, run.epoch, pin_back(plan))
        new = successor(run)
        assert (new.snapshot().pinned, new.snapshot().decisions, put_back(new)) == ((2, 3), (), 2)
        for _ in range(2):
            new.done(plan)
        assert [row.is_finished for row in ledger.view().txid("payments", 2).decisions] == [True]
        assert put_back(new) == 2

    def test_an_undo_takes_the_mark_back_too(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        plan = plan_back(run)
        ledger.pin(run.owner, run.epoch, pin_back(plan))
        run = successor(run)
        undo = Decision(DecisionKind.UNDO, 2, 3)
        ledger.decide(run.owner, run.epoch, undo)
        assert put_back(run) == 2
        for _ in range(2):
            ledger.unpin(run.owner, run.epoch, undo)
        assert put_back(run) is None
        run = successor(run)
        again = plan_back(run, attempt=4)
        ledger.commit_together(run.owner, run.epoch, pin_back(again), commit_of(again), (), ())
        assert put_back(run) == 2

    @pytest.mark.parametrize("shortcut", [True, False])
    def test_what_is_not_just_these_rows_is_not_pinned(self, ledger: AnyLedger, shortcut: bool) -> None:
        run = diverted(ledger)
        plan = plan_back(run)
        good = pin_back(plan)
        wrong = {
            "says nothing of that": replace(good, reapply=None),
            "carries a undo of txid 2": replace(good, reapply=Decision(DecisionKind.UNDO, 2, 3)),
            "carries a reapply of txid 1 of balances as txid 9": replace(good, reapply=replace(REAPPLY, txid=9)),
            "does not put rows of txid 1 of totals back": replace(good, reapply=replace(REAPPLY, state="1 of totals")),
            "reads records, or has rows": replace(good, dead_letters=(dead_letter_of(1),)),
            "it has 3 rows, and 2 that were taken out": replace(good, states=(StatePin("balances", 3),)),
            "it has 0 rows, and 2 that were taken out": replace(good, states=(StatePin("balances", 0),)),
        }
        for why, pin in wrong.items():
            record = partial(ledger.pin, run.owner, run.epoch, pin)
            if shortcut:
                record = partial(ledger.commit_together, run.owner, run.epoch, pin, commit_of(plan), (), ())
            with pytest.raises(MismatchError, match=why):
                record()
        assert (put_back(run), run.snapshot().done, run.snapshot().pinned) == (None, 1, None)
        ledger.pin(run.owner, run.epoch, good)

    def test_nothing_is_put_back_twice(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        plan = plan_back(run)
        ledger.commit_together(run.owner, run.epoch, pin_back(plan), commit_of(plan), (), ())
        run = successor(run)
        second = plan_back(run, 3, 4)
        with pytest.raises(MismatchError, match="txid 2 has put the rows of txid 1 of balances back"):
            ledger.pin(run.owner, run.epoch, pin_back(second))

    def test_a_plan_that_reads_puts_nothing_back(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        plan = replace(run.next_plan(), timers=(due(OF),))
        ledger.plan(run.owner, run.epoch, plan)
        with pytest.raises(MismatchError, match="reads records"):
            ledger.pin(run.owner, run.epoch, pin_back(plan))

    def test_a_reader_of_a_later_epoch_is_needed(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        successor(run)
        with pytest.raises(FencedError):
            ledger.taken_out(run.owner, run.epoch, 1, ["balances"])

    def test_a_txid_that_put_rows_back_is_not_taken_back(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        plan = plan_back(run)
        ledger.commit_together(run.owner, run.epoch, pin_back(plan), commit_of(plan), (), ())
        run = successor(run)
        with pytest.raises(MismatchError, match="it has put the rows back that were taken out of txid 1 of balances"):
            ledger.take_back(run.owner, run.epoch, Decision(DecisionKind.UNDO, 2, 3))

    def test_rows_of_an_earlier_incarnation_are_said_to_be(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        reset = ResetDecision("fedc", 7, "clear", None)
        ledger.decide_reset(run.epoch, "payments", reset)
        ledger.finish_reset(run.epoch, "payments", reset)
        new = successor(run)
        found = ledger.taken_out(new.owner, new.epoch, 1, ["balances"])
        assert found is not None
        assert (found.incarnation, found.rows) == (run.owner.incarnation, ROWS)
        assert ledger.taken_out(new.owner, new.epoch, 2, ["balances"]) is None
        assert ledger.taken_out(new.owner, new.epoch, 1, ["totals"]) is None

    @pytest.mark.parametrize("decision", [DIVERT, REFUSED])
    def test_rows_that_were_made_for_a_held_divert_are_said_to_be(self, ledger: AnyLedger, decision: Decision) -> None:
        run = diverted(ledger, decision)
        found = ledger.taken_out(run.owner, run.epoch, 1, ["balances"])
        assert found is not None
        assert found.is_held

    def test_rows_of_a_pinned_txid_were_made_as_they_are_stored(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, DIVERT)
        ledger.divert(run.owner, run.epoch, DIVERT, ROWS)
        assert run.last is not None
        run.done(run.last)
        found = ledger.taken_out(run.owner, run.epoch, 1, ["balances"])
        assert found is not None
        assert not found.is_held

    def test_a_reapply_is_decided_with_its_pin_only(self, ledger: AnyLedger) -> None:
        run = diverted(ledger)
        with pytest.raises(MismatchError, match="it is no decision about a txid"):
            ledger.decide(run.owner, run.epoch, REAPPLY)
