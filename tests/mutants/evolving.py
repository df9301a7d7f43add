"""Guards of versions of a topology whose states have other columns."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LIVES = ("tests/coordinators/test_other_columns.py",)
_LEDGERS = ("tests/ledger/test_memory_ledger.py", "tests/ledger/test_sqlite_ledger.py")
_RULES = ("tests/ledger/test_rules_of_columns.py", *_LEDGERS)
_STORES = ("tests/state/test_contract.py",)

EVOLVING = (
    Mutant(
        "a result is not made of a column that holds everything and one that is new",
        "state/evolving.py",
        "        _require_all_new(column, layout, columns)\n",
        "",
        ("tests/state/test_coming_columns.py",),
    ),
    Mutant(
        "a version is put into the order in which things are stored",
        "coordinators/holding/takeover.py",
        "        tell_columns(self._named, seen)\n",
        "        pass\n",
        _LIVES,
    ),
    Mutant(
        "what is pinned is finished before a new value is born",
        "coordinators/holding/takeover.py",
        "        if has_coming(self.snapshot):\n            return True\n",
        "",
        _LIVES,
    ),
    Mutant(
        "a new value is made once it is recorded",
        "coordinators/holding/takeover.py",
        "        grow(self.stores, self._read, lambda store: prepare(store, self.repeater))\n",
        "",
        _LIVES,
    ),
    Mutant(
        "a store that can't follow is refused",
        "coordinators/holding/evolving.py",
        "        elif name in stores and held.is_other:\n",
        "        elif False:\n",
        _LIVES,
    ),
    Mutant(
        "a column that is somebody else's is not taken",
        "state/tables/growing.py",
        "        if column is not None and not _is_recorded(place, spec, column):\n",
        "        if False:\n",
        _LIVES,
    ),
    Mutant(
        "a table that may not be changed is seen before anything is recorded",
        "state/tables/growing.py",
        "    if not place.dialect.may_change(connection, table):\n",
        "    if False:\n",
        _LIVES,
    ),
    Mutant(
        "a column that is recorded and missing is made while nothing can be in it",
        "state/tables/growing.py",
        "column.name in place.empty]\n",
        "False]\n",
        (*_LIVES, *_STORES),
    ),
    Mutant(
        "a column that held something may not be missing",
        "coordinators/ledger/rules/evolving.py",
        "for each in birth.columns if newest <= each.txid}",
        "for each in birth.columns}",
        (*_LIVES, *_LEDGERS),
    ),
    Mutant(
        "a version without a value is refused once a txid was pinned with it",
        "coordinators/ledger/rules/evolving.py",
        "    if (done if pinned is None else pinned) <= since:\n",
        "    if True:\n",
        (*_LIVES, *_LEDGERS),
    ),
    Mutant(
        "what an updater keeps does not change",
        "coordinators/ledger/rules/evolving.py",
        "    if any(column.merge is Merge.REPLACE for column in comes):\n",
        "    if False:\n",
        _LEDGERS,
    ),
    Mutant(
        "a value of another type or merge is another one",
        "coordinators/ledger/rules/evolving.py",
        "    if {column.name for column in gone} & {column.name for column in comes}:\n",
        "    if False:\n",
        _LEDGERS,
    ),
    Mutant(
        "what can't be told apart is not guessed",
        "coordinators/ledger/rules/columns.py",
        "    return None if depth else [*parts, text[first:]]\n",
        "    return [*parts, text[first:]]\n",
        _RULES,
    ),
    Mutant(
        "a column that is left of a version taken back is known",
        "coordinators/ledger/rules/evolving.py",
        "        withdrawn = tuple(sorted(gone.union(birth.withdrawn) - comes))\n",
        "        withdrawn = ()\n",
        (*_LIVES, *_LEDGERS),
    ),
    Mutant(
        "rows that are shorter have nothing in what came later",
        "state/evolving.py",
        "    return row if len(row) >= width else (*row, *(None,) * (width - len(row)))\n",
        "    return row\n",
        _STORES,
    ),
    Mutant(
        "staged rows are taken by their names",
        "state/evolving.py",
        "    if rows.column_names == schema.names:\n",
        "    if True:\n",
        _STORES,
    ),
)
