"""Guards of whose a table is, across levels and schemas, and of what a reset of a weaker level may empty and keep."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_RESETS: Final = ("tests/coordinators/test_levels_resets.py",)
_OWNING: Final = ("tests/state/test_owning.py",)
_WORLDS: Final = ("tests/coordinators/test_level_worlds.py",)
_POSTGRES: Final = ("integration_tests/levels/test_owning_postgres.py",)

OWNING: Final = (
    Mutant(
        "a reset that was replaced empties nothing",
        "state/tables/plain_marks.py",
        "        if connection.execute(_PUT, {**named, **known, **found}).rowcount == 1:\n",
        "        if connection.execute(_PUT, {**named, **known, **found}).rowcount >= 0:\n",
        (*_OWNING, *_RESETS),
    ),
    Mutant(
        "a reset that was replaced forgets nothing in memory",
        "state/memory/plain.py",
        "            check_epoch(None if known is None else known.epoch, epoch, self.name)\n",
        "",
        (*_OWNING, *_RESETS),
    ),
    Mutant(
        "what is forgotten beside the ledger is held by it",
        "state/memory/plain.py",
        "bool(rows), newest)\n            if self.is_beside and holds is not None:\n",
        "bool(rows), newest)\n            if False:\n",
        _OWNING,
    ),
    Mutant(
        "what is emptied beside the ledger is held by it",
        "state/tables/plain.py",
        "owner.topology)\n            if self._shared and holds is not None:\n",
        "owner.topology)\n            if False:\n",
        _OWNING,
    ),
    Mutant(
        "the first level takes no table that is noted at a weaker one",
        "state/tables/counting.py",
        "    refuse_noted(connection, place.ownership)\n",
        "",
        _OWNING,
    ),
    Mutant(
        "the first level takes no memory of a weaker one",
        "state/memory/target.py",
        "        refuse_noted(transaction, self.name)\n",
        "",
        _OWNING,
    ),
    Mutant(
        "whose a table is, is asked in the transaction that takes it",
        "state/tables/plain_marks.py",
        "        refuse_others(connection, self._ownership, topology, self.name, may_share=self.may_share)\n"
        "        self._ownership",
        "        self._ownership",
        _OWNING,
    ),
    Mutant(
        "a note of a table that is not there holds nothing",
        "state/tables/owning.py",
        "        if not self.dialect.may_read(connection, NOTES) or self._has(connection, self.table):\n"
        "            return\n",
        "        if True:\n            return\n",
        _OWNING,
    ),
    Mutant(
        "a table that was left may be taken by others",
        "state/tables/owning.py",
        '("may_share, relation", " AND NOT has_left") if is_told',
        '("may_share, relation", "") if is_told',
        (*_OWNING, *_RESETS),
    ),
    Mutant(
        "what was taken out leaves its table",
        "coordinators/decisions/dropping.py",
        "        _leave(taking, plain[name], snapshot.owner)\n",
        "        pass\n",
        _RESETS,
    ),
    Mutant(
        "a reset that keeps rows looks for them again when it is finished",
        "coordinators/holding/takeover.py",
        "                self.plain.check_kept(self.snapshot)\n",
        "",
        _RESETS,
    ),
    Mutant(
        "what was left out while a reset was open is looked at",
        "coordinators/holding/takeover.py",
        "            self.plain.check(self.snapshot)  # what was left out while it was open\n",
        "",
        _RESETS,
    ),
    Mutant(
        "whose a table is, is asked through every search path",
        "state/tables/owning.py",
        "        return [*self._here(connection, NOTES), *self.elsewhere(connection, NOTES)]\n",
        "        return self._here(connection, NOTES)\n",
        _POSTGRES,
    ),
    Mutant(
        "a position in another schema holds a table against a weaker level",
        "state/tables/owning.py",
        "*self.elsewhere(connection, POSITIONS), *self.notes",
        "*self.notes",
        _POSTGRES,
    ),
    Mutant(
        "a reset takes no rows of a weaker level along",
        "state/postgres/taking.py",
        "WHERE c.relname IN ('trident_applied', 'trident_plain') AND",
        "WHERE c.relname IN ('trident_applied') AND",
        _POSTGRES,
    ),
    Mutant(
        "a table that was exchanged in its database is seen",
        "coordinators/holding/plain_standing.py",
        "    if found.mark.is_of_another and not found.is_missing and not is_told:\n",
        "    if False:\n",
        _POSTGRES,
    ),
    Mutant(
        "what was restored with its notes is no other table",
        "state/tables/plain_marks.py",
        "        if now is None or number_of(self.dialect.relation(connection, NOTES)) != beside:\n",
        "        if now is None:\n",
        _POSTGRES,
    ),
    Mutant(
        "a birth of the first level waits for one of a weaker level to end",
        "state/tables/sql_target.py",
        "                place.database.schema_terms.lock(connection)  # what a weaker level begins in takes it, too\n",
        "",
        _POSTGRES,
    ),
    Mutant(
        "notes that only others may read stop no topology of the first level",
        "state/tables/owning.py",
        "        if not (self.dialect.may_read(connection, kept) and ",
        "        if not (self._has(connection, kept) and ",
        _POSTGRES,
    ),
    Mutant(
        "whether a table stands at a txid is asked under the lock of who registers one",
        "state/tables/plain_marks.py",
        "        PLAIN_TABLES.migrate(connection, self.database.schema_terms)\n"
        "        refuse_placed(connection, self._ownership, self.name)\n",
        "        refuse_placed(connection, self._ownership, self.name)\n"
        "        PLAIN_TABLES.migrate(connection, self.database.schema_terms)\n",
        _POSTGRES,
    ),
    Mutant(
        "a note that knows its table's number is found by nothing else",
        "state/tables/owning.py",
        '        by_name = f"(relation IS NULL OR NOT relation LIKE :beside) AND {by_name}"\n',
        "",
        _POSTGRES,
    ),
    Mutant(
        "a note that came from a dump counts by name",
        "state/tables/owning.py",
        "(relation IS NULL OR NOT relation LIKE :beside)",
        "relation IS NULL",
        _POSTGRES,
    ),
    Mutant(
        "the number of a note that came from a dump is no table's",
        "state/tables/owning.py",
        '"relation LIKE :number AND relation LIKE :beside"',
        '"relation LIKE :number AND :beside IS NOT NULL"',
        _POSTGRES,
    ),
    Mutant(
        "a note that came from a dump is found in other schemas, too",
        "state/tables/owning.py",
        '        if kept != NOTES or "." not in self.table:\n',
        "        if True:\n",
        _POSTGRES,
    ),
    Mutant(
        "who stood still merges nothing into what is another's by now",
        "state/tables/plain.py",
        "            self._marks.hold(connection, batch)\n",
        "",
        _OWNING,
    ),
    Mutant(
        "who stood still appends nothing to what is another's by now",
        "state/row_tables/plain.py",
        "            self._marks.hold(transaction.connection, batch)\n",
        "",
        _OWNING,
    ),
    Mutant(
        "who was replaced writes nothing into memory in which its successor has begun",
        "state/memory/plain.py",
        " or (noted.owner, noted.epoch) != (batch.owner, batch.epoch):\n",
        ":\n",
        (*_OWNING, *_WORLDS),
    ),
    Mutant(
        "whose a table is, stays until the COMMIT of who writes",
        "state/tables/plain_marks.py",
        "text(_HELD + self.dialect.for_share)",
        "text(_HELD)",
        _POSTGRES,
    ),
    Mutant(
        "what was exchanged while a topology runs is not written to",
        "state/tables/plain_marks.py",
        "        if row.relation is not None and self._is_another(connection, row.relation):\n",
        "        if False:\n",
        _POSTGRES,
    ),
    Mutant(
        "a drop that was cut off behind its record leaves the table when it is given again",
        "coordinators/decisions/dropping.py",
        "        _finish_cut_off(taking, plain[name])\n",
        "        pass\n",
        _RESETS,
    ),
    Mutant(
        "a drop that was cut off before a reset leaves the table too",
        "coordinators/decisions/dropping.py",
        "in sorted(seen.incarnations | {seen.owner.incarnation}):\n",
        "in [seen.owner.incarnation]:\n",
        _RESETS,
    ),
    Mutant(
        "two tables of one name are two behind a restore",
        "state/tables/owning.py",
        "        return not is_of_now and number_of(mine.relation) != number_of(other.relation)\n",
        "        return False\n",
        _POSTGRES,
    ),
    Mutant(
        "what is made behind a restore releases no note of another schema",
        "state/tables/plain_marks.py",
        ", self.name, numbered=False)\n",
        ", self.name)\n",
        _POSTGRES,
    ),
    Mutant(
        "a note of now holds, whatever table one's own note of before a restore was of",
        "state/tables/owning.py",
        "        return not is_of_now and number_of(",
        "        return number_of(",
        _POSTGRES,
    ),
    Mutant(
        "who has left a table that another one took is new to it",
        "state/tables/plain_marks.py",
        "            self._ownership.forget_who_left(connection, owner.topology, self.name)\n",
        "",
        _OWNING,
    ),
    Mutant(
        "a table that was renamed is missed by name",
        "state/tables/tables.py",
        "    if holder is not None:\n",
        "    if False:\n",
        _OWNING,
    ),
    Mutant(
        "of two spellings of a table one is registered",
        "state/tables/counting.py",
        "    for topology, state in place.applied.holders(connection):\n",
        "    for topology, state in ():\n",
        _POSTGRES,
    ),
)
