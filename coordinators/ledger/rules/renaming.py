"""What a rename of states makes of a description, which names are used up by it, and when one is likely. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from trident.base.advice import RENAME
from trident.base.errors import MismatchError
from trident.coordinators.ledger.rules.columns import keys_in, values_in
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.registered import LEVEL, SINK, Birth, Renamed, TopologySpec

Renames = Mapping[str, str]
"""New names by former ones."""
Description = Mapping[str, str]
_UNCHANGED = "Nothing was changed."
_UNPLACED = (
    "only a state of a topology at level exactly_once can be, not a sink, and nothing that is written without a txid: "
    "put the former name back"
)


def renames_in_words(renames: Renames) -> str:
    """Return renames as a decision keeps them, and as the command takes them."""
    return ", ".join(f"{former}={name}" for former, name in sorted(renames.items()))


def renamed_in_words(stored: TopologySpec) -> tuple[str, ...]:
    """Return the former names of states, as a status has them."""
    return tuple(f"{each.former} is {each.state} since txid {each.txid}" for each in stored.renamed)


def rename_way(renames: Renames) -> str:
    """Return the command that renames states."""
    named = " ".join(f"--rename-state {shlex.quote(f'{former}={name}')}" for former, name in sorted(renames.items()))
    return f"{RENAME} {named}"


def as_before(stored: TopologySpec, given: TopologySpec, renames: Renames) -> TopologySpec:
    """Return a version with its renamed states under the names that the ledger knows.

    Raises MismatchError, with the reason and the way out, for a rename that can't be.
    """
    for former, name in sorted(renames.items()):
        problem = _problem(stored, given, former, name)
        if problem is not None:
            raise MismatchError(
                f"state {former!r} of topology {stored.name!r} can't be renamed to {name!r}: {problem}. {_UNCHANGED}"
            )
    formers = {name: former for former, name in renames.items()}
    if _are_one(renames.values()):
        raise MismatchError(f"two states of topology {stored.name!r} can't have one name. {_UNCHANGED}")
    return replace(given, states={formers.get(name, name): what for name, what in given.states.items()})


def with_renamed(
    stored: TopologySpec, births: Sequence[Birth], renames: Renames, done: int
) -> tuple[TopologySpec, tuple[Birth, ...]]:
    """Return description and births under the new names; raises MismatchError for names that may not change.

    Each former name leads to the present one from now on, over all renames that follow: it is used up, but a rename
    back to it gives it free.
    """
    for former, name in sorted(renames.items()):
        problem = _problem_of_stored(stored, former, name)
        if problem is not None:
            raise MismatchError(
                f"state {former!r} of topology {stored.name!r} can't be renamed to {name!r}: {problem}. {_UNCHANGED}"
            )
    states = {renames.get(name, name): what for name, what in stored.states.items()}
    if len(states) < len(stored.states) or _are_one(renames.values()):
        raise MismatchError(f"two states of topology {stored.name!r} can't have one name. {_UNCHANGED}")
    known = {each.former: replace(each, state=renames.get(each.state, each.state)) for each in stored.renamed}
    known.update({former: Renamed(former, name, done) for former, name in renames.items()})
    renamed = tuple(each for _, each in sorted(known.items()) if each.former not in states)
    changed = (replace(birth, state=renames.get(birth.state, birth.state)) for birth in births)
    return (
        replace(stored, states=states, renamed=renamed),
        tuple(sorted(changed, key=lambda birth: birth.state)),
    )


def states_renamed(states: Sequence[StatePin], renames: Renames) -> tuple[StatePin, ...]:
    """Return what a pin says of its states under their new names."""
    return tuple(replace(item, state=renames.get(item.state, item.state)) for item in states)


def pin_renamed(pin: Pin, renamed: Sequence[Renamed]) -> Pin:
    """Return a pin that was made before a rename with its states under their present names."""
    return replace(pin, states=states_renamed(pin.states, {each.former: each.state for each in renamed}))


def are_done(renamed: Sequence[Renamed], renames: Renames) -> bool:
    """Tell whether the ledger has recorded all of these renames, and none since that takes one back."""
    return {(each.former, each.state) for each in renamed} >= set(renames.items())


def require_still_there(stored: TopologySpec, given: TopologySpec, renames: Renames) -> None:
    """Raise MismatchError for a rename that is recorded of a state that was taken out since: there is none to follow.

    A version that has it may take it back, which its start decides.
    """
    for former, name in sorted(renames.items()):
        if name not in stored.states and name not in given.states:
            raise MismatchError(
                f"state {former!r} of topology {stored.name!r} was renamed to {name!r}, and {name!r} was taken out of "
                f"the topology since: its rows are where they were. {_UNCHANGED} Start the version without it."
            )


def refuse_former(stored: TopologySpec, given: TopologySpec) -> None:
    """Raise MismatchError for a version that has a state under a former name: what is there has another one now."""
    for each in stored.renamed:
        new = (name for name in given.states if name not in stored.states)
        name = next((name for name in new if name.casefold() == each.former.casefold()), None)
        if name is None:
            continue
        of_case = "" if name == each.former else f", but for its case, {each.former!r},"
        said = (
            f"topology {stored.name!r} can't have a state or sink {name!r}: that is{of_case} the former name of state "
            f"{each.state!r}, which was renamed after txid {each.txid}. {_UNCHANGED}"
        )
        if each.state in given.states or each.state not in stored.states:
            raise MismatchError(f"{said} Give what is new another name, and a place of its own.")
        back = rename_way({each.state: name})
        raise MismatchError(
            f"{said} Start the version that has {each.state!r}; or go back to the former name with this one ({back})."
        )


def likely_renames(stored: TopologySpec, given: TopologySpec) -> dict[str, str]:
    """Return which new states of a version are likely to be those that it lacks, under other names.

    One that names the very table of such a state is that one, and no other. Of those that name no state's table a pair
    is told only where nothing else is like either: a guess would let one state go on from the rows of another.
    """
    lacking = {
        former: what
        for former, what in stored.states.items()  # elsewhere a store may have no other name for it
        if former not in given.states and _is_placed(what) and ("table" in what or what.get("store") == "memory")
    }
    new = {name: what for name, what in given.states.items() if name not in stored.states}
    alike = {former: [name for name in new if _is_like(lacking[former], new[name])] for former in lacking}
    found = {}
    for former, names in alike.items():
        same = [name for name in names if _is_in_its_table(lacking[former], new[name])]
        if len(same) == 1:
            found[former] = same[0]
    taken = {name for name, what in new.items() if any(_is_in_its_table(each, what) for each in lacking.values())}
    rest = {former: [name for name in alike[former] if name not in taken] for former in lacking.keys() - found.keys()}
    for former, names in rest.items():
        if len(names) == 1 and sum(names[0] in others for others in rest.values()) == 1:
            found[former] = names[0]
    return {former: found[former] for former in stored.states if former in found}


def table_to_say(stored: TopologySpec, given: TopologySpec, former: str, name: str) -> str | None:
    """Return the table that a renamed state has to name, None where it is the one that it has."""
    before, now = stored.states[former].get("table"), given.states[name].get("table")
    return before if before != now else None


def _problem(stored: TopologySpec, given: TopologySpec, former: str, name: str) -> str | None:
    there = ", ".join(map(repr, given.states)) or "none"
    if name not in given.states:
        return (
            f"this version of the topology has no state {name!r} (there are: {there}); it is the version with the new "
            "name that renames"
        )
    if former in given.states and former != name:
        return f"this version has {former!r} as well; what is new in it needs a third name, and a place of its own"
    problem = _problem_of_stored(stored, former, name)
    if problem is not None:
        return problem
    if not _is_placed(given.states[name]):
        return _UNPLACED
    table = table_to_say(stored, given, former, name)
    if table is not None:
        return (
            f"its rows stay in table {table!r}, and this version says that they are in "
            f"{given.states[name].get('table')!r}: give {name!r} table={table!r}, then give the command again"
        )
    return None


def _problem_of_stored(stored: TopologySpec, former: str, name: str) -> str | None:
    if former not in stored.states:
        known = ", ".join(map(repr, stored.states)) or "none"
        return f"the ledger knows no state of that name (there are: {known})"
    if former == name:
        return "that is its name"
    if not _is_placed(stored.states[former]):
        return _UNPLACED
    used = {each: f"the topology has {each!r}" for each in stored.states}
    used |= {
        each.state: f"{each.state!r} was taken out of the topology, and its name is used up" for each in stored.dropped
    }
    used |= {each.former: f"{each.former!r} is the former name of {each.state!r}" for each in stored.renamed}
    for other, why in used.items():
        is_its_own = other == former or any(each.former == other and each.state == former for each in stored.renamed)
        if other.casefold() == name.casefold() and not is_its_own:
            return f"{why}; give it another name"
    return None


def _are_one(names: Collection[str]) -> bool:
    """Whether two of them differ in case at most."""
    return len({name.casefold() for name in names}) < len(names)


def _is_placed(what: Description) -> bool:
    """Whether it is a state that stands at a txid."""
    return what.get("kind") != SINK and LEVEL not in what


def _is_in_its_table(stored: Description, given: Description) -> bool:
    """Whether both name one table of one place, whatever else differs."""
    parts = (stored.keys() | given.keys()) - {"keys", "values", "kind"}
    return "table" in stored and all(stored.get(part) == given.get(part) for part in parts)


def _is_like(stored: Description, given: Description) -> bool:
    parts = (stored.keys() | given.keys()) - {"table", "keys", "values"}
    if any(stored.get(part) != given.get(part) for part in parts):
        return False
    keys, new_keys = (keys_in(what.get("keys", "")) for what in (stored, given))
    if stored.get("keys") != given.get("keys") and (keys is None or new_keys is None or set(keys) != set(new_keys)):
        return False
    values, new_values = (values_in(what.get("values", "")) for what in (stored, given))
    if stored.get("values") == given.get("values"):
        return True
    return values is not None and new_values is not None and set(values) <= set(new_values)
