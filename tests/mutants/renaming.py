"""The mutants of a rename: one name at a time is a state's, wherever it lies and whoever wakes up behind it."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LIFE: Final = "tests/coordinators/test_renaming.py"
_WAYS_OUT: Final = "tests/coordinators/test_renaming_ways_out.py"
_RULES: Final = "tests/ledger/test_rules_of_renaming.py"
_LEDGER: Final = "tests/ledger/test_sqlite_ledger.py::TestSqliteLedger"
_STORES: Final = "tests/state/test_contract.py"

RENAMING: Final = (
    Mutant(
        "what is pinned is finished before a state is renamed",
        "coordinators/decisions/renaming.py",
        "        taking.roll_forward(standing)\n",
        "        pass\n",
        (f"{_LIFE}::test_what_is_pinned_is_finished_under_the_former_name",),
    ),
    Mutant(
        "nothing is renamed while a divert is held",
        "coordinators/decisions/renaming.py",
        "    if snapshot.decisions:\n",
        "    if False and snapshot.decisions:\n",
        (f"{_LIFE}::test_while_a_refusal_waits_or_a_divert_is_held_nothing_is_renamed",),
    ),
    Mutant(
        "columns that come with a new name wait for the start",
        "coordinators/decisions/renaming.py",
        "    tell_columns(version.stores, recorded)\n",
        "    pass\n",
        (f"{_LIFE}::test_columns_that_come_with_the_name_wait_for_the_start",),
    ),
    Mutant(
        "a name that stands for something is no state's new one",
        "coordinators/decisions/renaming.py",
        "            renaming.check_free(topology)\n",
        "            pass\n",
        (f"{_LIFE}::test_a_name_that_stands_for_something_where_the_state_lives_is_refused",),
    ),
    Mutant(
        "a state that has not followed goes back to the name under which it lies",
        "coordinators/decisions/renaming.py",
        "        if (former, name) not in back or not renaming.lies_under(topology, name):\n",
        "        if True:\n",
        (f"{_LIFE}::test_a_rename_that_is_cut_off_anywhere_goes_on[back-apart-AFTER_RENAMING]",),
    ),
    Mutant(
        "a rename that is recorded is finished by the same call",
        "coordinators/ledger/rules/renaming.py",
        "    return {(each.former, each.state) for each in renamed} >= set(renames.items())\n",
        "    return False\n",
        (_RULES,),
    ),
    Mutant(
        "a renamed state names the table in which its rows stay",
        "coordinators/ledger/rules/renaming.py",
        "    if table is not None:\n",
        "    if False and table is not None:\n",
        (_RULES,),
    ),
    Mutant(
        "a new state that names a state's table is advised to be that one",
        "coordinators/ledger/rules/renaming.py",
        "        if len(same) == 1:\n",
        "        if False:\n",
        (f"{_RULES}::test_who_names_the_table_of_a_state_is_that_one_in_whatever_order",),
    ),
    Mutant(
        "where several new states are alike no rename is advised",
        "coordinators/ledger/rules/renaming.py",
        "        if len(names) == 1 and sum(names[0] in others for others in rest.values()) == 1:\n",
        "        if names:\n",
        (f"{_RULES}::test_where_several_are_alike_nobody_is_told_which_is_which",),
    ),
    Mutant(
        "a new name differs from all others in more than its case",
        "coordinators/ledger/rules/renaming.py",
        "        if other.casefold() == name.casefold() and not is_its_own:\n",
        "        if other == name and not is_its_own:\n",
        (_RULES,),
    ),
    Mutant(
        "two new names differ in more than their case",
        "coordinators/ledger/rules/renaming.py",
        "    return len({name.casefold() for name in names}) < len(names)\n",
        "    return len(set(names)) < len(names)\n",
        (f"{_RULES}::test_new_names_that_differ_in_case_only_are_one",),
    ),
    Mutant(
        "a former name is used up in whatever case",
        "coordinators/ledger/rules/renaming.py",
        "if name.casefold() == each.former.casefold()), None)\n",
        "if name == each.former), None)\n",
        (f"{_RULES}::test_a_former_name_in_another_case_is_used_up_too",),
    ),
    Mutant(
        "what stands at no txid is not renamed",
        "coordinators/ledger/rules/renaming.py",
        '    return what.get("kind") != SINK and LEVEL not in what\n',
        "    return True\n",
        (_RULES,),
    ),
    Mutant(
        "a former name is used up",
        "coordinators/ledger/rules/evolving.py",
        "    refuse_former(stored, given)\n",
        "",
        (
            f"{_LIFE}::test_a_former_name_is_used_up",
            f"{_LEDGER}::test_the_former_version_is_refused_with_both_ways_and_may_go_back",
        ),
    ),
    Mutant(
        "former names are kept while versions come",
        "coordinators/ledger/rules/specs.py",
        "    return replace(given, dropped=stored.dropped, renamed=stored.renamed)\n",
        "    return replace(given, dropped=stored.dropped)\n",
        (f"{_LEDGER}::test_a_rename_changes_description_births_and_the_last_pin_together",),
    ),
    Mutant(
        "the pin of what is done goes by the new name",
        "coordinators/ledger/rules/renaming.py",
        "    return tuple(replace(item, state=renames.get(item.state, item.state)) for item in states)\n",
        "    return tuple(states)\n",
        (f"{_LIFE}::test_the_last_done_txid_is_taken_back_under_the_new_name",),
    ),
    Mutant(
        "a pin that is the last one done again is read by the present names",
        "coordinators/ledger/sql/taking_back.py",
        "        pin_renamed(pin, spec.renamed),\n",
        "        pin,\n",
        (f"{_LIFE}::test_txids_are_taken_back_one_after_the_other_behind_a_rename",),
    ),
    Mutant(
        "a txid that is pinned again is stored by the present names",
        "coordinators/ledger/sql/taking_back.py",
        "    write_one(connection, update(PIN)",
        "    (connection, update(PIN)",
        (f"{_LEDGER}::test_each_txid_that_is_taken_back_goes_by_the_present_names",),
    ),
    Mutant(
        "in the memory ledger a pin that is taken back goes by the present names",
        "coordinators/ledger/memory/taking_back.py",
        "replace(pin_renamed(row.pin, entry.spec.renamed), plan",
        "replace(row.pin, plan",
        (
            "tests/ledger/test_memory_ledger.py::TestMemoryLedger::test_each_txid_that_is_taken_back_goes_by_the_present_names",
        ),
    ),
    Mutant(
        "a ledger in a database renames behind what is done only",
        "coordinators/ledger/sql/registration.py",
        "    check_drop(progress, decision, read_decisions(connection, owner, progress.done))\n"
        "    stored = read_spec(connection, owner.topology)\n"
        "    spec, births = with_renamed(",
        "    stored = read_spec(connection, owner.topology)\n    spec, births = with_renamed(",
        (f"{_LEDGER}::test_a_rename_is_about_what_is_done_with_nothing_open",),
    ),
    Mutant(
        "a take-over looks for a state under its former names",
        "coordinators/holding/renaming.py",
        "            lying[each.state] = renaming.under(each.former)\n",
        "            pass\n",
        (f"{_LIFE}::test_a_state_that_was_restored_to_just_before_the_rename_follows",),
    ),
    Mutant(
        "beside a lost ledger a state is found under a later name",
        "coordinators/holding/renaming.py",
        "            lying[name] = renaming.under(found[0])\n",
        "            pass\n",
        (f"{_LIFE}::test_beside_a_lost_ledger_rows_are_kept_under_the_name_that_it_knows",),
    ),
    Mutant(
        "beside a lost ledger what another one bears is not taken for a later name",
        "coordinators/holding/renaming.py",
        "        if len(found) == 1 and found[0] not in names:\n",
        "        if len(found) == 1:\n",
        (f"{_LIFE}::test_a_name_that_the_ledger_or_the_version_knows_is_no_later_one",),
    ),
    Mutant(
        "a state of another incarnation follows under that one, for a reset to change",
        "coordinators/holding/takeover.py",
        "                lying = self._owners.get(name, owner)\n",
        "                lying = owner\n",
        (f"{_LIFE}::test_a_state_that_was_restored_to_before_a_reset_and_a_rename_is_emptied_by_the_reset",),
    ),
    Mutant(
        "a rename to the name that its table bears says what leads out",
        "state/tables/renaming.py",
        "        if self.lies_under(topology, place.name):\n",
        "        if False:\n",
        (f"{_LIFE}::test_a_ledger_that_was_restored_to_before_the_rename_is_refused_by_all_versions",),
    ),
    Mutant(
        "a state follows a rename under the fence of its database",
        "state/tables/renaming.py",
        "            place.check_fence(connection, owner, epoch)\n",
        "",
        (f"{_STORES}::TestSqliteState::test_before_its_fence_is_raised_an_epoch_moves_nothing",),
    ),
    Mutant(
        "a state beside the ledger follows no older epoch",
        "state/tables/renaming.py",
        " AND epoch <= :epoch AND ",
        " AND ",
        (f"{_STORES}::TestSqliteState::test_before_its_fence_is_raised_an_epoch_moves_nothing",),
    ),
    Mutant(
        "a state of another incarnation does not follow",
        "state/tables/renaming.py",
        " AND incarnation = :incarnation AND ",
        " AND ",
        (f"{_STORES}::TestSqliteState::test_another_incarnation_is_not_moved",),
    ),
    Mutant(
        "what finds a table by any of its names is one condition of a rename",
        "state/tables/renaming.py",
        "({place.dialect.same_table})",
        "{place.dialect.same_table}",
        (
            "integration_tests/state/test_postgres_contract.py::TestPostgresState::test_another_incarnation_is_not_moved",
        ),
    ),
    Mutant(
        "a table does not follow where both names stand for something",
        "state/tables/renaming.py",
        "        if _is_there(connection, owner.topology, place.name):\n            raise",
        "        if False:\n            raise",
        (f"{_LIFE}::test_a_state_does_not_follow_onto_a_name_that_stands_for_something",),
    ),
    Mutant(
        "in memory the former name keeps the fence",
        "state/memory/renaming.py",
        "            before.put(transaction, owner.topology, Standing(None, epoch))\n",
        '            before.put(transaction, owner.topology, Standing(None, type(epoch)(0, "none")))\n',
        (f"{_STORES}::TestMemoryState::test_an_older_epoch_changes_nothing_under_either_name",),
    ),
    Mutant(
        "in memory what is staged follows",
        "state/memory/renaming.py",
        "(MemoryPlace.rows, MemoryPlace.undone, MemoryPlace.staging)",
        "(MemoryPlace.rows, MemoryPlace.undone)",
        (f"{_STORES}::TestMemoryState::test_what_is_staged_goes_along",),
    ),
    Mutant(
        "where the ledger is a new one a state is found under whatever name it lies",
        "coordinators/holding/renaming.py",
        "    names, known = {*spec.states}, {*spec.states}\n",
        "    names, known = {*spec.states}, set[str]()\n",
        (f"{_WAYS_OUT}::test_what_is_said_leads_out_where_the_ledger_is_lost_behind_a_rename",),
    ),
    Mutant(
        "a rename of what was taken out since is refused by name",
        "coordinators/decisions/renaming.py",
        "        require_still_there(stored, version.spec, renames)\n",
        "",
        (f"{_WAYS_OUT}::test_a_rename_of_what_was_taken_out_since_is_refused_by_name",),
    ),
    Mutant(
        "in memory a former name may be another topology's by now",
        "state/memory/renaming.py",
        "self._of(name).own_position(transaction, topology)",
        "self._of(name).position(transaction, topology)",
        (f"{_WAYS_OUT}::test_a_rename_leaves_another_topology_in_the_same_memory_alone",),
    ),
)
