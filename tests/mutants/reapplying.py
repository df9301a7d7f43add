"""Guards of diverted rows that are put back."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LIVES: Final = "tests/coordinators/test_reapplying.py"
_MAY_NOT: Final = "tests/coordinators/test_reapplying_what_may_not.py"
_ROWS: Final = ("tests/state/test_putting_back.py",)
_LEDGER: Final = ("tests/ledger/test_memory_ledger.py",)
_SQL_LEDGER: Final = ("tests/ledger/test_sqlite_ledger.py",)
_RULES: Final = "coordinators/ledger/rules/reapplying.py"
_SQL: Final = "coordinators/ledger/sql/reapplying.py"
_DECIDING: Final = "coordinators/decisions/reapplying.py"

REAPPLYING: Final = (
    Mutant(
        "a version that goes back starts before it puts rows back",
        _DECIDING,
        "any(held.is_other for _, held in seen.added.columns)",
        "False",
        (_MAY_NOT,),
    ),
    Mutant(
        "rows are put back once",
        _RULES,
        "    if put_back is not None:\n        raise",
        "    if False:\n        raise",
        _LEDGER,
    ),
    Mutant(
        "a plan that puts rows back is pinned with the decision to do so",
        _RULES,
        "        if rows is not None:\n",
        "        if False:\n",
        _LEDGER,
    ),
    Mutant(
        "just the rows that are kept are put back", _RULES, "    if not count or given", "    if given == []", _LEDGER
    ),
    Mutant("who puts rows back reads no records", _RULES, "    if _does_more(pin):\n", "    if False:\n", _LEDGER),
    Mutant(
        "a reapply is open until its txid is done, for versions that do not know it",
        "coordinators/ledger/sql/ledger.py",
        "epoch, pin, progress, is_done=False)",
        "epoch, pin, progress, is_done=True)",
        (f"{_LIVES}::test_while_its_txid_is_pinned_a_version_that_does_not_know_it_stops",),
    ),
    Mutant(
        "a reapply is no decision that waits for somebody",
        "coordinators/ledger/sql/decision_reads.py",
        "            DECISION.c.kind != DecisionKind.REAPPLY.value,  # its pin has carried it out\n",
        "",
        _SQL_LEDGER,
    ),
    Mutant(
        "an undo lets rows be put back again",
        _SQL,
        ".values(finished_at=DatabaseNow(), void=True))",
        ".values(finished_at=DatabaseNow()))",
        _SQL_LEDGER,
    ),
    Mutant(
        "an undo lets rows be put back again, in memory",
        "coordinators/ledger/memory/reapplying.py",
        "        number: replace(each, void=True) if _is_carried_by(each, undone) else each\n",
        "        number: each\n",
        _LEDGER,
    ),
    Mutant(
        "a reapply is finished with its txid",
        _SQL,
        "    if put_back_by(plan) is not None:\n",
        "    if False:\n",
        _SQL_LEDGER,
    ),
    Mutant(
        "a txid that put rows back is not taken back",
        "coordinators/ledger/rules/taking_back.py",
        "    if rows is not None:\n        yield",
        "    if False:\n        yield",
        _LEDGER,
    ),
    Mutant(
        "rows are tried before a txid is planned for them",
        _DECIDING,
        """    taking.repeater.call(f"trying the {decision}", trial)\n""",
        "",
        (f"{_LIVES}::test_what_is_refused_again_changes_nothing_and_the_topology_goes_on",),
    ),
    Mutant(
        "what is refused after all leaves no plan",
        _DECIDING,
        """        taking.repeater.call(f"dropping txid {plan.txid}", drop)\n""",
        "",
        (f"{_LIVES}::test_what_is_refused_only_when_it_is_pinned_is_like_any_refusal_of_its_place",),
    ),
    Mutant(
        "rows of before a reset stay out",
        _DECIDING,
        "    if taken.incarnation != snapshot.owner.incarnation:\n",
        "    if False:\n",
        (f"{_LIVES}::test_rows_of_before_a_reset_stay_where_they_are",),
    ),
    Mutant(
        "nothing is put back while a person has to decide",
        _DECIDING,
        "    if snapshot.refusal is not None and snapshot.refusal.blocks:\n",
        "    if False:\n",
        (f"{_LIVES}::test_while_something_waits_for_a_person_nothing_is_put_back",),
    ),
    Mutant(
        "a held divert goes first",
        _DECIDING,
        "    if snapshot.decisions:\n",
        "    if False:\n",
        (f"{_LIVES}::test_while_something_waits_for_a_person_nothing_is_put_back",),
    ),
    Mutant(
        "an updater's values are not added to what is there",
        _DECIDING,
        "    if replaced:\n",
        "    if False:\n",
        (f"{_MAY_NOT}::test_a_state_that_can_not_be_given_rows_is_named",),
    ),
    Mutant(
        "a sum that was lost is not put back as nothing",
        _DECIDING,
        "    if lost:\n",
        "    if False:\n",
        (f"{_LIVES}::test_a_row_that_the_columns_do_not_hold_is_refused_by_its_column",),
    ),
    Mutant(
        "messages that were received are done first",
        _DECIDING,
        "        if plan is not None and (taking.spec.received or plan.received):\n",
        "        if False:\n",
        (f"{_MAY_NOT}::test_what_was_received_is_done_first",),
    ),
    Mutant(
        "rows are found under the former names of their state",
        _DECIDING,
        "    names = {wanted.state, *(each.former for each in snapshot.renamed if each.state == wanted.state)}\n",
        "    names = {wanted.state}\n",
        (f"{_MAY_NOT}::test_rows_follow_a_state_to_its_new_name",),
    ),
    Mutant(
        "a column that is gone is refused",
        "state/putting_back.py",
        "    if unknown:\n",
        "    if False:\n",
        _ROWS,
    ),
)
