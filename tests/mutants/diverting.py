"""Guards of a divert that takes only the rows that a state refuses."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PURE: Final = ("tests/state/test_sifting.py",)
_TABLES: Final = ("tests/state/test_tables_that_refuse.py",)
_LIVES: Final = "tests/coordinators/test_diverting_refused.py"
_HELD: Final = "tests/coordinators/test_diverting_what_is_held.py"
_ROWS: Final = "integration_tests/state/test_rows_that_refuse.py"
_LEDGER: Final = ("tests/ledger/test_memory_ledger.py",)
_SQL_LEDGER: Final = ("tests/ledger/test_sqlite_ledger.py",)

DIVERTING: Final = (
    Mutant(
        "what is left has to fit together",
        "state/sifting.py",
        "    if sifted.kept and in_full(sifted.kept):\n",
        "    if False:\n",
        _PURE,
    ),
    Mutant(
        "what is refused without any row blames none",
        "state/sifting.py",
        "    if in_full(()):\n",
        "    if False:\n",
        (*_PURE, *_TABLES),
    ),
    Mutant(
        "what fits with the others goes back to them",
        "state/sifting.py",
        "        sifted = _with_those_that_fit(sifted, limited)\n",
        "",
        _PURE,
    ),
    Mutant(
        "rows are merged in the order in which they were tried",
        "coordinators/batches/sifting.py",
        "    return in_lasting_order(diverting_of(store).staged_rows(batch, updates))\n",
        "    return diverting_of(store).staged_rows(batch, updates)\n",
        (f"{_HELD}::test_a_row_that_needs_another_one_of_its_batch_stays_with_it",),
    ),
    Mutant(
        "a refusal that ends the transaction leaves the state a way on",
        "state/tables/sifting.py",
        "        if not is_refused:\n            raise\n        raise _EndedError from error\n",
        "        raise\n",
        (f"{_HELD}::test_a_refusal_that_ends_the_whole_transaction_is_not_told_apart",),
    ),
    Mutant(
        "all rows take the place of those that are refused",
        "coordinators/ledger/rules/decisions.py",
        "    return replace(decision, kind=DecisionKind.DIVERT_REFUSED) in open_decisions\n",
        "    return False\n",
        (f"{_HELD}::test_all_rows_take_the_place_of_those_that_are_refused_before_the_next_start",),
    ),
    Mutant(
        "all rows of a txid are about the records that were held",
        "coordinators/decisions/wanted.py",
        "            attempt = next((each.attempt for each in held if self._is_about(each)), attempt)\n",
        "",
        (f"{_HELD}::test_all_rows_take_the_place_of_those_that_are_refused_before_the_next_start",),
    ),
    Mutant(
        "what waits for the COMMIT hides no row of another state",
        "coordinators/batches/trying.py",
        "            if not steps.is_late and steps.state in names[: names.index(name)]:\n",
        "            if steps.state in names[: names.index(name)]:\n",
        (f"{_ROWS}::test_what_one_state_refuses_at_the_commit_hides_no_row_that_another_one_refuses",),
    ),
    Mutant(
        "what the database names nobody for is this one's, where it is not there without its rows",
        "coordinators/batches/trying.py",
        """ or (refusing == "" and without != "")\n""",
        "\n",
        (f"{_ROWS}::test_what_is_refused_at_the_commit_and_names_no_state_leaves_as_a_whole",),
    ),
    Mutant(
        "what is late is looked for once those behind it fit",
        "coordinators/batches/sifting.py",
        "    for name in names[:-1]:  # what",
        "    for name in names[:0]:  # what",
        (f"{_ROWS}::test_what_one_state_refuses_at_the_commit_hides_no_row_that_another_one_refuses",),
    ),
    Mutant(
        "a search is bounded",
        "state/sifting.py",
        "        if not left:\n",
        "        if False:\n",
        _PURE,
    ),
    Mutant(
        "a trial leaves nothing for the next one",
        "state/tables/sifting.py",
        "        savepoint.rollback()\n",
        "        savepoint.commit() if savepoint.is_active else savepoint.rollback()\n",
        _TABLES,
    ),
    Mutant(
        "what is no refusal is no row's fault",
        "state/tables/sifting.py",
        "            if not self.place.dialect.is_refusal(error):\n                raise\n",
        "",
        _TABLES,
    ),
    Mutant(
        "what a memory state tries is put back",
        "state/memory/sifting.py",
        "        rolled_back(self.database.transaction(), action)\n",
        "        with self.database.transaction() as transaction:\n            action(transaction)\n",
        _TABLES,
    ),
    Mutant(
        "what SQLite's triggers say is not told",
        "state/sqlite/errors.py",
        "    if kind is None:\n        return None\n",
        "    if kind is None:\n        return str(error)\n",
        _TABLES,
    ),
    Mutant(
        "rows are tried behind those of the states before",
        "coordinators/batches/trying.py",
        "    earlier = {each: made[each] for each in names[: names.index(name)]} if is_beside else {}\n",
        "    earlier: dict[str, StagedUpdates] = {}\n",
        (f"{_LIVES}::test_rows_of_another_state_that_come_first_are_there",),
    ),
    Mutant(
        "another state's refusal is about that one",
        "coordinators/batches/trying.py",
        "        return refusing == name or (",
        "        return refusing is not None or (",
        (f"{_LIVES}::test_memory_tells_it_apart_too",),
    ),
    Mutant(
        "rows that are told apart are made as they are stored",
        "coordinators/batches/runner.py",
        "edges, whole, sifted)",
        "edges, plan.diverts, sifted)",
        (f"{_LIVES}::test_a_state_that_refuses_what_tasks_make_leaves_as_a_whole",),
    ),
    Mutant(
        "rows that can't be made as they are stored leave as a whole",
        "coordinators/batches/runner.py",
        "                self._not_sifted.add((batch.txid, error.state))\n",
        "",
        (f"{_LIVES}::test_a_state_that_refuses_what_tasks_make_leaves_as_a_whole",),
    ),
    Mutant(
        "what is taken out is not applied",
        "coordinators/batches/sifting.py",
        "    return left, tuple(Diverted(",
        "    return dict(made), tuple(Diverted(",
        (f"{_LIVES}::test_one_bad_key_leaves_and_all_others_stay",),
    ),
    Mutant(
        "what a state takes of a pinned txid is staged before the pin points to it",
        "coordinators/decisions/diverting_refused.py",
        "    kept = StatePin(decision.state, staged.count, staged.writes)\n",
        "    kept = StatePin(decision.state, staged.count)\n",
        (f"{_LIVES}::test_one_bad_key_leaves_and_all_others_stay",),
    ),
    Mutant(
        "what is taken whole now is not diverted",
        "coordinators/decisions/diverting_refused.py",
        "    if found.verdict is Verdict.FITS:\n",
        "    if False:\n",
        (f"{_LIVES}::test_what_was_mended_meanwhile_is_taken_whole",),
    ),
    Mutant(
        "what no row is the cause of takes none out of a pin",
        "coordinators/decisions/diverting_refused.py",
        "    if found.verdict is Verdict.NO_ROW:\n",
        "    if False:\n",
        (f"{_LIVES}::test_what_no_row_is_the_cause_of_takes_none_out",),
    ),
    Mutant(
        "no row of the pin is left over",
        "coordinators/ledger/rules/decisions.py",
        "    if item is None or kept.state != decision.state or kept.rows + taken != item.rows:\n",
        "    if item is None:\n",
        _LEDGER,
    ),
    Mutant(
        "rows leave a pin by a decision once",
        "coordinators/ledger/memory/decisions.py",
        "    if is_decided(entry, owner, epoch, decision):\n        return entry\n    progress = entry.progress\n"
        "    check_decision(progress.done, progress.pinned_batch, decision, entry.open_refusal(), "
        "entry.open_decisions())\n",
        "    progress = entry.progress\n",
        _LEDGER,
    ),
    Mutant(
        "a divert of either kind takes the place of the one before",
        "coordinators/ledger/rules/decisions.py",
        "if item.kind.diverts and (item.txid, item.state) == about), None)\n",
        "if item.kind is decision.kind and (item.txid, item.state) == about), None)\n",
        _LEDGER,
    ),
    Mutant(
        "rows are kept behind those that left before",
        "coordinators/ledger/sql/decision_writes.py",
        "start=(last or 0) + 1)",
        "start=1)",
        _SQL_LEDGER,
    ),
    Mutant(
        "what left before is kept in memory too",
        "coordinators/ledger/memory/decisions.py",
        "(*(before[0] if before else ()), *taken)",
        "tuple(taken)",
        _LEDGER,
    ),
    Mutant(
        "a refusal says which records the txid has",
        "coordinators/batches/stopping.py",
        "    if plan is not None and plan.attempt == stopped.refusal.attempt:\n",
        "    if False:\n",
        (f"{_LIVES}::test_the_refusal_says_how_many_keys_and_of_which_records",),
    ),
)
