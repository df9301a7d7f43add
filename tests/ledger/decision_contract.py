"""What every ledger does with refusals and with the decisions of a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ledger.making import SPEC, Run, commit_of, dead_letter_of, pin_of, plan_of, range_of, started, successor
from trident.base.digest import Digest
from trident.base.errors import FencedError, MismatchError
from trident.base.writes import WriteManifest
from trident.coordinators.decided import Decision, DecisionKind, Diverted, Refusal, ResetDecision, StopKind
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Added, Birth

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
RETRY = Decision(DecisionKind.RETRY, 1, 1)
DIVERT = Decision(DecisionKind.DIVERT, 1, 1, "balances", "ann")
REFUSED = replace(DIVERT, kind=DecisionKind.DIVERT_REFUSED)
UNDO = Decision(DecisionKind.UNDO, 1, 1)
LEFT = StatePin("balances", 1, (WriteManifest("balances", "kept", Digest(1, 3, 4, -5)),))
"""What the pin says once one of its two rows has left."""
TWO = replace(SPEC, states={**SPEC.states, "totals": {"kind": "opaque"}})
ROWS = ('{"account":"ann","n":1}', '{"account":"bob","n":2}')


def refusal_of(plan: Plan, kind: StopKind = StopKind.REFUSED, state: str = "balances") -> Refusal:
    return Refusal(plan.txid, plan.attempt, kind, state, "a value is too large")


def refused(ledger: AnyLedger, *, pinned: bool) -> Run:
    """Return a new owner of a topology whose first txid was refused."""
    old = started(ledger)
    plan = old.plan()
    if pinned:
        ledger.pin(old.owner, old.epoch, pin_of(plan, dead_letter_of(6)))
    ledger.refuse(old.owner, old.epoch, refusal_of(plan))
    return successor(old)


def planned_again(run: Run, attempt: int = 2, *, diverts: tuple[str, ...] = (), stop: int = 15) -> Plan:
    """Drop what is live and plan txid 1 again, the same records unless another stop is given."""
    plan = plan_of(1, attempt, 0, range_of(0, 5, stop), range_of(1, 7, 17), tries=2)
    plan = replace(plan, diverts=diverts)
    run.ledger.plan(run.owner, run.epoch, plan, drop_from=1)
    run.follow(plan)
    return plan


def with_two_states(ledger: AnyLedger) -> tuple[Run, Decision]:
    """Return the owner of a topology with two states and a txid that is done, and the drop of one of them."""
    run = started(ledger)
    ledger.register(run.epoch, TWO)
    ledger.set_births(run.owner, run.epoch, [Birth("balances", 0), Birth("totals", 0)])
    run.together(run.plan())
    return run, Decision(DecisionKind.DROP, 1, 1, "totals", "ann")


class DecisionContract:
    """A refusal waits for a person; what the person decides is recorded, then carried out once."""

    def test_a_refusal_is_found_by_the_next_owner_until_its_txid_is_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        for _ in range(2):
            ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        new = successor(run)
        assert new.snapshot().refusal == refusal_of(plan)
        assert ledger.snapshot(new.epoch, "payments") == new.snapshot()
        new.together(planned_again(new))
        assert new.snapshot().refusal is None

    def test_the_latest_refusal_counts(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        ledger.refuse(run.owner, run.epoch, refusal_of(plan, StopKind.GAVE_UP, ""))
        new = successor(run)
        again = planned_again(new)
        ledger.refuse(new.owner, new.epoch, refusal_of(again))
        assert new.snapshot().refusal == refusal_of(again)

    def test_an_epoch_stops_once_and_never_at_what_is_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        run.together(first)
        with pytest.raises(MismatchError, match="1 is done"):
            ledger.refuse(run.owner, run.epoch, refusal_of(first))
        ledger.refuse(run.owner, run.epoch, refusal_of(second))
        with pytest.raises(MismatchError, match="has stopped at txid 2"):
            ledger.refuse(run.owner, run.epoch, refusal_of(second, StopKind.GAVE_UP))

    def test_a_retry_clears_the_refusal(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        for _ in range(2):
            ledger.decide(run.owner, run.epoch, RETRY)
        found = successor(run).snapshot()
        assert (found.refusal, found.decisions) == (None, ())
        assert found.pin is not None

    @pytest.mark.parametrize(
        ("decision", "word"),
        [
            (replace(RETRY, txid=2), "nothing of it was refused"),
            (replace(DIVERT, txid=2), "nothing of it was refused"),
            (replace(DIVERT, state="totals"), "state 'balances' that refused"),
            (replace(DIVERT, attempt=2), "attempt 1 was refused"),
            (replace(UNDO, txid=2), "nothing of it is pinned"),
            (replace(UNDO, attempt=2), "attempt 1 is pinned, not 2"),
            (replace(RETRY, txid=0), "0 is done"),
        ],
    )
    def test_a_decision_about_something_else_is_refused(self, ledger: AnyLedger, decision: Decision, word: str) -> None:
        run = refused(ledger, pinned=True)
        before = run.snapshot()
        with pytest.raises(MismatchError, match=word):
            ledger.decide(run.owner, run.epoch, decision)
        assert run.snapshot() == before

    def test_what_was_not_refused_by_a_state_is_not_diverted(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.refuse(run.owner, run.epoch, refusal_of(run.plan(), StopKind.GAVE_UP, ""))
        new = successor(run)
        with pytest.raises(MismatchError, match="no state that refused"):
            ledger.decide(new.owner, new.epoch, DIVERT)
        ledger.decide(new.owner, new.epoch, RETRY)
        assert new.snapshot().refusal is None

    def test_an_epoch_decides_once(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, DIVERT)
        with pytest.raises(MismatchError, match="decided before"):
            ledger.decide(run.owner, run.epoch, UNDO)

    def test_a_divert_empties_the_pin_for_its_state_and_keeps_the_rows(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, DIVERT)
        new = successor(run)
        assert new.snapshot().decisions == (DIVERT,)
        for _ in range(2):
            ledger.divert(new.owner, new.epoch, DIVERT, ROWS)
        found = new.snapshot()
        assert found.pin is not None
        assert found.pin.states == (StatePin("balances", 0),)
        assert (found.decisions, found.refusal) == ((), None)
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)
        assert new.last is not None
        new.done(new.last)
        assert new.snapshot().done == 1
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)

    def test_some_rows_leave_the_pin_with_the_decision_itself(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        for _ in range(2):  # its answer was lost
            ledger.divert_refused(run.owner, run.epoch, REFUSED, ROWS[:1], LEFT)
        new = successor(run)
        found = new.snapshot()
        assert found.pin is not None
        assert found.pin.states == (LEFT,)
        assert (found.decisions, found.refusal) == ((), None)
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS[:1])),)
        story = ledger.view().txid("payments", 1)
        assert [(row.kind, row.is_finished, row.void) for row in story.decisions] == [("divert refused", True, False)]
        assert [row.settled_by for row in story.refusals] == ["divert refused"]
        assert new.last is not None
        new.done(new.last)
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS[:1])),)

    def test_what_is_left_leaves_behind_the_rows_before(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.divert_refused(run.owner, run.epoch, REFUSED, ROWS[:1], LEFT)
        new = successor(run)
        assert new.last is not None
        ledger.refuse(new.owner, new.epoch, refusal_of(new.last))
        last = successor(new)
        ledger.decide(last.owner, last.epoch, DIVERT)
        ledger.divert(last.owner, last.epoch, DIVERT, ROWS[1:])
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)
        numbers = [row.number for row in ledger.view().txid("payments", 1).diverted]
        assert numbers == [1, 2]

    @pytest.mark.parametrize(
        ("decision", "rows", "left", "word"),
        [
            (replace(REFUSED, txid=2), ROWS[:1], LEFT, "nothing of it was refused"),
            (replace(REFUSED, attempt=2), ROWS[:1], LEFT, "attempt 1 was refused, not 2"),
            (replace(REFUSED, state="totals"), ROWS[:1], LEFT, "state 'balances' that refused it"),
            (REFUSED, ROWS, LEFT, "2 rows to take out and 1 to keep are not the 2 of the pin"),
            (REFUSED, (), LEFT, "0 rows to take out and 1 to keep are not the 2 of the pin"),
            (REFUSED, ROWS[:1], replace(LEFT, state="totals"), "are not the 2 of the pin"),
        ],
    )
    def test_rows_that_are_not_those_of_the_pin_do_not_leave(
        self, ledger: AnyLedger, decision: Decision, rows: tuple[str, ...], left: StatePin, word: str
    ) -> None:
        run = refused(ledger, pinned=True)
        before = run.snapshot()
        with pytest.raises(MismatchError, match=word):
            ledger.divert_refused(run.owner, run.epoch, decision, rows, left)
        assert (run.snapshot(), ledger.diverted("payments")) == (before, ())

    def test_of_what_is_not_pinned_nothing_leaves_at_once(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        with pytest.raises(MismatchError, match="nothing of it is pinned"):
            ledger.divert_refused(run.owner, run.epoch, REFUSED, ROWS[:1], LEFT)
        old = successor(run)
        with pytest.raises(FencedError):
            ledger.divert_refused(run.owner, run.epoch, REFUSED, ROWS[:1], LEFT)
        assert old.snapshot().decisions == ()

    @pytest.mark.parametrize(("first", "second"), [(DIVERT, REFUSED), (REFUSED, DIVERT), (REFUSED, REFUSED)])
    def test_a_held_divert_of_some_rows_is_one_like_that_of_all(
        self, ledger: AnyLedger, first: Decision, second: Decision
    ) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, first)
        plan = planned_again(run, diverts=("balances",))
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        new, again = successor(run), replace(second, attempt=plan.attempt)
        ledger.decide(new.owner, new.epoch, again)
        assert new.snapshot().decisions == (again,)
        last = planned_again(new, 3, diverts=("balances",))
        self._commit_together(new, replace(pin_of(last), diverts=(Diverted("balances", ROWS[:1]),)))
        assert new.snapshot().decisions == ()
        kept = ledger.view().txid("payments", 1).decisions
        assert [(row.is_finished, row.void) for row in kept] == [(True, True), (True, False)]
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS[:1])),)
        new.finish(1)

    def test_a_second_divert_of_a_pin_keeps_the_rows_of_the_first(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, DIVERT)
        plan = planned_again(run, diverts=("balances",))
        empty = replace(pin_of(plan), states=(StatePin("balances", 0),))
        self._pin(run, replace(empty, diverts=(Diverted("balances", ROWS),)))
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))  # even of nothing: its server refuses whatever is written
        new = successor(run)
        again = replace(DIVERT, attempt=plan.attempt)
        ledger.decide(new.owner, new.epoch, again)
        ledger.divert(new.owner, new.epoch, again, ())
        assert new.snapshot().decisions == ()
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)

    def test_a_divert_of_what_is_not_pinned_is_held_for_the_attempt_that_commits(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, DIVERT)
        new = successor(run)
        with pytest.raises(MismatchError, match="is not pinned"):
            ledger.divert(new.owner, new.epoch, DIVERT, ROWS)
        for wrong in ((), ("totals",), ("balances", "balances")):
            with pytest.raises(MismatchError, match="diverts the rows of"):
                planned_again(new, diverts=wrong)
        plan = planned_again(new, diverts=("balances",))
        assert new.snapshot().live == (plan,)
        empty = replace(pin_of(plan), states=(StatePin("balances", 0),))
        another = replace(empty, diverts=(Diverted("totals", ROWS),))
        twice = replace(empty, diverts=(Diverted("balances", ROWS), Diverted("balances", ROWS)))
        for pin in (empty, another, twice):
            with pytest.raises(MismatchError, match="diverts the rows of"):
                self._pin(new, pin)
        assert new.snapshot().decisions == (DIVERT,)
        for _ in range(2):
            self._pin(new, replace(empty, diverts=(Diverted("balances", ROWS),)))
        assert new.snapshot().decisions == ()
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)

    def test_a_held_divert_gives_way_to_one_about_an_attempt_that_was_refused_later(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, DIVERT)
        plan = planned_again(run, diverts=("balances",))
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        new, again = successor(run), replace(DIVERT, attempt=plan.attempt)
        with pytest.raises(MismatchError, match="attempt 2 was refused, not 3"):
            ledger.decide(new.owner, new.epoch, replace(DIVERT, attempt=3))
        assert new.snapshot().decisions == (DIVERT,)
        for _ in range(2):
            ledger.decide(new.owner, new.epoch, again)
        found = new.snapshot()
        assert (found.refusal, found.decisions) == (None, (again,))
        kept = ledger.view().txid("payments", 1).decisions
        assert [(row.attempt, row.is_finished, row.void) for row in kept] == [(1, True, True), (2, False, False)]
        last = planned_again(new, 3, diverts=("balances",))
        pin = replace(pin_of(last), diverts=(Diverted("balances", ROWS),))
        self._commit_together(new, pin)
        assert new.snapshot().decisions == ()
        assert ledger.diverted("payments") == ((1, Diverted("balances", ROWS)),)
        new.finish(1)

    def test_a_divert_that_is_held_goes_with_the_shortcut(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, DIVERT)
        plan = planned_again(run, diverts=("balances",))
        with pytest.raises(MismatchError, match="diverts the rows of no state, its plan those of 'balances'"):
            run.together(plan)
        pin = replace(pin_of(plan), diverts=(Diverted("balances", ()),))
        for _ in range(2):
            self._commit_together(run, pin)
        assert run.snapshot().done == 1
        assert ledger.diverted("payments") == ()
        run.finish(1)

    def test_nobody_diverts_without_a_decision(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        with pytest.raises(MismatchError, match="decided was no state"):
            planned_again(run, diverts=("balances",))
        plan = planned_again(run)
        with pytest.raises(MismatchError, match="its plan those of no state"):
            self._pin(run, replace(pin_of(plan), diverts=(Diverted("balances", ROWS),)))
        run.pin(plan)
        with pytest.raises(MismatchError, match="nobody decided it"):
            ledger.divert(run.owner, run.epoch, replace(DIVERT, attempt=2), ROWS)
        with pytest.raises(MismatchError, match="nobody decided it"):
            ledger.unpin(run.owner, run.epoch, replace(UNDO, attempt=2))

    def test_a_decision_is_about_records_and_void_when_others_take_the_txid(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=False)
        ledger.decide(run.owner, run.epoch, DIVERT)
        assert [plan.attempt for plan in run.snapshot().refused] == [1]
        with pytest.raises(MismatchError, match="decided was no state"):
            planned_again(run, diverts=("balances",), stop=16)
        assert run.snapshot().decisions == (DIVERT,), "rolled back with the plan"
        for _ in range(2):
            planned_again(run, stop=16)
        found = run.snapshot()
        assert (found.decisions, found.refused) == ((), ())
        kept = ledger.view().txid("payments", 1).decisions
        assert [(row.kind, row.is_finished, row.void) for row in kept] == [("divert", True, True)]
        run.together(planned_again(run, 3))
        assert ledger.diverted("payments") == ()

    def test_only_the_live_attempt_that_is_next_in_turn_can_be_refused(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        with pytest.raises(MismatchError, match="may still make it void"):
            ledger.refuse(run.owner, run.epoch, refusal_of(second))
        with pytest.raises(MismatchError, match="is not live"):
            ledger.refuse(run.owner, run.epoch, replace(refusal_of(first), attempt=second.attempt))
        run.together(first)
        with pytest.raises(MismatchError, match="it is done too"):
            ledger.refuse(run.owner, run.epoch, refusal_of(first))
        ledger.refuse(run.owner, run.epoch, refusal_of(second))
        assert run.snapshot().refusal == refusal_of(second)

    def test_an_undo_stops_all_writes_until_it_is_unpinned(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        for _ in range(2):
            ledger.decide(run.owner, run.epoch, UNDO)
        new = successor(run)
        assert new.snapshot().decisions == (UNDO,)
        assert new.last is not None
        plan = new.last
        for call in (
            lambda: new.done(plan),
            lambda: ledger.plan(new.owner, new.epoch, None, 2),
            lambda: ledger.decide(new.owner, new.epoch, RETRY),
            lambda: ledger.refuse(new.owner, new.epoch, refusal_of(plan)),
        ):
            with pytest.raises(MismatchError, match="undo of txid 1 attempt 1 was decided"):
                call()
        for _ in range(2):
            ledger.unpin(new.owner, new.epoch, UNDO)
        found = new.snapshot()
        assert (found.pin, found.live, found.decisions, found.refusal, found.done) == (None, (), (), None, 0)

    def test_what_was_undone_is_planned_and_pinned_again(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        second = plan_of(2, 2, 1, range_of(0, 15, 16), range_of(1, 17, 18))
        ledger.plan(run.owner, run.epoch, second)
        ledger.decide(run.owner, run.epoch, UNDO)
        ledger.unpin(run.owner, run.epoch, UNDO)
        assert ledger.dead_letters("payments") == ()
        with pytest.raises(MismatchError, match="was dropped"):
            ledger.plan(run.owner, run.epoch, second)
        again = plan_of(1, 3, 0, range_of(0, 5, 15), range_of(1, 7, 17))
        ledger.plan(run.owner, run.epoch, again)
        ledger.pin(run.owner, run.epoch, pin_of(again, dead_letter_of(6)))
        run.done(again)
        assert ledger.dead_letters("payments") == (dead_letter_of(6),)
        assert run.snapshot().done == 1

    def test_the_same_txid_can_be_undone_again_with_another_attempt(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, UNDO)
        ledger.unpin(run.owner, run.epoch, UNDO)
        run = successor(run)
        again = plan_of(1, 2, 0, range_of(0, 5, 15), range_of(1, 7, 17))
        ledger.plan(run.owner, run.epoch, again)
        run.pin(again)
        with pytest.raises(MismatchError, match="attempt 2 is pinned, not 1"):
            ledger.decide(run.owner, run.epoch, UNDO)
        second = replace(UNDO, attempt=2)
        ledger.decide(run.owner, run.epoch, second)
        with pytest.raises(MismatchError, match="nobody decided it"):
            ledger.unpin(run.owner, run.epoch, replace(UNDO, attempt=3))
        ledger.unpin(run.owner, run.epoch, second)
        assert run.snapshot().pin is None

    def test_an_undo_takes_diverted_rows_back(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, DIVERT)
        ledger.divert(run.owner, run.epoch, DIVERT, ROWS)
        run = successor(run)
        ledger.decide(run.owner, run.epoch, UNDO)
        ledger.unpin(run.owner, run.epoch, UNDO)
        assert ledger.diverted("payments") == ()

    def test_a_drop_takes_a_state_out_of_description_and_births(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        for _ in range(2):  # its answer was lost
            ledger.drop(run.owner, run.epoch, decision)
        found = ledger.register(run.epoch, SPEC)
        assert (found.births, found.decisions, found.done) == ((Birth("balances", 0),), (), 1)
        assert found.added == Added()
        with pytest.raises(MismatchError, match="decided before"):
            ledger.drop(run.owner, run.epoch, replace(decision, state="balances"))
        run.together(run.plan())
        new = successor(run)
        with pytest.raises(MismatchError, match=r"no state or sink 'totals' .* 'balances'"):
            ledger.drop(new.owner, new.epoch, replace(decision, txid=2, attempt=2))

    def test_what_was_dropped_comes_back_as_it_was_before_anything_else(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        before = ledger.register(run.epoch, TWO)
        ledger.drop(run.owner, run.epoch, decision)
        for _ in range(2):
            seen = ledger.look(run.epoch, TWO)
            assert (seen.births, seen.added.states) == (before.births, ("totals",))
        assert ledger.register(run.epoch, SPEC).births == (Birth("balances", 0),), "a look takes nothing back"
        assert ledger.register(run.epoch, TWO).births == before.births
        assert ledger.register(run.epoch, TWO).added == Added()
        with pytest.raises(MismatchError, match="and is gone"):
            ledger.register(run.epoch, SPEC)

    def test_what_was_dropped_comes_back_as_nothing_else(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        ledger.drop(run.owner, run.epoch, decision)
        another = replace(TWO, states={**TWO.states, "totals": {"kind": "another"}})
        with pytest.raises(MismatchError, match=r"taken out after txid 1\. .* is now \{kind: another\}.* another name"):
            ledger.register(run.epoch, another)
        with pytest.raises(MismatchError, match="taken out after txid 1"):
            ledger.look(run.epoch, another)

    def test_what_was_dropped_does_not_come_back_behind_a_gap(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        ledger.drop(run.owner, run.epoch, decision)
        plan = run.plan()
        run.pin(plan)
        with pytest.raises(MismatchError, match="after txid 1, and txid 2 is pinned without it"):
            ledger.register(run.epoch, TWO)
        run.done(plan)
        with pytest.raises(MismatchError, match="after txid 1, and txid 2 is done without it"):
            ledger.register(run.epoch, TWO)
        reset = ResetDecision("second", 2, "adopt", None)
        ledger.decide_reset(run.epoch, "payments", reset)
        with pytest.raises(MismatchError, match="was reset since"):
            ledger.register(run.epoch, TWO)

    def test_a_drop_is_about_what_is_done_with_nothing_open_behind_it(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        for wrong in (replace(decision, txid=0, attempt=0), replace(decision, txid=2, attempt=2)):
            with pytest.raises(MismatchError, match="txid 1 attempt 1 is done"):
                ledger.drop(run.owner, run.epoch, wrong)
        plan = run.plan()
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        held = successor(run, TWO)
        ledger.decide(held.owner, held.epoch, replace(DIVERT, txid=2, attempt=2))
        new = successor(held, TWO)
        with pytest.raises(MismatchError, match=r"a divert of txid 2 .* is not finished"):
            ledger.drop(new.owner, new.epoch, decision)
        with pytest.raises(FencedError):
            ledger.drop(run.owner, run.epoch, decision)
        with pytest.raises(MismatchError, match="reset meanwhile"):
            ledger.drop(replace(new.owner, incarnation="another"), new.epoch, decision)
        assert {birth.state for birth in ledger.snapshot(new.epoch, "payments").births} == {"balances", "totals"}

    def test_while_a_txid_is_pinned_nothing_is_dropped(self, ledger: AnyLedger) -> None:
        run, decision = with_two_states(ledger)
        run.pin(run.plan())
        with pytest.raises(MismatchError, match="txid 2 is pinned"):
            ledger.drop(run.owner, run.epoch, decision)
        with pytest.raises(MismatchError, match="no decision about a txid"):
            ledger.decide(run.owner, run.epoch, decision)

    def test_a_reset_leaves_refusals_and_decisions_behind(self, ledger: AnyLedger) -> None:
        run = refused(ledger, pinned=True)
        ledger.decide(run.owner, run.epoch, UNDO)
        with pytest.raises(MismatchError, match="is pinned"):
            ledger.decide_reset(run.epoch, "payments", ResetDecision("second", 1, "adopt", None))
        decision = ResetDecision("second", 1, "clear", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        found = successor(run).snapshot()
        assert (found.refusal, found.decisions, found.pin, found.done) == (None, (), None, 1)

    @staticmethod
    def _pin(run: Run, pin: Pin) -> None:
        run.ledger.pin(run.owner, run.epoch, pin)

    @staticmethod
    def _commit_together(run: Run, pin: Pin) -> None:
        run.ledger.commit_together(run.owner, run.epoch, pin, commit_of(pin.plan), (), ())
