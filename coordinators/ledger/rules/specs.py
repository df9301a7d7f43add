"""What of a topology must stay the same over restarts: stored once, compared at every start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from trident.base.advice import DROP
from trident.base.errors import MismatchError
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger.rules.columns import values_in
from trident.coordinators.ledger.rules.renaming import likely_renames, rename_way, table_to_say
from trident.coordinators.ledger.rules.topics import new_topics
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import SINK, Added, Birth, TopologySpec
from trident.state.evolving import HeldColumns
from trident.state.layout import Merge

Described = Mapping[str, Mapping[str, str]]
_ELSEWHERE: Final = "what it holds is at the old place, and would be missing at the new one"
_MEANS: Final = {
    "values": "its rows hold the old aggregates, of which the new ones can't be made",
    "keys": "its rows are those of the old key",
    "store": _ELSEWHERE,
    "database": _ELSEWHERE,
    "table": _ELSEWHERE,
}
"""What a change would do to the data of a state, by what has changed; of sinks and streams it depends on their kind."""


def merged_spec(stored: TopologySpec, given: TopologySpec) -> TopologySpec:
    """Return the spec to store from now on: the given one, if it only adds to the stored one.

    Raises MismatchError that shows both versions of every spout or state that is gone or differs.
    """
    if stored.level is not given.level:
        raise _another_level(stored, given)
    differences = [
        *_differences("stream", stored.spouts, given.spouts),
        *_differences("state", stored.states, given.states),
    ]
    if differences:
        raise MismatchError(
            f"topology {given.name!r} is not the one in the ledger: {'; '.join(differences)}. Nothing was changed. "
            f"Put the old names and kinds back, {_way_out(stored, given)}or give the new topology another name."
        )
    return replace(given, dropped=stored.dropped, renamed=stored.renamed)


def added_to(
    stored: TopologySpec | None, given: TopologySpec, columns: tuple[tuple[str, HeldColumns], ...] = ()
) -> Added:
    """Return what the ledger does not know yet of a description; None: it knows nothing of the topology.

    `columns` are what states hold that were given with others.
    """
    if stored is None:
        return Added(True, tuple(given.spouts), tuple(given.states))
    streams = tuple(name for name in given.spouts if name not in stored.spouts)
    states = tuple(name for name in given.states if name not in stored.states)
    back = tuple(gone.state for gone in stored.dropped if gone.state in states)
    return Added(False, streams, states, back, new_topics(stored, given), columns)


def merged_starts(stored: Sequence[StartPosition] | None, given: Sequence[StartPosition]) -> tuple[StartPosition, ...]:
    """Return the start positions to store: those of each topic are set once; spouts and their topics may be added.

    Raises MismatchError when a spout's stored positions differ from the given ones.
    """
    before = _by_spout(stored or ())
    now = _by_spout(given)
    for spout in before.keys() & now.keys():
        begun = {item.id.topic for item in before[spout]}
        if before[spout] != {item for item in now[spout] if item.id.topic in begun}:
            raise MismatchError(
                f"stream {spout!r}: start positions are stored already and differ from the given ones. Nothing was "
                "changed; an incarnation starts once."
            )
    return tuple(sorted({*(stored or ()), *given}, key=lambda item: (item.spout, item.id)))


def births_before(stored: TopologySpec) -> tuple[Birth, ...]:
    """Return what is known of the states of a topology whose births nobody recorded: that it has them."""
    return tuple(Birth(state, None) for state in sorted(stored.states))


def births_of_reset(
    stored: TopologySpec, births: Sequence[Birth], done: int, decision: ResetDecision
) -> tuple[Birth, ...]:
    """Return the births of all states of a new incarnation; kept rows lack of their values what they lacked before.

    `done` is where the one before stands: what nothing is in yet is born anew with the states.
    """
    with_rows, birth_txid = decision.states == "adopt", decision.birth_txid
    known = {birth.state: birth for birth in births}

    def born(state: str) -> Birth:
        before = known.get(state, Birth(state, None))
        columns = tuple(
            each if with_rows and each.txid < done else replace(each, txid=birth_txid) for each in before.columns
        )
        return replace(before, txid=birth_txid, with_rows=with_rows, columns=columns)

    return tuple(map(born, sorted(stored.states)))


def merged_births(stored: Sequence[Birth], given: Sequence[Birth]) -> tuple[Birth, ...]:
    """Return the births to store; raises MismatchError for a state that was born at another txid."""
    merged = {birth.state: birth for birth in stored}
    for birth in given:
        known = merged.get(birth.state)
        if known is None:
            merged[birth.state] = birth
        elif known.txid is None:
            merged[birth.state] = replace(known, txid=birth.txid, with_rows=birth.with_rows)
        elif known.txid != birth.txid:
            raise MismatchError(
                f"state {birth.state!r} was born at txid {known.txid} already, not at {birth.txid}. Nothing was "
                "changed."
            )
    return tuple(birth for _, birth in sorted(merged.items()))


def _another_level(stored: TopologySpec, given: TopologySpec) -> MismatchError:
    return MismatchError(
        f"topology {given.name!r} runs at level {stored.level}, and this version says {given.level}: what one writes "
        "the other can't go on with, since only the first level stores beside its values up to where they are. Nothing "
        f'was changed. Put level="{stored.level}" back; or give this version another name and its states tables of '
        "their own, and where to begin (a topology's start is asked when it first runs)."
    )


def _way_out(stored: TopologySpec, given: TopologySpec) -> str:
    """Return what can be done about states and sinks: of streams nothing can be taken out."""
    names = [name for name, what in stored.states.items() if dict(what) != dict(given.states.get(name, {}))]
    if not names:
        return ""
    renames = likely_renames(stored, given)
    others = "" if len(names) == 1 else f", and likewise {', '.join(map(repr, names[1:]))}"
    is_changed = any(name in given.states for name in names)
    anew = " and give what takes its place another name and a place of its own" if is_changed else ""
    return _renaming(stored, given, renames) + (
        f"or let the version that has {names[0]!r} as it was take it out ({DROP} {shlex.quote(names[0])}; what it "
        f"holds stays where it is){others}{anew}, "
    )


def _renaming(stored: TopologySpec, given: TopologySpec, renames: Mapping[str, str]) -> str:
    """Return how states that are likely the old ones by other names go on under these."""
    if not renames:
        return ""
    same = " and ".join(f"{name!r} is {former!r}" for former, name in renames.items())
    tables = {name: table_to_say(stored, given, former, name) for former, name in renames.items()}
    say = ", ".join(f"give {name!r} table={table!r}, where its rows stay" for name, table in tables.items() if table)
    first = f"{say}, and then " if say else ""
    return f"or, if {same} by another name, {first}rename it ({rename_way(renames)}; its rows stay as they are), "


def _differences(kind: str, stored: Described, given: Described) -> list[str]:
    found = []
    for name, description in stored.items():
        if name not in given:
            known = ", ".join(repr(other) for other in given) or "none"
            found.append(f"{kind} {name!r} is stored as {shown(description)} and is gone (there are now: {known})")
        elif dict(description) != dict(given[name]):
            changed = _changed(description, given[name], known=_MEANS if _is_state(kind, description) else {})
            found.append(
                f"{kind} {name!r} is stored as {shown(description)} and is now {shown(given[name])}: {changed}"
            )
    return found


def _is_state(kind: str, description: Mapping[str, str]) -> bool:
    return kind == "state" and description.get("kind") != SINK


def _changed(stored: Mapping[str, str], given: Mapping[str, str], known: Mapping[str, str]) -> str:
    """Name each part that is another one, with what that would do to the data where it is known."""
    parts = [key for key in sorted({*stored, *given}) if stored.get(key) != given.get(key)]
    means = dict.fromkeys(known[key] for key in parts if key in known)
    if known and "values" in parts:
        means = dict.fromkeys([*_what_values_mean(stored.get("values", ""), given.get("values", "")), *means])
    also = f" ({'; '.join(means)})" if means else ""
    return f"another {', '.join(parts)}{also}"


def _what_values_mean(stored: str, given: str) -> list[str]:
    """Say what is wrong with other aggregates, where they can be told apart."""
    before, now = values_in(stored), values_in(given)
    if before is None or now is None:
        return []
    found = []
    there = {column.name for column in now}
    gone = [repr(column.name) for column in before if column.name not in there]
    if gone:
        found.append(f"without {', '.join(gone)}, which would stand still, and be wrong when it came back")
    known = {column.name for column in before}
    kept = [repr(column.name) for column in now if column.name not in known and column.merge is Merge.REPLACE]
    if kept:
        found.append(f"with {', '.join(kept)}: what an updater keeps of a key it keeps as a whole")
    return found


def shown(description: Mapping[str, str]) -> str:
    """Return a description as people are shown it."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in sorted(description.items())) + "}"


def _by_spout(starts: Sequence[StartPosition]) -> dict[str, frozenset[StartPosition]]:
    spouts: dict[str, set[StartPosition]] = {}
    for item in starts:
        spouts.setdefault(item.spout, set()).add(item)
    return {spout: frozenset(items) for spout, items in spouts.items()}
