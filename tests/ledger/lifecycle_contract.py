"""What every ledger keeps of life-cycle commands: given by anybody, read and answered by the owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.ledger.making import LONG, started, successor
from trident.base.errors import FatalError, FencedError, MismatchError
from trident.base.identity import Owner
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.lifecycle import (
    Activate,
    Activity,
    Deactivate,
    Given,
    Kill,
    LifeCycleCommand,
    Rebalance,
    Reply,
    Sent,
    Verdict,
)

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
DONE = Reply(Verdict.DONE, "as you like", Activity.INACTIVE)


def sent(command: LifeCycleCommand, id_: str, within: timedelta = LONG) -> Sent:
    return Sent(id_, command, "person:1", within)


class LifeCycleContract:
    """Commands and what a topology is to do."""

    def test_commands_are_read_in_the_order_in_which_they_were_given(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        wanted: list[LifeCycleCommand] = [Deactivate(), Rebalance(2, None), Activate(), Kill(timedelta(seconds=1.5))]
        numbers = [ledger.send("payments", sent(command, f"id-{n}")) for n, command in enumerate(wanted)]
        assert numbers == [1, 2, 3, 4]
        taken = ledger.take_commands(run.owner, run.epoch)
        assert taken == tuple(Given(n, command) for n, command in enumerate(wanted, 1))
        assert ledger.take_commands(run.owner, run.epoch) == taken, "the answer to the first call was lost"

    def test_a_command_whose_answer_was_lost_is_given_once(self, ledger: AnyLedger) -> None:
        started(ledger)
        assert ledger.send("payments", sent(Activate(), "a")) == ledger.send("payments", sent(Activate(), "a")) == 1
        assert ledger.send("payments", sent(Activate(), "b")) == 2

    def test_a_beat_tells_that_commands_wait(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert not ledger.renew("payments", run.epoch)
        number = ledger.send("payments", sent(Deactivate(), "a"))
        assert ledger.renew("payments", run.epoch)
        ledger.take_commands(run.owner, run.epoch)
        assert ledger.renew("payments", run.epoch), "read is not answered"
        ledger.answer(run.owner, run.epoch, number, DONE)
        assert not ledger.renew("payments", run.epoch)

    def test_an_answer_comes_with_what_the_topology_is_from_then_on(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert run.snapshot().activity is Activity.ACTIVE
        number = ledger.send("payments", sent(Deactivate(), "a"))
        assert ledger.view().status("payments").commands == ("1 deactivate",)
        ledger.take_commands(run.owner, run.epoch)
        for _ in range(2):  # the answer to the first call was lost
            ledger.answer(run.owner, run.epoch, number, DONE)
        assert run.snapshot().activity is Activity.INACTIVE
        standing = ledger.view().status("payments")
        assert (standing.activity, standing.commands) == (Activity.INACTIVE, ())
        (row,) = ledger.view().commands("payments")
        assert (row.kind, row.verdict, row.answer, row.epoch) == ("deactivate", "done", "as you like", 1)
        assert (row.given_by, row.incarnation) == ("person:1", run.owner.incarnation)
        assert ledger.view().commands("payments", 2) == ()

    def test_what_it_is_outlives_its_owner(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        number = ledger.send("payments", sent(Deactivate(), "a"))
        ledger.take_commands(run.owner, run.epoch)
        ledger.answer(run.owner, run.epoch, number, DONE)
        assert successor(run).snapshot().activity is Activity.INACTIVE

    def test_a_fenced_owner_reads_and_answers_nothing(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        number = ledger.send("payments", sent(Deactivate(), "a"))
        ledger.take_commands(old.owner, old.epoch)
        new = successor(old)
        with pytest.raises(FencedError):
            ledger.take_commands(old.owner, old.epoch)
        with pytest.raises(FencedError):
            ledger.answer(old.owner, old.epoch, number, DONE)
        assert new.snapshot().activity is Activity.ACTIVE
        assert ledger.view().status("payments").commands == ("1 deactivate",)

    def test_what_was_read_and_not_answered_is_read_by_the_successor(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        number = ledger.send("payments", sent(Deactivate(), "a"))
        ledger.take_commands(old.owner, old.epoch)
        new = successor(old)
        with pytest.raises(FatalError, match="was not read by epoch 2"):
            ledger.answer(new.owner, new.epoch, number, DONE)
        assert ledger.take_commands(new.owner, new.epoch) == (Given(number, Deactivate()),)
        ledger.answer(new.owner, new.epoch, number, DONE)
        assert ledger.view().commands("payments")[0].epoch == 2

    def test_an_answer_is_not_replaced(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        number = ledger.send("payments", sent(Deactivate(), "a"))
        ledger.take_commands(run.owner, run.epoch)
        ledger.answer(run.owner, run.epoch, number, DONE)
        with pytest.raises(FatalError, match="has another answer"):
            ledger.answer(run.owner, run.epoch, number, replace(DONE, text="otherwise", activity=Activity.KILLED))
        assert run.snapshot().activity is Activity.INACTIVE

    def test_one_that_nobody_has_read_can_be_withdrawn(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = (ledger.send("payments", sent(Deactivate(), name)) for name in "ab")
        ledger.withdraw("payments", first, "too slow")
        assert ledger.take_commands(run.owner, run.epoch) == (Given(second, Deactivate()),)
        ledger.withdraw("payments", second, "too late")
        rows = ledger.view().commands("payments")
        assert [(row.verdict, row.answer) for row in rows] == [("void", "too slow"), (None, None)]
        ledger.answer(run.owner, run.epoch, second, DONE)
        ledger.withdraw("payments", second, "too late")
        assert ledger.view().commands("payments")[1].verdict == "done"

    def test_nobody_begins_with_one_whose_time_is_over(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        late = ledger.send("payments", sent(Kill(), "a", timedelta(seconds=0)))
        kept = ledger.send("payments", sent(Activate(), "b"))
        assert ledger.take_commands(old.owner, old.epoch) == (Given(kept, Activate()),)
        row = ledger.view().commands("payments")[0]
        assert (row.number, row.verdict) == (late, "void")
        assert "nobody had begun with it within 0 s" in str(row.answer)

    def test_one_that_was_for_another_incarnation_is_void(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.send("payments", sent(Deactivate(), "a"))
        decision = ResetDecision("second", 9, "clear", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        assert ledger.take_commands(Owner("payments", "second"), run.epoch) == ()
        row = ledger.view().commands("payments")[0]
        assert (row.verdict, run.owner.incarnation in str(row.answer)) == ("void", True)

    def test_a_reset_leaves_it_as_active_as_it_was(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        number = ledger.send("payments", sent(Kill(), "a"))
        ledger.take_commands(run.owner, run.epoch)
        ledger.answer(run.owner, run.epoch, number, Reply(Verdict.DONE, "it ends", Activity.KILLED))
        decision = ResetDecision("second", 9, "clear", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        assert run.snapshot().activity is Activity.KILLED
        assert ledger.send("payments", sent(Activate(), "b")) == 2

    def test_an_unknown_topology_is_given_nothing(self, ledger: AnyLedger) -> None:
        started(ledger)
        with pytest.raises(MismatchError, match="'other' is not in this ledger"):
            ledger.send("other", sent(Activate(), "a"))
