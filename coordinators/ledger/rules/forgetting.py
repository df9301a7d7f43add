"""A topology that is let go of: what has to hold for it, and what is refused while it is begun; pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace

from trident.base.advice import FORGET
from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, ForgottenTables
from trident.coordinators.registered import Birth, Snapshot, TopologySpec


def require_not_forgotten(snapshot: Snapshot) -> None:
    """Raise MismatchError while the topology is being let go of: some of its places may be others' already."""
    if snapshot.forgetting is not None:
        raise being_forgotten(snapshot.owner.topology, snapshot.forgetting)


def check_begun(topology: str, begun: Decision | None, decision: Decision) -> bool:
    """Tell whether this very decision is recorded; raises MismatchError for another one."""
    if begun is not None and begun != decision:
        raise being_forgotten(topology, begun)
    return begun is not None


def keeps_instead(begun: Decision | None, decision: Decision) -> bool:
    """Tell whether it is the one that was begun, with tables kept that were to be dropped: that is always possible."""
    return begun is not None and begun.state == ForgottenTables.DROP and decision == kept_instead(begun)


def kept_instead(begun: Decision) -> Decision:
    """Return it with those tables kept that are there still."""
    return replace(begun, state=ForgottenTables.KEEP.value)


def without_targets(
    stored: TopologySpec, births: Sequence[Birth], names: Collection[str]
) -> tuple[TopologySpec, tuple[Birth, ...]]:
    """Return description and births without what is let go of: those that are left are still to be."""
    states = {name: what for name, what in stored.states.items() if name not in names}
    return replace(stored, states=states), tuple(birth for birth in births if birth.state not in names)


def require_let_go(stored: TopologySpec, begun: Decision) -> None:
    """Raise MismatchError while a state or sink is described of which nothing says that it was let go of."""
    if stored.states:
        raise being_forgotten(stored.name, begun)


def lost_way(tables: str, name: str) -> str:
    """Return the command that finishes a forget without a state or sink whose place is lost."""
    return f"{FORGET} --tables {tables} --lost-state {shlex.quote(name)}"


def being_forgotten(topology: str, begun: Decision) -> MismatchError:
    """Return what is said to whoever comes while a forget is not finished."""
    drops = begun.state == ForgottenTables.DROP
    instead = "; or, where a table can't be dropped, with those kept that are left (--tables keep)" if drops else ""
    return MismatchError(
        f"topology {topology!r} is being forgotten, with its tables: {begun.state}. That was decided by "
        f"{begun.decided_by} and cut off; some of its states and sinks may be let go of, and nothing was changed now: "
        f"finish it ({FORGET} --tables {begun.state}){instead}; or, where the place of one is lost for good, without "
        "that one (--lost-state NAME)."
    )


def used_up_by(last_txid: int, birth_txid: int) -> int:
    """Return the highest txid that an incarnation has used up: where it has planned nothing, one above its birth.

    So no two have one birth, by which a source's notes (`StreamProgress`) are told apart.
    """
    return max(last_txid, birth_txid + 1 if birth_txid else 0)
