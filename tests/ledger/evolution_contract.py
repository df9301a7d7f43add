"""What every ledger keeps of versions of a topology whose states have other columns; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ledger.making import SPEC, Run, pin_of, start_of, successor, taken_over
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind, ResetDecision
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.registered import Birth, ColumnBirth, Snapshot, TopologySpec
from trident.state.evolving import HeldColumns

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
VALUES = "n int64 add, total decimal(20, 2) add"


def version(values: str = VALUES, keys: str = "account string, day date32[day]", kind: str = "opaque") -> TopologySpec:
    return replace(SPEC, states={"balances": {"kind": kind, "keys": keys, "values": values}})


FIRST, GROWN = version(), version(f"most int64 greatest, {VALUES}")


def begun(ledger: AnyLedger) -> Run:
    """Return a topology in its first version, whose state was born at txid 0."""
    run = taken_over(ledger, "one", FIRST)
    ledger.set_starts(run.owner, run.epoch, [start_of(0, 5), start_of(1, 7)])
    ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
    return run


def now(run: Run) -> Snapshot:
    return run.ledger.snapshot(run.epoch, "payments")


class EvolutionContract:
    """Versions."""

    def test_another_order_is_known_as_it_is_stored(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        turned = version("total decimal(20, 2) add, n int64 add", "day date32[day], account string")
        for ask in (ledger.look, ledger.register, ledger.register):
            ((state, held),) = ask(run.epoch, turned).added.columns
            assert (state, held) == ("balances", HeldColumns(("account", "day"), ("n", "total"), is_other=True))
            assert not ask(run.epoch, turned).added.is_something
        assert ledger.register(run.epoch, FIRST).added.columns == ()

    def test_a_new_value_is_born_with_its_description_and_not_with_a_look(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        run.together(run.plan())
        coming = HeldColumns(("account", "day"), ("n", "total"), ("most",), is_other=True)
        for _ in range(2):
            seen = ledger.look(run.epoch, GROWN)
            assert seen.added.columns == (("balances", coming),)
            assert seen.added.is_something
        assert now(run).births == (Birth("balances", 0),)
        born = (Birth("balances", 0, columns=(ColumnBirth("most", 1),)),)
        assert ledger.register(run.epoch, GROWN).births == born
        assert ledger.view().status("payments").births == born
        assert ledger.view().status("payments").new_columns == (("balances", ColumnBirth("most", 1)),)
        ((_, again),) = ledger.register(run.epoch, GROWN).added.columns
        assert (again.values, again.coming, again.empty) == (("n", "total", "most"), (), frozenset({"most"}))
        run.together(run.plan())
        ((_, used),) = ledger.register(run.epoch, GROWN).added.columns
        assert (used.values, used.empty) == (("n", "total", "most"), frozenset())
        assert now(run).births == born
        in_its_order = version(f"{VALUES}, most int64 greatest")
        assert ledger.register(run.epoch, in_its_order).added.columns == ()

    def test_what_is_pinned_has_nothing_of_a_new_value_unless_it_is_undone(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        first = run.plan()
        run.pin(first)
        assert ledger.register(run.epoch, GROWN).births[0].columns == (ColumnBirth("most", 1),)
        assert ledger.look(run.epoch, FIRST).births[0].withdrawn == ("most",)
        undo = Decision(DecisionKind.UNDO, 1, first.attempt)
        ledger.decide(run.owner, run.epoch, undo)
        ledger.unpin(run.owner, run.epoch, undo)
        assert now(run).births[0].columns == (ColumnBirth("most", 0),)
        again = run.next_plan()
        ledger.plan(run.owner, run.epoch, replace(again, txid=1, predecessor=0, ranges=first.ranges, tries=2))
        run.pin(replace(again, txid=1, predecessor=0, ranges=first.ranges, tries=2))
        with pytest.raises(MismatchError, match="since txid 0, and txid 1 is pinned with that"):
            ledger.register(run.epoch, FIRST)

    def test_the_version_before_goes_on_until_a_txid_is_pinned_with_the_new_one(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        run.together(run.plan())
        ledger.register(run.epoch, GROWN)
        with pytest.raises(MismatchError, match="its rows hold the old aggregates"):
            ledger.look(run.epoch, version(f"most int64 least, {VALUES}"))
        second = run.plan()
        found = ledger.register(run.epoch, FIRST)
        back = HeldColumns(("account", "day"), ("n", "total"), empty=frozenset({"most"}), is_other=True)
        assert found.added.columns == (("balances", back),)
        assert found.births == (Birth("balances", 0, withdrawn=("most",)),)
        assert ledger.register(run.epoch, FIRST).added.columns == (("balances", replace(back, is_other=False)),)
        run.together(second)
        ((_, held),) = ledger.look(run.epoch, GROWN).added.columns
        assert (held.coming, held.empty) == (("most",), frozenset({"most"})), "the column may be there, and is its own"
        assert ledger.register(run.epoch, GROWN).births[0].columns == (ColumnBirth("most", 2),)
        third = run.plan()
        run.pin(third)
        with pytest.raises(MismatchError, match="since txid 2, and txid 3 is pinned with that"):
            ledger.look(run.epoch, FIRST)
        run.done(third)
        with pytest.raises(MismatchError, match=r"since txid 2, and txid 3 is done with that.*would stand\s+still"):
            ledger.register(run.epoch, FIRST)
        assert now(run).births[0].columns == (ColumnBirth("most", 2),)

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            (version("n int64 add"), "without 'total', which would stand still, and be wrong when it came back"),
            (version("n int64 add, sum decimal(20, 2) add"), "without 'total'"),
            (version("n int64 least, total decimal(20, 2) add"), "its rows hold the old aggregates"),
            (version("n int32 add, total decimal(20, 2) add"), "its rows hold the old aggregates"),
            (version(f"{VALUES}, last string replace"), "what an updater keeps of a key it keeps as a whole"),
            (version(f"{VALUES}, m int64 add", keys="account string"), "its rows are those of the old key"),
            (version(f"{VALUES}, m int64 add", kind="transactional"), "another kind"),
        ],
    )
    def test_everything_else_is_refused_and_changes_nothing(
        self, ledger: AnyLedger, given: TopologySpec, why: str
    ) -> None:
        run = begun(ledger)
        for ask in (ledger.look, ledger.register):
            with pytest.raises(MismatchError, match=why):
                ask(run.epoch, given)
        assert now(run).births == (Birth("balances", 0),)
        assert ledger.register(run.epoch, FIRST).added.columns == ()

    def test_births_that_a_newer_owner_may_record_an_older_one_may_not(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        newer = successor(run, FIRST)
        with pytest.raises(FencedError):
            ledger.register(run.epoch, GROWN)
        assert now(newer).births == (Birth("balances", 0),)
        assert ledger.register(newer.epoch, GROWN).births[0].columns == (ColumnBirth("most", 0),)

    @pytest.mark.parametrize("states", ["clear", "adopt"])
    def test_a_reset_that_empties_states_fills_what_is_new_with_all_of_it(self, ledger: AnyLedger, states: str) -> None:
        run = begun(ledger)
        run.together(run.plan())
        ledger.register(run.epoch, GROWN)
        run.together(run.plan())
        decision = ResetDecision("second", 7, states, None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        born = ColumnBirth("most", 1 if states == "adopt" else 7)
        assert ledger.snapshot(run.epoch, "payments").births == (
            Birth("balances", 7, with_rows=states == "adopt", columns=(born,)),
        )
        shown = ledger.view().status("payments").new_columns
        assert shown == ((("balances", born),) if states == "adopt" else ())

    def test_a_reset_leaves_what_nothing_was_in_to_be_taken_back(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        run.together(run.plan())
        ledger.register(run.epoch, GROWN)
        decision = ResetDecision("second", 7, "adopt", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        assert ledger.snapshot(run.epoch, "payments").births[0].columns == (ColumnBirth("most", 7),)
        assert ledger.register(run.epoch, FIRST).births[0].withdrawn == ("most",)

    def test_a_pin_that_waits_keeps_what_its_version_has_staged(self, ledger: AnyLedger) -> None:
        run = begun(ledger)
        plan = run.plan()
        run.pin(plan)
        ((_, held),) = ledger.look(run.epoch, GROWN).added.columns
        assert (held.values, held.coming) == (("n", "total"), ("most",))
        assert ledger.look(run.epoch, GROWN).pin == pin_of(plan)
