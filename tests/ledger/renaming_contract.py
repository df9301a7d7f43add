"""What every ledger keeps of states that have other names; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ledger.making import SPEC, Run, commit_of, pin_of, start_of, successor, taken_over
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind, ResetDecision
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.registered import Birth, Renamed, TopologySpec

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
TOTALS = {"store": "sqlite", "kind": "opaque", "table": "balances", "database": "here"}


def named(*names: str) -> TopologySpec:
    return replace(SPEC, states={name: dict(TOTALS) for name in names})


FIRST, OTHER = named("balances"), named("sums")
RENAMES = {"balances": "sums"}


def begun(ledger: AnyLedger, spec: TopologySpec = FIRST) -> Run:
    """Return a topology with one txid done, under the first name."""
    run = taken_over(ledger, "one", spec)
    ledger.set_starts(run.owner, run.epoch, [start_of(0, 5), start_of(1, 7)])
    ledger.set_births(run.owner, run.epoch, [Birth(name, 0) for name in spec.states])
    run.together(run.plan())
    return run


def decision_of(run: Run, done: int = 1, attempt: int = 1) -> Decision:
    return Decision(DecisionKind.RENAME, done, attempt, "balances=sums", "somebody")


class RenamingContract:
    """Renames."""

    def test_a_rename_changes_description_births_and_the_last_pin_together(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        before = ledger.last_done(run.owner, run.epoch)
        assert before is not None
        for _ in range(2):
            ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        stored = ledger.described(run.epoch, "payments")
        assert stored == replace(OTHER, renamed=(Renamed("balances", "sums", 1),))
        assert ledger.view().status("payments").births == (Birth("sums", 0),)
        found = ledger.last_done(run.owner, run.epoch)
        assert found is not None
        assert found.pin.states == (replace(before.pin.states[0], state="sums"),)
        assert replace(found.pin, states=before.pin.states) == before.pin
        for ask in (ledger.look, ledger.register):
            seen = ask(run.epoch, OTHER)
            assert (seen.renamed, seen.births) == ((Renamed("balances", "sums", 1),), (Birth("sums", 0),))
            assert not seen.added.is_something
        assert ledger.described(run.epoch, "payments") == stored
        run.together(run.plan())
        assert ledger.snapshot(run.epoch, "payments").done == 2

    def test_each_txid_that_is_taken_back_goes_by_the_present_names(self, ledger: AnyLedger) -> None:
        """The last one that was done before the rename, and what is the last one then."""
        run = begun(ledger)
        for _ in range(2):
            run.together(run.plan())
        ledger.rename(run.owner, run.epoch, decision_of(run, 3, 3), RENAMES)
        for txid in (3, 2):
            run = successor(run, OTHER)
            undo = Decision(DecisionKind.UNDO, txid, txid, decided_by="somebody")
            ledger.take_back(run.owner, run.epoch, undo)
            pin = ledger.snapshot(run.epoch, "payments").pin
            assert pin is not None
            assert (pin.txid, [item.state for item in pin.states]) == (txid, ["sums"])
            ledger.unpin(run.owner, run.epoch, undo)

    def test_the_former_version_is_refused_with_both_ways_and_may_go_back(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        with pytest.raises(MismatchError, match=r"trident evolve MODULE:TOPOLOGY --rename-state balances=sums;"):
            ledger.look(run.epoch, OTHER)
        ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        for ask in (ledger.look, ledger.register):
            with pytest.raises(MismatchError, match=r"'balances'.*'sums'.*--rename-state sums=balances\)"):
                ask(run.epoch, FIRST)
        newer = successor(run, OTHER)
        back = replace(decision_of(newer), state="sums=balances")
        ledger.rename(newer.owner, newer.epoch, back, {"sums": "balances"})
        assert ledger.described(newer.epoch, "payments").renamed == (Renamed("sums", "balances", 1),)
        assert ledger.register(newer.epoch, FIRST).births == (Birth("balances", 0),)

    def test_a_rename_is_about_what_is_done_with_nothing_open(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        for wrong in (decision_of(run, 2), decision_of(run, 1, 2)):
            with pytest.raises(MismatchError, match="is done"):
                ledger.rename(run.owner, run.epoch, wrong, RENAMES)
        plan = run.plan()
        run.pin(plan)
        with pytest.raises(MismatchError, match="txid 2 is pinned and not done"):
            ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        assert ledger.described(run.epoch, "payments") == FIRST
        run.done(plan)
        ledger.rename(run.owner, run.epoch, decision_of(run, 2, 2), RENAMES)
        assert ledger.described(run.epoch, "payments").renamed == (Renamed("balances", "sums", 2),)

    def test_names_that_are_used_up_are_refused_and_nothing_is_written(self, ledger: AnyLedger) -> None:
        run = begun(ledger, named("balances", "others"))
        for renames, why in (
            ({"nothing": "sums"}, "knows no state"),
            ({"balances": "Others"}, "the topology has 'others'"),
            ({"balances": "balances"}, "that is its name"),
            ({"balances": "sums", "others": "sums"}, "one name"),
        ):
            with pytest.raises(MismatchError, match=why):
                ledger.rename(run.owner, run.epoch, decision_of(run), renames)
        assert ledger.described(run.epoch, "payments") == named("balances", "others")

    def test_only_the_newest_epoch_renames_and_it_decides_once(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        newer = successor(run, FIRST)
        with pytest.raises(FencedError):
            ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        with pytest.raises(FencedError):
            ledger.described(run.epoch, "payments")
        ledger.rename(newer.owner, newer.epoch, decision_of(newer), RENAMES)
        with pytest.raises(MismatchError, match="decided before"):
            ledger.rename(newer.owner, newer.epoch, replace(decision_of(newer), state="x"), {"sums": "x"})

    def test_a_reset_bears_the_states_under_their_new_names(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        decision = ResetDecision("second", 7, "adopt", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        seen = ledger.snapshot(run.epoch, "payments")
        assert seen.births == (Birth("sums", 7, with_rows=True),)
        assert seen.renamed == (Renamed("balances", "sums", 1),)

    def test_before_anything_is_done_a_rename_has_no_pin_to_change(self, ledger: AnyLedger) -> None:
        run = taken_over(ledger, "one", FIRST)
        ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
        ledger.rename(run.owner, run.epoch, decision_of(run, 0, 0), RENAMES)
        assert ledger.register(run.epoch, OTHER).births == (Birth("sums", 0),)

    def test_a_topology_that_is_not_there_is_not_described(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        with pytest.raises((MismatchError, FencedError)):
            ledger.described(run.epoch, "nobody")

    def test_what_is_pinned_under_the_new_name_is_done_under_it(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        ledger.rename(run.owner, run.epoch, decision_of(run), RENAMES)
        plan = run.plan()
        pin = pin_of(plan)
        ledger.pin(run.owner, run.epoch, replace(pin, states=(replace(pin.states[0], state="sums"),)))
        ledger.done(run.owner, run.epoch, commit_of(plan))
        assert ledger.view().status("payments").done == 2
