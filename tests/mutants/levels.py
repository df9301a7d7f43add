"""Guards of the two weaker levels: what is written before and after the record, and how much may be lost."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LEVELS: Final = ("tests/coordinators/test_levels.py",)
_LIVES: Final = ("tests/coordinators/test_level_lives.py",)
_QUEUES: Final = ("tests/coordinators/test_levels_of_queues.py",)
_PLAIN: Final = ("tests/state/test_plain.py",)

LEVELS: Final = (
    Mutant(
        "at least once a batch is written before it is recorded",
        "coordinators/levels/parts.py",
        "        return super().together(batch, replace(outcome, updates=self._writes.write(batch, outcome.updates)))",
        "        commit = super().together(batch, replace(outcome, updates={}))\n"
        "        self._writes.write(batch, outcome.updates)\n"
        "        return commit",
        (*_LEVELS, *_LIVES),
    ),
    Mutant(
        "at most once a batch is recorded before it is processed",
        "coordinators/levels/behind.py",
        "        try:\n            record()\n",
        "        self._batches[batch] = _Stands.PROCESSING\n"
        "        self._process(batch, outcome)\n"
        "        try:\n            record()\n",
        (*_LEVELS, *_LIVES),
    ),
    Mutant(
        "at most once a write that nobody knows of is not repeated",
        "coordinators/levels/writing.py",
        "            except OutcomeUnknownError as error:\n",
        "            except FatalError as error:\n",
        (*_LEVELS, *_LIVES),
    ),
    Mutant(
        "what was given up is not written later",
        "coordinators/levels/writing.py",
        "        self.claim(batch)\n",
        "",
        _LEVELS,
    ),
    Mutant(
        "no more is recorded than may be lost",
        "coordinators/levels/behind.py",
        "while len(self._pending()) >= self._room and not",
        "while False and not",
        _LEVELS,
    ),
    Mutant(
        "a topology that loses every batch is stopped",
        "coordinators/levels/behind.py",
        "            if self._in_a_row >= self._most_in_a_row:\n",
        "            if False:\n",
        _LEVELS,
    ),
    Mutant(
        "a stop waits for what is recorded",
        "coordinators/levels/behind.py",
        "            while self._pending():\n                self._changed.wait(_LOOK_S)\n",
        "            pass\n",
        _LEVELS,
    ),
    Mutant(
        "what is acked before it is read can still be read",
        "coordinators/levels/behind.py",
        "        self._hold(plan)  # a source lets go of what is done\n",
        "",
        _QUEUES,
    ),
    Mutant(
        "a topology stays at its level",
        "coordinators/ledger/rules/specs.py",
        "    if stored.level is not given.level:\n",
        "    if False:\n",
        _LEVELS,
    ),
    Mutant(
        "rows that stand at a txid are not mixed with rows that do not",
        "state/tables/plain.py",
        "        refuse_placed(transaction.connection, self._dialect, self.name, self._shape.table)\n",
        "",
        _LEVELS,
    ),
    Mutant(
        "a merge that depends on the order of batches is refused",
        "state/plainly.py",
        "        if column.merge in (Merge.REPLACE, Merge.COMBINE):\n",
        "        if column.merge is Merge.COMBINE:\n",
        _PLAIN,
    ),
    Mutant(
        "several connections that merge into one table lose no update",
        "state/tables/plain.py",
        "            self._lock(connection, self._shape.quoted)\n",
        "",
        ("integration_tests/levels/test_plain_tables.py",),
    ),
    Mutant(
        "at most once no task writes",
        "trident/engine/plainly.py",
        "    return Staging.DRIVER\n",
        "    return staging\n",
        ("integration_tests/levels/test_building.py", "integration_tests/levels/test_levels.py"),
    ),
)
