"""Guards of topics that come to a stream, and go again."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LIVES: Final = ("tests/coordinators/test_new_topics.py",)
_RULES: Final = "coordinators/ledger/rules/topics.py"

TOPICS: Final = (
    Mutant(
        "a topic that comes begins where the spout says, not at 0",
        "coordinators/plans/book.py",
        "        return starts | {item",
        "        return {} | {item",
        _LIVES,
    ),
    Mutant(
        "a topic that comes is asked where it begins",
        "coordinators/holding/starts.py",
        "if (name, topic) not in begun}",
        "if (name, topic) in begun}",
        _LIVES,
    ),
    Mutant(
        "a topic that was let go of begins anew",
        _RULES,
        "if (each.spout, each.id.topic) not in gone)",
        "if each)",
        _LIVES,
    ),
    Mutant(
        "a topic that is done or pinned stays",
        _RULES,
        "        if plan is not None:\n",
        "        if plan is None:\n",
        _LIVES,
    ),
    Mutant(
        "a topic that a transactional txid was planned with stays",
        _RULES,
        'get("kind") == _PLANNED_ONCE}',
        'get("kind") is None}',
        _LIVES,
    ),
    Mutant(
        "a topic that kept rows may hold stays",
        _RULES,
        'seen.reset.states == "adopt"',
        'seen.reset.states == "clear"',
        _LIVES,
    ),
    Mutant(
        "a topic that kept rows may hold stays, where a start was named and nothing has begun",
        _RULES,
        "dict.fromkeys(held, seen.done)",
        "dict.fromkeys(begun, seen.done)",
        _LIVES,
    ),
    Mutant(
        "a topic that comes after a reset begins as its spout says",
        "coordinators/holding/starts.py",
        "    if policy is None or not came:\n",
        "    if came or not came:\n",
        _LIVES,
    ),
)
