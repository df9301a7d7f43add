"""What the ledger keeps of a state or sink that was taken out, and when its name may be used again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.specs import shown
from trident.coordinators.registered import Birth, Dropped, TopologySpec


def without_state(
    stored: TopologySpec, births: Sequence[Birth], progress: Progress, decision: Decision
) -> tuple[TopologySpec, tuple[Birth, ...]]:
    """Return description and births without a state or sink; raises MismatchError for one that was not described.

    What it was is kept, and its name is not free, unless it was never born.
    """
    name = decision.state
    if name not in stored.states:
        known = ", ".join(map(repr, stored.states)) or "none"
        raise MismatchError(
            f"topology {stored.name!r} has no state or sink {name!r} in the ledger (there are: {known}): it was taken "
            "out before, or has never run. Nothing was changed."
        )
    birth = next((birth for birth in births if birth.state == name), None)
    states = {known: what for known, what in stored.states.items() if known != name}
    left = tuple(birth for birth in births if birth.state != name)
    if birth is None:  # nothing was ever in it
        return replace(stored, states=states), left
    gone = Dropped(name, stored.states[name], birth, progress.incarnation, progress.done)
    return replace(stored, states=states, dropped=(*stored.dropped, gone)), left


def with_taken_back(
    stored: TopologySpec, births: Sequence[Birth], progress: Progress, given: TopologySpec
) -> tuple[TopologySpec, tuple[Birth, ...]]:
    """Return description and births with what was taken out and is given again, just as it was, before anything else.

    Raises MismatchError for a name that was taken out and is another thing now, or has missed something since: whoever
    reads it would take what it holds for all that there was.
    """
    back = [gone for gone in stored.dropped if gone.state in given.states]
    for gone in back:
        _check_taken_back(stored.name, gone, given.states[gone.state], progress)
    if not back:
        return stored, tuple(births)
    kept = tuple(gone for gone in stored.dropped if gone not in back)
    states = {**stored.states, **{gone.state: gone.description for gone in back}}
    known = (*births, *(gone.birth for gone in back))
    return replace(stored, states=states, dropped=kept), tuple(sorted(known, key=lambda birth: birth.state))


def _check_taken_back(topology: str, gone: Dropped, given: dict[str, str], progress: Progress) -> None:
    once = (
        f"topology {topology!r} can't have a state or sink {gone.state!r}: one of that name was taken out after txid "
        f"{gone.txid}"
    )
    anew = "Nothing was changed. What is to take its place needs another name, and a place of its own."
    if dict(given) != gone.description:
        raise MismatchError(
            f"{once}. It was {shown(gone.description)} and is now {shown(given)}, and what it holds is of "
            f"the former. {anew}"
        )
    if progress.incarnation != gone.incarnation or progress.reset_to is not None:
        raise MismatchError(f"{once}, and the topology was reset since. {anew}")
    if progress.done != gone.txid or progress.pinned is not None:
        newest = f"{progress.done} is done" if progress.pinned is None else f"{progress.pinned} is pinned"
        raise MismatchError(
            f"{once}, and txid {newest} without it: it would lack what came in between. Start the version without it, "
            f"and decide with that. {anew}"
        )
