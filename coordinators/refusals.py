"""What is said of a refusal that waits for a person: what was found, and the commands that go on."""

from __future__ import annotations

import shlex

from trident.base.advice import DIVERT, RETRY, UNDO
from trident.base.errors import DecisionNeededError
from trident.coordinators.decided import Refusal
from trident.coordinators.gone import Gone
from trident.coordinators.planned import Plan

_MOST_RANGES = 5
"""How many ranges a text names; `trident show` has all of them."""
_CAUSES = (
    "a constraint, a trigger or a right of the table, a topic that is not there or does not take it, or in the "
    "topology a function, or a filter that is added"
)
_CAUSES_OF_PINNED = (
    "a constraint, a trigger or a right of the table, a topic, or a combiner; the rows are pinned as they are"
)


def decision_needed(topology: str, found: str, refusal: Refusal, ways: tuple[str, ...]) -> DecisionNeededError:
    """Return the error that says what was found and which commands go on."""
    lines = "\n  ".join(ways)
    return DecisionNeededError(
        f"{found} Nothing of topology {topology!r} runs until a person has decided about txid {refusal.txid}. "
        f"Each of these goes on (the ledger is named by --ledger or TRIDENT_LEDGER):\n  {lines}"
    )


def refused_by_state(topology: str, refusal: Refusal) -> str:
    """Return what the ledger says of a refusal, as a sentence."""
    by = f" by state {refusal.state!r}" if refusal.state else ""
    return (
        f"txid {refusal.txid} attempt {refusal.attempt} of topology {topology!r} was refused for good{by}: "
        f"{refusal.reason}."
    )


def records_of(plan: Plan) -> str:
    """Return which records an attempt has read, as half a sentence: positions only, never what is in them."""
    ranges = [item for item in plan.ranges if item.range.width]
    shown = [
        f"{item.range.start} to {item.range.stop - 1} of partition {item.range.id.partition} of {item.range.id.topic!r}"
        for item in ranges[:_MOST_RANGES]
    ]
    more = len(ranges) - len(shown)
    if more:
        shown.append(f"those of {more} more partitions")
    return ", ".join(shown)


def undo_way(txid: int, gone: Gone | None = None) -> str:
    """Return the command that takes a pinned txid back; whether it can be, only its states can say.

    `gone` is what of it can't be read again.
    """
    read_again = "the batch is read again, by the topology as it is then: with another function, or a filter"
    if gone is not None:
        read_again = f"the next attempt at it goes without {gone.rows}: {gone.fate}"
    return f"{UNDO} {txid}  (every state goes back to txid {txid - 1}, {read_again})"


def ways_on(
    topology: str, refusal: Refusal, *, undo: str | None = None, left_out: bool = False, gone: Gone | None = None
) -> tuple[str, ...]:
    """Return the commands that a person can choose from; `undo` says that it can be undone, or why it can't be.

    `gone` is what of an attempt that is not pinned ended with its process: its rows can be diverted by nobody.

    A state that refused an attempt although its rows were `left_out` of it would do so again: it has nothing to divert.
    Where the database refused and no state can be told, nothing is diverted: it would be an innocent one's rows.
    The types of a state's columns can't change, so none is offered; what is pinned is not computed again.
    """
    state = shlex.quote(refusal.state)
    causes = _CAUSES if undo is None else _CAUSES_OF_PINNED
    does = f"once the cause is mended: {causes}"
    if gone is not None:
        does = (
            f"the txid goes on without {gone.rows}: {gone.fate}. What comes meets the same cause, unless it is mended"
        )
    ways = [f"{RETRY} {shlex.quote(topology)} {refusal.txid}  ({does})"]
    if refusal.state and not left_out and gone is None:  # else nobody can say whose rows it is about, or has them
        ways.append(
            f"{DIVERT} {refusal.txid} --state {state}  (those of its rows of this txid that it refuses, or all of them "
            "where these can't be told apart or with --all-rows, go to the ledger's diverted rows, the rest goes on; "
            "trident show "
            f"{shlex.quote(topology)} {refusal.txid} shows them)"
        )
    if undo is not None:
        ways.append(undo)
    return tuple(ways)
