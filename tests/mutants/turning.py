"""Guards of the work in the commit turn."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_NEW_VALUES: Final = ("integration_tests/dsl/test_new_values.py",)
_GRAPH: Final = ("tests/dsl/test_graph.py",)
_TURN: Final = ("tests/coordinators/test_turning.py",)

TURNING: Final = (
    Mutant(
        "new values are made of what the txid before has left",
        "trident/engine/turning.py",
        "        if found.position.txid != batch.txid - 1:\n",
        "        if False:\n",
        ("tests/dsl/test_turning.py",),
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
        ", carried={}",
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
        "                if before is not end and before not in done:\n",
        "                if False:\n",
        _GRAPH,
    ),
    Mutant(
        "a query knows null keys",
        "trident/engine/turning.py",
        "field(name).eqNullSafe(field(_STATE + key.name))",
        "(field(name) == field(_STATE + key.name))",
        (f"{_NEW_VALUES[0]}::test_a_record_is_shown_what_was_there_before_its_txid",),
    ),
)
"""Each guard removed by one change."""
