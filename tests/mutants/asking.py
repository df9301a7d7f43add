"""Guards of a user's code that asks states, and that keeps one."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PURE: Final = ("tests/dsl/test_asking.py",)
_UPDATING: Final = ("tests/dsl/test_updating.py",)
_REDUCERS: Final = "integration_tests/dsl/test_persistent_reducers.py"
_PERSIST: Final = "integration_tests/dsl/test_partition_persist.py"
_QUERIES: Final = "integration_tests/dsl/test_state_queries.py"

ASKING: Final = (
    Mutant(
        "a reducer in a state goes on from what is stored",
        "trident/operations/reducing.py",
        "reducer.init() if before is None else before",
        "reducer.init()",
        (f"{_REDUCERS}::test_without_groups_it_is_of_all_records",),
    ),
    Mutant(
        "a reducer in a state is given its values as the state gives them back",
        "trident/operations/reducing.py",
        ", Settling(self.types[name]))",
        ")",
        (f"{_REDUCERS}::test_without_groups_it_is_of_all_records",),
    ),
    Mutant(
        "a query function returns a result for each key",
        "trident/operations/asking.py",
        "        if len(results) != len(keys):\n",
        "        if False:\n",
        _PURE,
    ),
    Mutant(
        "a key that a state does not have is none, not a row of nulls",
        "trident/operations/asking.py",
        "row if is_there else None for",
        "row for",
        _PURE,
    ),
    Mutant(
        "keys that are equal are given in one form",
        "trident/operations/asking.py",
        "        return settled(value)\n",
        "        return value\n",
        _PURE,
    ),
    Mutant(
        "what a query asks is cleaned up when its function can't be made ready",
        "trident/operations/user_objects.py",
        "        with ExitStack() as opened:\n",
        "        opened = ExitStack()\n        if True:\n",
        ("tests/dsl/test_reducing.py",),
    ),
    Mutant(
        "a record gets the one row of its key",
        "trident/language/static_state.py",
        "            if table.most > 1:\n",
        "            if False:\n",
        (f"{_QUERIES}::test_what_cannot_be_is_refused_when_it_is_built",),
    ),
    Mutant(
        "a table's null key is a key like any other",
        "trident/operations/static_query.py",
        'field(name).eqNullSafe(field(f"{_KEY}{place}"))',
        '(field(name) == field(f"{_KEY}{place}"))',
        (f"{_QUERIES}::test_a_record_gets_the_one_row_of_its_key_or_nulls",),
    ),
    Mutant(
        "rows of one key are in the order of their values",
        "trident/operations/static_query.py",
        "F.sort_array(F.collect_list(row))",
        "F.collect_list(row)",
        (f"{_QUERIES}::test_a_record_gets_each_row_of_its_key_in_the_order_of_their_values",),
    ),
    Mutant(
        "what ends share is asked once",
        "trident/operations/static_query.py",
        "    runs_user_code = True\n",
        "    runs_user_code = False\n",
        (f"{_QUERIES}::test_what_two_ends_share_was_asked_once",),
    ),
    Mutant(
        "an updater writes keys that its records name",
        "trident/operations/updating.py",
        "            if name not in known:\n",
        "            if False:\n",
        _UPDATING,
    ),
    Mutant(
        "an updater writes a key once",
        "trident/operations/updating.py",
        "            if name in seen:\n",
        "            if False:\n",
        _UPDATING,
    ),
    Mutant(
        "a row of nulls is a key that was removed",
        "trident/operations/updating.py",
        "            if value is not None and all(each is None for each in row):\n",
        "            if False:\n",
        _UPDATING,
    ),
    Mutant(
        "an updater is given records in their order",
        "trident/operations/updating.py",
        "in_order(orders, given)",
        "given",
        _UPDATING,
    ),
    Mutant(
        "a null replaces a value too",
        "state/folding.py",
        "    if column.merge is Merge.REPLACE:\n        return lambda stored, staged: staged[place]\n",
        "    if column.merge is Merge.REPLACE:\n"
        "        return lambda stored, staged: stored[place] if staged[place] is None else staged[place]\n",
        ("tests/state/test_contract.py",),
    ),
    Mutant(
        "a null replaces a value in a table too",
        "state/tables/merge.py",
        "        case Merge.REPLACE | Merge.COMBINE:\n            return staged",
        '        case Merge.REPLACE | Merge.COMBINE:\n            return f"COALESCE({staged}, {stored})"',
        ("tests/state/test_contract.py",),
    ),
    Mutant(
        "a key that was removed is not there",
        "trident/language/updating.py",
        "F.when(field(prefix + IS_STORED) & is_there, row)",
        "F.when(field(prefix + IS_STORED), row)",
        (f"{_PERSIST}::test_it_is_what_one_record_after_the_other_makes",),
    ),
    Mutant(
        "queries do not see a key that was removed",
        "trident/language/turning.py",
        "        return F.when(_is_there(state, prefix), row)\n",
        "        return F.when(field(prefix + IS_STORED), row)\n",
        (f"{_PERSIST}::test_what_it_holds_is_asked_and_its_new_values_flow_on",),
    ),
)
"""Each guard removed by one change."""
