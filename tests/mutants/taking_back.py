"""Guards about the last done txid, when a person has it undone: what keeps it done, and what makes it as it was."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_RULES = ("tests/ledger/test_rules_of_taking_back.py",)
_LEDGERS = ("tests/ledger/test_memory_ledger.py", "tests/ledger/test_sqlite_ledger.py")
_LIVES = ("tests/coordinators/test_taking_back.py",)
_ENDS = ("tests/coordinators/test_ends_taken_back.py",)
_TOPICS = ("tests/spouts/test_kafka_keeping.py",)
_RULE = "coordinators/ledger/rules/taking_back.py"
_ROWS = "coordinators/ledger/sql/taking_back.py"
_WAY = "coordinators/decisions/taking_back.py"
_KEEPING = "spouts/kafka/keeping.py"

TAKING_BACK: Final = (
    Mutant(
        "only the last txid is taken back",
        _RULE,
        "    if (decision.txid, decision.attempt) != done:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "nothing is taken back under a pin",
        _RULE,
        "    if pinned is not None:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "what is decided is finished before",
        _RULE,
        "    if open_decisions:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "a refusal that waits comes first",
        _RULE,
        "    if refusal is not None and refusal.blocks:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "the first txid is never taken back",
        _RULE,
        "    if plan.predecessor == 0:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "losses are not taken back",
        _RULE,
        "    if plan.losses:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "messages are not taken back",
        _RULE,
        "    if plan.received or plan.timers:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "dead letters are not taken back",
        _RULE,
        "    if pin.dead_letters or found.dead_letters:\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "diverted rows are not taken back", _RULE, "    if plan.diverts or found.diverted:\n", "    if False:\n", _RULES
    ),
    Mutant(
        "a state that came behind it keeps it done",
        _RULE,
        "        if birth.txid is None or birth.txid >= plan.txid:\n",
        "        if birth.txid is None or birth.txid > plan.txid:\n",
        _RULES,
    ),
    Mutant(
        "a value that came behind it keeps it done",
        _RULE,
        "            if column.txid >= plan.txid:\n",
        "            if column.txid > plan.txid:\n",
        _RULES,
    ),
    Mutant(
        "what was taken out keeps it done", _RULE, "        if gone.txid >= plan.txid:\n", "        if False:\n", _RULES
    ),
    Mutant(
        "it begins where the one before stops",
        _RULE,
        " or (begun.range.topic_id, begun.range.start) != (item.range.topic_id, item.range.stop):\n",
        ":\n",
        _RULES,
    ),
    Mutant(
        "it follows on the attempt that is kept",
        _RULE,
        "    if (before.txid, before.attempt) != (plan.txid - 1, plan.predecessor):\n",
        "    if False:\n",
        _RULES,
    ),
    Mutant(
        "partitions that the plan before did not change are known again",
        _RULE,
        "    return replace(before, ranges=tuple(item for _, item in sorted(ranges.items())))\n",
        "    return before\n",
        _LEDGERS,
    ),
    Mutant(
        "what is planned ahead is dropped with it",
        _ROWS,
        "    write_drop(connection, owner, decision.txid + 1)\n",
        "",
        _LEDGERS,
    ),
    Mutant(
        "old refusals do not come back with it",
        _ROWS,
        "    settle(connection, owner, decision)\n",
        "",
        _LEDGERS,
    ),
    Mutant(
        "a sink keeps a txid done",
        _WAY,
        "    if spec.sinks:\n",
        "    if False:\n",
        _ENDS,
    ),
    Mutant(
        "each state must have been in it",
        _WAY,
        "    if others:\n",
        "    if False:\n",
        _ENDS,
    ),
    Mutant(
        "only opaque states are taken back",
        _WAY,
        '        if described.get("kind") != StateKind.OPAQUE:\n',
        "        if False:\n",
        _ENDS,
    ),
    Mutant(
        "keys that expire keep a txid done",
        _WAY,
        "        if target.capabilities.expiring is not None:\n",
        "        if False:\n",
        _ENDS,
    ),
    Mutant(
        "updaters keep a txid done",
        _WAY,
        '        if _REPLACES.search(described.get("values", "")):\n',
        "        if False:\n",
        _ENDS,
    ),
    Mutant(
        "maps keep a txid done",
        _WAY,
        "        if not undoes_done(target):\n",
        "        if False:\n",
        _ENDS,
    ),
    Mutant(
        "a newer version takes nothing back",
        _WAY,
        "    if seen.added.is_something:\n",
        "    if False:\n",
        _LIVES,
    ),
    Mutant(
        "records that are gone keep a txid done",
        _WAY,
        "            if gone is not None:\n",
        "            if False:\n",
        _LIVES,
    ),
    Mutant(
        "a stream has to say that it keeps its records",
        _WAY,
        "            if not isinstance(source, KeepsRecords):\n",
        '            if not hasattr(source, "why_gone"):\n                continue\n            if source is None:\n',
        _LIVES,
    ),
    Mutant(
        "rows are tried before it is recorded",
        _WAY,
        "    try_with_patience(taking.repeater, str(decision), partial(check_undo, taking.stores, pinned))\n",
        "",
        _LIVES,
    ),
    Mutant(
        "rows in memory remember that they were brought back",
        "state/memory/parts.py",
        "                    back[key] = batch.txid - 1\n",
        "",
        _LIVES,
    ),
    Mutant(
        "a topic is known by its id",
        _KEEPING,
        "        if bound.topic_id != item.topic_id:\n",
        "        if False:\n",
        _TOPICS,
    ),
    Mutant(
        "a log begins before it", _KEEPING, "        if bound.earliest > item.start:\n", "        if False:\n", _TOPICS
    ),
    Mutant(
        "a log ends behind it",
        _KEEPING,
        "        if bound.stop < item.stop:\n",
        "        if False:\n",
        _TOPICS,
    ),
    Mutant(
        "a compacted topic keeps a txid done",
        _KEEPING,
        "        if _COMPACTED in policy:\n",
        "        if False:\n",
        _TOPICS,
    ),
    Mutant(
        "settings that are not told are no answer",
        _KEEPING,
        "        if policy is None:\n",
        "        if False:\n",
        _TOPICS,
    ),
)
