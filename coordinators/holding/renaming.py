"""States that the ledger has renamed and that have not followed: found, fenced and read where they lie, then moved.

A rename is recorded as a whole in one transaction of the ledger, and the states follow it. A death between the two, or
a state that was restored to before it, leaves one under a former name; so whoever takes over asks for that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import Epoch, Owner
from trident.coordinators.holding.evolving import tell_columns
from trident.coordinators.holding.fencing import raise_fence
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.state.renaming import renaming_of
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")
_FOLLOWS: Final = "topology=%s state=%s stood under its former name %s and follows the rename now"


def as_they_lie(stores: Mapping[str, Target], seen: Snapshot, repeater: Repeater) -> dict[str, Target]:
    """Return the states, and those under their former names that stand there still; changes nothing."""
    lying: dict[str, Target] = {}
    for each in seen.renamed:
        store = stores.get(each.state)
        renaming = store.capabilities.renaming if store is not None else None
        if renaming is None:
            continue
        asked = f"looking for state {each.state!r} under its former name"
        if repeater.call(asked, partial(renaming.lies_under, seen.owner.topology, each.former)):
            lying[each.state] = renaming.under(each.former)
    tell_columns(lying, seen)
    return {**stores, **lying}


def under_other_names(
    stores: Mapping[str, Target], seen: Snapshot, spec: TopologySpec, ledger: Ledger, epoch: Epoch, repeater: Repeater
) -> dict[str, Target]:
    """Return the states, and those that lie in their very table under another name; changes nothing.

    A person has said that the ledger was lost: it was restored to before they were renamed, or is a new one, which
    knows of no rename, also not of one that a state has not followed yet. A name that it knows, or that the version
    has, is another one's.
    """
    names, known = {*spec.states}, {*spec.states}
    if not seen.added.topology:
        stored = repeater.call("reading the ledger", partial(ledger.described, epoch, spec.name))
        names |= {*stored.states, *(each.state for each in stored.dropped)}
        names |= {each.former for each in stored.renamed}
        known = {birth.state for birth in seen.births}
    lying: dict[str, Target] = {}
    for name in sorted(stores.keys() & known):
        renaming = stores[name].capabilities.renaming
        if renaming is None:
            continue
        asked = f"looking for state {name!r} under another name"
        found = repeater.call(asked, partial(renaming.names, seen.owner.topology))
        if len(found) == 1 and found[0] not in names:
            lying[name] = renaming.under(found[0])
    tell_columns(lying, seen)
    return {**stores, **lying}


def follow(
    store: Target, former: str, owner: Owner, epoch: Epoch, repeater: Repeater, require_newest: Callable[[], None]
) -> None:
    """Let a state follow that was fenced under its former name by this epoch; may be repeated."""
    renaming = renaming_of(store)
    repeater.call(f"renaming state {former!r}", partial(renaming.follow, owner, epoch, former))
    reached(CrashPoint.AFTER_FOLLOWING)
    _log.info(_FOLLOWS, owner.topology, store.name, former)
    raise_fence(store, owner, epoch, repeater, require_newest)
