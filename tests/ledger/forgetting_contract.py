"""What every ledger does with a topology that is let go of: recorded first, then gone but for what is used up."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.ledger.decision_contract import DIVERT, TWO, refusal_of, with_two_states
from tests.ledger.making import LONG, SPEC, Run, pin_of, started, successor, taken_over
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind, LeftBehind
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.registered import Lease

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
FORGET = Decision(DecisionKind.FORGET, 1, 1, "keep", "ann")


def decided(ledger: AnyLedger) -> Run:
    """Return whoever has decided to let go of a topology with one txid that is done."""
    run = started(ledger)
    run.finish(1)
    ledger.decide_forget(run.owner, run.epoch, FORGET)
    return run


def forget(ledger: AnyLedger, run: Run, decision: Decision = FORGET) -> None:
    """Finish it, with the one state that there is let go of."""
    ledger.let_go_of(run.owner, run.epoch, decision, "balances")
    ledger.forget(run.owner, run.epoch, decision)


class ForgettingLedgerContract:
    """Until it is finished each look says so; from then on nothing of it is there, and no number comes again."""

    def test_each_look_says_that_it_is_begun_until_it_is_carried_out(self, ledger: AnyLedger) -> None:
        run = decided(ledger)
        ledger.decide_forget(run.owner, run.epoch, FORGET)
        new = successor(run)
        for found in (ledger.look(new.epoch, SPEC), ledger.snapshot(new.epoch, "payments")):
            assert (found.forgetting, found.decisions, found.done) == (FORGET, (), 1)
        assert ledger.view().status("payments").decisions == (str(FORGET),)
        forget(ledger, new)
        assert ledger.view().topologies() == ()
        with pytest.raises(MismatchError, match="not registered"):
            ledger.snapshot(new.epoch, "payments")
        assert ledger.look(new.epoch, SPEC).added.topology

    def test_who_begins_under_its_name_is_above_all_of_it(self, ledger: AnyLedger) -> None:
        run = decided(ledger)
        forget(ledger, run)
        ledger.release("payments", run.epoch)
        epoch = ledger.acquire("payments", Lease("nobody", LONG)).epoch
        assert ledger.look(epoch, SPEC).added.forgotten_in == run.epoch.number
        ledger.release("payments", epoch)
        new = taken_over(ledger, "two")
        assert ledger.look(new.epoch, SPEC).added.forgotten_in == 0
        found = new.snapshot()
        assert (found.birth_txid, found.done, found.last_txid, found.last_attempt) == (1, 1, 1, 1)
        assert (found.done_plan, found.starts, found.births) == (None, None, ())
        assert found.incarnations == {new.owner.incarnation}
        assert new.epoch.number == run.epoch.number + 2
        assert new.epoch.line == run.epoch.line
        assert new.owner.incarnation != run.owner.incarnation
        for old in (run.owner, new.owner):
            with pytest.raises(FencedError):
                ledger.decide_forget(old, run.epoch, FORGET)
            with pytest.raises(FencedError):
                ledger.forget(old, run.epoch, FORGET)
        assert new.snapshot() == found

    def test_a_topology_that_never_had_a_txid_is_let_go_of_too(self, ledger: AnyLedger) -> None:
        run, nothing = started(ledger), replace(FORGET, txid=0, attempt=0)
        ledger.decide_forget(run.owner, run.epoch, nothing)
        forget(ledger, run, nothing)
        ledger.release("payments", run.epoch)
        assert taken_over(ledger, "two").snapshot().done == 0

    def test_numbers_of_what_was_only_planned_are_used_up_too(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(1)
        for _ in range(2):
            run.plan()
        ledger.decide_forget(run.owner, run.epoch, FORGET)
        forget(ledger, run)
        ledger.release("payments", run.epoch)
        found = taken_over(ledger, "two").snapshot()
        assert (found.done, found.last_txid, found.last_attempt, found.live) == (3, 3, 3, ())

    def test_it_is_about_what_is_done_with_nothing_open_behind_it(self, ledger: AnyLedger) -> None:
        run, _ = with_two_states(ledger)
        for wrong in (replace(FORGET, txid=0, attempt=0), replace(FORGET, txid=2, attempt=2)):
            with pytest.raises(MismatchError, match="txid 1 attempt 1 is done"):
                ledger.decide_forget(run.owner, run.epoch, wrong)
        plan = run.plan()
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        ledger.decide(run.owner, run.epoch, replace(DIVERT, txid=2, attempt=2))
        ledger.release("payments", run.epoch)
        epoch = ledger.acquire("payments", Lease("two", LONG)).epoch
        with pytest.raises(MismatchError, match=r"a divert of txid 2 .* is not finished"):
            ledger.decide_forget(run.owner, epoch, FORGET)
        with pytest.raises(MismatchError, match="no decision about a txid"):
            ledger.decide(run.owner, epoch, FORGET)
        with pytest.raises(MismatchError, match="reset meanwhile"):
            ledger.decide_forget(replace(run.owner, incarnation="another"), epoch, FORGET)
        assert ledger.snapshot(epoch, "payments").forgetting is None

    def test_while_a_txid_is_pinned_nothing_is_let_go_of(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(1)
        plan = run.plan()
        ledger.pin(run.owner, run.epoch, pin_of(plan))
        with pytest.raises(MismatchError, match="txid 2 is pinned"):
            ledger.decide_forget(run.owner, run.epoch, FORGET)

    def test_only_what_was_decided_is_carried_out(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(1)
        for act in (ledger.forget, partial(ledger.let_go_of, target="balances")):
            with pytest.raises(MismatchError, match="is being forgotten"):
                act(run.owner, run.epoch, FORGET)
        ledger.decide_forget(run.owner, run.epoch, FORGET)
        another = replace(FORGET, state="drop")
        for act in (ledger.decide_forget, ledger.forget, partial(ledger.let_go_of, target="balances")):
            with pytest.raises(MismatchError, match=r"is being forgotten, with its tables: keep.*decided by ann"):
                act(run.owner, run.epoch, another)
        plan = run.plan()
        ledger.pin(run.owner, run.epoch, pin_of(plan))  # by a version that knows of no forget
        with pytest.raises(MismatchError, match="is being forgotten"):
            forget(ledger, run)
        assert ledger.snapshot(run.epoch, "payments").pinned == (2, 2)

    def test_what_was_to_be_dropped_may_be_kept_and_not_the_other_way(self, ledger: AnyLedger) -> None:
        run, drops = started(ledger), replace(FORGET, state="drop")
        run.finish(1)
        ledger.decide_forget(run.owner, run.epoch, drops)
        new = successor(run)
        for _ in range(2):
            ledger.decide_forget(new.owner, new.epoch, FORGET)
        assert ledger.look(new.epoch, SPEC).forgetting == FORGET
        with pytest.raises(MismatchError, match="with its tables: keep"):
            ledger.decide_forget(new.owner, new.epoch, drops)
        forget(ledger, new)
        assert ledger.view().topologies() == ()

    def test_who_has_not_heard_that_it_is_done_may_ask_again(self, ledger: AnyLedger) -> None:
        run = decided(ledger)
        forget(ledger, run)
        ledger.forget(run.owner, run.epoch, FORGET)
        ledger.release("payments", run.epoch)
        epoch = ledger.acquire("payments", Lease("two", LONG)).epoch
        with pytest.raises(FencedError):
            ledger.forget(run.owner, run.epoch, FORGET)
        with pytest.raises(MismatchError, match="not registered"):
            ledger.forget(run.owner, epoch, FORGET)

    def test_what_is_described_has_to_be_let_go_of_first(self, ledger: AnyLedger) -> None:
        run, _ = with_two_states(ledger)
        ledger.decide_forget(run.owner, run.epoch, FORGET)
        for left in ("balances", "totals"):
            with pytest.raises(MismatchError, match=r"is being forgotten.*--lost-state NAME"):
                ledger.forget(run.owner, run.epoch, FORGET)
            for _ in range(2):
                ledger.let_go_of(run.owner, run.epoch, FORGET, left)
            found = ledger.look(run.epoch, TWO)
            assert left in found.added.states
            assert left not in {birth.state for birth in found.births}
            assert not found.added.topology
        ledger.forget(run.owner, run.epoch, FORGET)
        assert ledger.view().topologies() == ()

    def test_what_was_never_born_leaves_the_description_with_the_record(self, ledger: AnyLedger) -> None:
        run, _ = with_two_states(ledger)
        for _ in range(2):
            ledger.decide_forget(run.owner, run.epoch, FORGET, ["totals"])
        assert ledger.look(run.epoch, TWO).added.states == ("totals",)
        forget(ledger, run)
        assert ledger.view().topologies() == ()

    def test_others_keep_all_of_theirs(self, ledger: AnyLedger) -> None:
        epoch = ledger.acquire("others", Lease("one", LONG)).epoch
        before = ledger.register(epoch, replace(SPEC, name="others"))
        run = decided(ledger)
        forget(ledger, run)
        assert ledger.snapshot(epoch, "others") == before
        assert ledger.view().topologies() == ("others",)

    def test_what_only_the_ledger_has_is_counted(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.left_behind("payments") == LeftBehind(0, 0)
        plan = run.plan()
        ledger.pin(run.owner, run.epoch, pin_of(plan))
        ledger.refuse(run.owner, run.epoch, refusal_of(plan))
        ledger.decide(run.owner, run.epoch, DIVERT)
        ledger.divert(run.owner, run.epoch, DIVERT, ("{}", "[]"))
        run.done(plan)
        assert ledger.left_behind("payments") == LeftBehind(0, 2)
        assert ledger.left_behind("others") == LeftBehind(0, 0)
        ledger.release("payments", run.epoch)
        new = successor(run)
        ledger.decide_forget(new.owner, new.epoch, FORGET)
        forget(ledger, new)
        assert ledger.left_behind("payments") == LeftBehind(0, 0)
