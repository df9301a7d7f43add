"""Guards about rows that end with the process that received them: what is said of them, and what a stop does."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_RUNS = ("tests/coordinators/test_receiving.py",)
_PLANS = ("tests/coordinators/test_received_plans.py", *_RUNS)
_PROTOCOL = ("tests/coordinators/test_protocol.py",)
_SAID = ("tests/cli/test_received.py",)

RECEIVED: Final = (
    Mutant(
        "what is received is planned at once",
        "coordinators/plans/maker.py",
        "        if self._receives and not command.only_full:\n",
        "        if self._receives:\n",
        ("tests/coordinators/test_received_plans.py",),
    ),
    Mutant(
        "a run that is stopped asks for nothing more",
        "coordinators/plans/maker.py",
        "            elif isinstance(source, Receives) and not is_last:\n",
        "            elif isinstance(source, Receives):\n",
        _PLANS,
    ),
    Mutant(
        "rows that would end with a run that is stopped are tried again",
        "coordinators/protocol/step.py",
        "    if is_last and not (state.keeps_rows and item.tries < _TRIES_AT_THE_END):\n",
        "    if is_last:\n",
        (*_PROTOCOL, *_RUNS),
    ),
    Mutant(
        "a stop does not try for ever",
        "coordinators/protocol/step.py",
        "    if is_last and not (state.keeps_rows and item.tries < _TRIES_AT_THE_END):\n",
        "    if is_last and not state.keeps_rows:\n",
        (*_PROTOCOL, *_RUNS),
    ),
    Mutant(
        "a run knows that its rows are in its process only",
        "coordinators/holding/run.py",
        "                keeps_rows=any(map(lives_in_process, spouts.values())),\n",
        "                keeps_rows=False,\n",
        _RUNS,
    ),
    Mutant(
        "nothing is advised to be diverted that is gone",
        "coordinators/refusals.py",
        "    if refusal.state and not left_out and gone is None:",
        "    if refusal.state and not left_out:",
        _SAID,
    ),
    Mutant(
        "a batch that had nothing received is told of like any other",
        "coordinators/gone.py",
        "        read = {item.spout for item in ranges if item.range.width}\n",
        "        read = {item.spout for item in ranges} | {*received}\n",
        _SAID,
    ),
    Mutant(
        "a stop says what the next attempt goes without",
        "coordinators/batches/stopping.py",
        "        stopped.gone = gone\n",
        "        pass\n",
        _SAID,
    ),
    Mutant(
        "what is pinned is no row that is gone",
        "trident/cli/gone.py",
        " or txid <= standing.done or txid == standing.pinned:",
        " or txid <= standing.done:",
        _SAID,
    ),
    Mutant(
        "an undo says what can't be read again",
        "coordinators/holding/takeover.py",
        "        return undo_way(pinned.batch.txid, Gone.of(self.spec.received, pinned.pin.plan.ranges))\n",
        "        return undo_way(pinned.batch.txid)\n",
        _SAID,
    ),
    Mutant(
        "a call that does not return is named",
        "spouts/python/receiving.py",
        '        self._watched.begins(f"receive() of partition {number}")\n',
        "",
        _RUNS,
    ),
    Mutant(
        "no topic is named by a pattern",
        "spouts/kafka/topics.py",
        "        if _OF_PATTERNS.intersection(topic):\n",
        "        if topic is None:\n",
        ("tests/spouts/test_configuration.py",),
    ),
    Mutant(
        "what lives beside a ledger is not kept in a test",
        "trident/testing/places.py",
        '    if kept is not None and described.get("database") == "ledger":\n',
        "    if described is None:\n",
        ("integration_tests/testing/test_topology_test.py",),
    ),
    Mutant(
        "the order of a key's records counts",
        "trident/testing/exactly_once.py",
        "if found.orders[name][key] != records]",
        "if key is None]",
        ("integration_tests/testing/test_topology_test.py",),
    ),
    Mutant(
        "keys expire in a test",
        "trident/testing/places.py",
        "        if isinstance(end.state, BackingMapState) and end.state.expire_after is not None:\n",
        "        if end is None:\n",
        ("integration_tests/testing/test_topology_test.py",),
    ),
)
