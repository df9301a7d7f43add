"""What every ledger does when the last done txid is to be undone: it is pinned again, and then like any pinned one."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.ledger.making import SPEC, Run, commit_of, dead_letter_of, pin_of, plan_of, range_of, started, successor
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Refusal, ResetDecision, StopKind
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.registered import Birth, Keep, TopologySpec

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
UNDO = Decision(DecisionKind.UNDO, 3, 3, decided_by="ann")
FIRST = plan_of(1, 1, 0, range_of(0, 5, 15), range_of(1, 7, 17))
SECOND = plan_of(2, 2, 1, range_of(0, 15, 25), range_of(1, 17, 17))
THIRD = plan_of(3, 3, 2, range_of(0, 25, 25), range_of(1, 17, 27), range_of(2, 0, 4))
"""Each leaves a partition as it was, and the last one has a partition that nobody had seen."""


def three_done_in(run: Run) -> Run:
    """Return the same topology's next owner, with three txids done."""
    run.ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
    for plan in (FIRST, SECOND, THIRD):
        run.ledger.plan(run.owner, run.epoch, plan)
        run.ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), (), ())
    return successor(run)


def three_done(ledger: AnyLedger) -> Run:
    """Return the owner of a topology with three txids done."""
    return three_done_in(started(ledger))


class TakingBackContract:
    """The last done txid is made the pinned one again, and nothing else of a ledger is touched by that."""

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def test_what_is_left_of_the_last_done_txid_is_read_and_nothing_is_changed(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.last_done(run.owner, run.epoch) is None
        run = three_done_in(run)
        before = run.snapshot()
        found = ledger.last_done(run.owner, run.epoch)
        assert found is not None
        assert (found.pin.plan, found.pin.states, found.pin.dead_letters) == (THIRD, pin_of(THIRD).states, ())
        assert found.before is not None
        assert (found.before.attempt, found.before.ranges) == (2, SECOND.ranges[:1])
        assert (found.births, found.taken_out, found.diverted) == ((Birth("balances", 0),), (), ())
        assert run.snapshot() == before

    def test_the_last_done_txid_is_the_pinned_one_again_and_then_undone(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        ahead = plan_of(4, 4, 3, range_of(0, 25, 26), range_of(1, 27, 27), range_of(2, 4, 4))
        ledger.plan(run.owner, run.epoch, ahead)
        for _ in range(2):  # its answer was lost
            ledger.take_back(run.owner, run.epoch, UNDO)
        new = successor(run)
        found = new.snapshot()
        assert (found.done, found.done_attempt, found.pinned, found.live) == (2, 2, (3, 3), (THIRD,))
        assert found.pin is not None
        assert (found.pin.plan, found.pin.states) == (THIRD, pin_of(THIRD).states)
        assert found.done_plan is not None
        assert found.done_plan.ranges == (*SECOND.ranges, range_of(2, 0, 0))
        assert found.decisions == (UNDO,)
        with pytest.raises(MismatchError, match="undo of txid 3 attempt 3 was decided"):
            new.done(THIRD)
        for _ in range(2):
            ledger.unpin(new.owner, new.epoch, UNDO)
        found = new.snapshot()
        assert (found.done, found.pin, found.live, found.decisions) == (2, None, (), ())
        assert ledger.view().status("payments").done == 2
        story = ledger.view().txid("payments", 3)
        assert [row.status for row in story.attempts] == ["dropped"]
        assert [(row.kind, row.decided_by, row.is_finished) for row in story.decisions] == [("undo", "ann", True)]
        assert ledger.view().batches("payments", 1)[0].txid == 2

    def test_what_was_taken_back_is_planned_and_done_again(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        ledger.take_back(run.owner, run.epoch, UNDO)
        ledger.unpin(run.owner, run.epoch, UNDO)
        run = successor(run)
        assert ledger.last_plan_of(run.owner, 3) is not None
        again = plan_of(3, 5, 2, range_of(0, 25, 30), range_of(1, 17, 20), range_of(2, 0, 9))
        with pytest.raises(MismatchError, match="instead of 0"):
            ledger.plan(run.owner, run.epoch, replace(again, ranges=(*again.ranges[:2], range_of(2, 4, 9))))
        ledger.plan(run.owner, run.epoch, again)
        ledger.commit_together(run.owner, run.epoch, pin_of(again), commit_of(again), (), ())
        assert run.snapshot().done_plan == again
        second = replace(UNDO, attempt=5)
        run = successor(run)
        ledger.take_back(run.owner, run.epoch, second)
        ledger.unpin(run.owner, run.epoch, second)
        assert run.snapshot().done_plan == replace(SECOND, ranges=(*SECOND.ranges, range_of(2, 0, 0)))

    def test_a_txid_that_was_pinned_before_it_was_done_is_taken_back_too(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        plan = plan_of(4, 4, 3, range_of(0, 25, 26), range_of(1, 27, 27), range_of(2, 4, 4))
        ledger.plan(run.owner, run.epoch, plan)
        run.pin(plan)
        with pytest.raises(MismatchError, match="txid 4 is pinned and not done"):
            ledger.take_back(run.owner, run.epoch, UNDO)
        run.done(plan)
        ledger.take_back(run.owner, run.epoch, replace(UNDO, txid=4, attempt=4))
        found = run.snapshot()
        assert found.pinned == (4, 4)
        assert found.done_plan is not None
        assert found.done_plan.ranges == THIRD.ranges

    def test_a_refusal_of_before_does_not_come_back(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
        run.finish(1)
        plan = run.plan()
        ledger.refuse(run.owner, run.epoch, Refusal(2, plan.attempt, StopKind.GAVE_UP, "", "slow"))
        run.together(plan)
        run = successor(run)
        undo = replace(UNDO, txid=2, attempt=plan.attempt)
        ledger.take_back(run.owner, run.epoch, undo)
        ledger.unpin(run.owner, run.epoch, undo)
        assert run.snapshot().refusal is None

    @pytest.mark.parametrize(
        ("decision", "word"),
        [
            (replace(UNDO, txid=2, attempt=2), "txid 3 attempt 3 is the last"),
            (replace(UNDO, txid=4, attempt=4), "txid 3 attempt 3 is the last"),
            (replace(UNDO, attempt=2), "txid 3 attempt 3 is the last"),
        ],
    )
    def test_nothing_else_is_taken_back(self, ledger: AnyLedger, decision: Decision, word: str) -> None:
        run = three_done(ledger)
        before = run.snapshot()
        with pytest.raises(MismatchError, match=word):
            ledger.take_back(run.owner, run.epoch, decision)
        assert run.snapshot() == before

    def test_nobody_else_takes_it_back(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        with pytest.raises(MismatchError, match="reset meanwhile"):
            ledger.take_back(replace(run.owner, incarnation="another"), run.epoch, UNDO)
        new = successor(run)
        with pytest.raises(FencedError):
            ledger.take_back(run.owner, run.epoch, UNDO)
        ledger.decide_reset(new.epoch, "payments", ResetDecision("second", 3, "adopt", None))
        with pytest.raises(MismatchError, match="a reset to incarnation second was decided"):
            ledger.take_back(new.owner, new.epoch, UNDO)

    def test_the_first_txid_and_one_with_dead_letters_stay_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
        run.finish(1)
        with pytest.raises(MismatchError, match="first of its incarnation"):
            ledger.take_back(run.owner, run.epoch, Decision(DecisionKind.UNDO, 1, 1))
        plan = run.plan()
        pin = pin_of(plan, dead_letter_of(16))
        ledger.commit_together(run.owner, run.epoch, pin, commit_of(plan), (), ())
        with pytest.raises(MismatchError, match="it has 1 dead letters"):
            ledger.take_back(run.owner, run.epoch, Decision(DecisionKind.UNDO, 2, 2))

    def test_what_people_were_told_of_is_known_when_its_rows_are_kept_no_more(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        plan = plan_of(4, 4, 3, range_of(0, 25, 26), range_of(1, 27, 27), range_of(2, 4, 4))
        ledger.plan(run.owner, run.epoch, plan)
        run.pin(plan)
        ledger.refuse(run.owner, run.epoch, Refusal(4, 4, StopKind.REFUSED, "balances", "no"))
        divert = Decision(DecisionKind.DIVERT, 4, 4, "balances")
        ledger.decide(run.owner, run.epoch, divert)
        ledger.divert(run.owner, run.epoch, divert, ())
        ledger.done(run.owner, run.epoch, replace(commit_of(plan), dead_letters=2))
        found = ledger.last_done(run.owner, run.epoch)
        assert found is not None
        assert (found.diverted, found.dead_letters, found.pin.dead_letters) == (("balances",), 2, ())
        assert ledger.diverted("payments") == ()

    def test_what_has_gone_from_the_history_is_not_guessed(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        self.wait(0.01)
        ledger.clean_up(run.owner, run.epoch, Keep(1, timedelta(0)))
        with pytest.raises(MismatchError, match="let go of the plan of txid 2"):
            ledger.take_back(run.owner, run.epoch, UNDO)

    def test_births_are_those_that_are_stored(self, ledger: AnyLedger) -> None:
        run = three_done(ledger)
        newer = TopologySpec(SPEC.name, SPEC.spouts, {**SPEC.states, "totals": {"kind": "opaque"}})
        ledger.look(run.epoch, newer)
        found = ledger.last_done(run.owner, run.epoch)
        assert found is not None
        assert found.births == (Birth("balances", 0),)
        ledger.register(run.epoch, newer)
        ledger.set_births(run.owner, run.epoch, [Birth("balances", 0), Birth("totals", 3)])
        with pytest.raises(MismatchError, match="state 'totals' came behind it"):
            ledger.take_back(run.owner, run.epoch, UNDO)
