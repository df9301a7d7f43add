"""What of a topology must stay the same over restarts: stored once, compared at every start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trident.base.errors import MismatchError
from trident.coordinators.registered import StartPosition, TopologySpec

Described = Mapping[str, Mapping[str, str]]


def merged_spec(stored: TopologySpec, given: TopologySpec) -> TopologySpec:
    """Return the spec to store from now on: the given one, if it only adds to the stored one.

    Raises MismatchError that shows both versions of every spout or state that is gone or differs.
    """
    differences = [
        *_differences("stream", stored.spouts, given.spouts),
        *_differences("state", stored.states, given.states),
    ]
    if differences:
        raise MismatchError(
            f"topology {given.name!r} is not the one in the ledger: {'; '.join(differences)}. Nothing was changed. "
            "Put the old names and kinds back, or give the new topology another name."
        )
    return given


def merged_starts(stored: Sequence[StartPosition] | None, given: Sequence[StartPosition]) -> tuple[StartPosition, ...]:
    """Return the start positions to store: those of each spout are set once, spouts may be added.

    Raises MismatchError when a spout's stored positions differ from the given ones.
    """
    before = _by_spout(stored or ())
    now = _by_spout(given)
    for spout in before.keys() & now.keys():
        if before[spout] != now[spout]:
            raise MismatchError(
                f"stream {spout!r}: start positions are stored already and differ from the given ones. Nothing was "
                "changed; an incarnation starts once."
            )
    return tuple(sorted({*(stored or ()), *given}, key=lambda item: (item.spout, item.id)))


def _differences(kind: str, stored: Described, given: Described) -> list[str]:
    found = []
    for name, description in stored.items():
        if name not in given:
            known = ", ".join(repr(other) for other in given) or "none"
            found.append(f"{kind} {name!r} is stored as {_shown(description)} and is gone (there are now: {known})")
        elif dict(description) != dict(given[name]):
            found.append(f"{kind} {name!r} is stored as {_shown(description)} and is now {_shown(given[name])}")
    return found


def _shown(description: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in sorted(description.items())) + "}"


def _by_spout(starts: Sequence[StartPosition]) -> dict[str, frozenset[StartPosition]]:
    spouts: dict[str, set[StartPosition]] = {}
    for item in starts:
        spouts.setdefault(item.spout, set()).add(item)
    return {spout: frozenset(items) for spout, items in spouts.items()}
