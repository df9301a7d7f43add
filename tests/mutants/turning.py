"""Guards of the work in the commit turn."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_NEW_VALUES: Final = ("integration_tests/dsl/test_new_values.py",)
_GRAPH: Final = ("tests/dsl/test_graph.py",)
_TURN: Final = ("tests/coordinators/test_turning.py",)
_PACKED: Final = ("integration_tests/state/test_packed_rows.py",)
_COLUMNS: Final = ("tests/state/test_folding_columns.py",)

TURNING: Final = (
    Mutant(
        "new values are made of what the txid before has left",
        "trident/engine/turning.py",
        "        if found.position.txid != batch.txid - 1:\n",
        "        if False:\n",
        ("tests/dsl/test_turning.py",),
    ),
    Mutant(
        "times without a zone have none in the turn",
        "trident/engine/turning.py",
        ", prefer_timestamp_ntz=True)",
        ")",
        ("integration_tests/dsl/test_turn_types.py",),
    ),
    Mutant(
        "the time of the turn is in a figure",
        "coordinators/batches/turning.py",
        "round((self.clock.monotonic() - started) * 1000)",
        "0",
        _TURN,
    ),
    Mutant(
        "a diverted state has no new values",
        "coordinators/batches/turning.py",
        " and name not in outcome.plan.diverts",
        "",
        _TURN,
    ),
    Mutant(
        "what is carried to the turn is not pinned",
        "coordinators/batches/turning.py",
        "            carried={},\n",
        "",
        _TURN,
    ),
    Mutant(
        "an engine that comes back after the end stages nothing in the turn",
        "coordinators/batches/turning.py",
        "        if self.is_over.is_set():\n",
        "        if False:\n",
        _TURN,
    ),
    Mutant(
        "records that the turn needs are carried there",
        "trident/graph/turns.py",
        "            if node not in carried:\n",
        "            if False:\n",
        _GRAPH,
    ),
    Mutant(
        "a state is made before what is made of its new values",
        "trident/graph/turns.py",
        "[state for state in states if state in before]",
        "[]",
        _GRAPH,
    ),
    Mutant(
        "a query knows null keys",
        "trident/engine/turning.py",
        "field(name).eqNullSafe(field(_STATE + key.name))",
        "(field(name) == field(_STATE + key.name))",
        (f"{_NEW_VALUES[0]}::test_a_record_is_shown_what_was_there_before_its_txid",),
    ),
    Mutant(
        "a sum of whole columns that leaves its type is refused",
        "state/folding_columns.py",
        "pc.add_checked(",
        "pc.add(",
        _COLUMNS,
    ),
    Mutant(
        "a sum of the longest decimals has a digit more",
        "state/folding_columns.py",
        "type_.precision == _MOST_DIGITS",
        "type_.precision > _MOST_DIGITS",
        _COLUMNS,
    ),
    Mutant(
        "whole columns know that NaN is the greatest",
        "state/folding_columns.py",
        "pc.or_(found, pc.and_not(pc.is_nan(more), pc.is_nan(less)))",
        "found",
        _COLUMNS,
    ),
    Mutant(
        "of equal ones a null is the least",
        "state/folding_columns.py",
        "    if is_least:  # of equal ones null is first\n",
        "    if False:\n",
        _COLUMNS,
    ),
    Mutant(
        "keys of whole columns have one form",
        "state/pairing.py",
        "[settled_array(rows.column(key.name)) for key in layout.keys]",
        "[rows.column(key.name) for key in layout.keys]",
        ("tests/state/test_new_values.py",),
    ),
    Mutant(
        "a key that was staged twice has no new values",
        "state/pairing.py",
        "    if surplus:\n",
        "    if False:\n",
        ("tests/state/test_new_values.py",),
    ),
    Mutant(
        "packed values that no store holds are refused",
        "state/postgres/packed.py",
        "    what = unheld(made)\n    if what is not None:\n        raise refused(field.name, what)\n    settled",
        "    settled",
        _PACKED,
    ),
    Mutant(
        "a null is packed as one",
        "state/postgres/packed.py",
        "coalesce(octet_length({name}), -1)",
        "coalesce(octet_length({name}), 0)",
        _PACKED,
    ),
)
"""Each guard removed by one change."""
