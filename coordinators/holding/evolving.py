"""What a version changes of the columns of states: told to each before it is looked at, made once it is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from trident.base.errors import MismatchError
from trident.coordinators.registered import Snapshot
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")
_NEW: Final = (
    "topology=%s state=%s: %s is new in it and holds what comes after txid %d, nothing of what was before; how to fill "
    "it with that, too: trident status"
)


def tell_columns(stores: Mapping[str, Target], seen: Snapshot) -> None:
    """Tell each state which columns the ledger knows; raises MismatchError for a store that can't follow.

    So nothing of a column that is new is made, looked for or staged before it is recorded.
    """
    for name, held in seen.added.columns:
        evolving = stores[name].capabilities.evolving if name in stores else None
        if evolving is not None:
            evolving.keep(held)
        elif name in stores and held.is_other:
            raise MismatchError(
                f"state {name!r} has other aggregates than the one in the ledger, or another order of them, and its "
                "store can't change what it holds. Nothing was changed. Put them back as they were, or give what takes "
                "the state's place another name and a place of its own"
            )


def grow(stores: Mapping[str, Target], recorded: Snapshot, prepared: Callable[[Target], None]) -> None:
    """Make what is recorded as new; a start that was cut off before it is followed by one that does it."""
    owner = recorded.owner
    for name, held in recorded.added.columns:
        evolving = stores[name].capabilities.evolving if name in stores else None
        if evolving is None or not held.coming:
            continue
        evolving.keep(held.grown())
        prepared(stores[name])
        if recorded.done > recorded.birth_txid:
            new = ", ".join(map(repr, held.coming))
            _log.warning(_NEW, owner.topology, name, new, recorded.done)


def has_coming(seen: Snapshot) -> bool:
    """Tell whether a version brings values that the ledger does not know yet."""
    return any(held.coming for _, held in seen.added.columns)
