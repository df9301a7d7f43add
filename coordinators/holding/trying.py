"""Trying what a decision will do to the states, all of them and in their order, before it is recorded.

A recorded decision that can't be carried out keeps its topology from starting, and one that was carried out by half has
no way back. States of one home are tried in one transaction, as triggers and foreign keys of one may look at another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.errors import FatalError, MismatchError, RetryableError
from trident.base.identity import Epoch
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import Transaction, TriesTogether
from trident.state.target import Target

Act = Callable[[TriesTogether, Transaction, Target], Callable[[], None]]
"""Does to one state what is tried; returns what looks at it again once the others are done."""


@dataclass(frozen=True, slots=True)
class RefusedTrial:
    """Which state can't follow, and why."""

    state: str
    error: FatalError
    is_of_all: bool = False
    """Whether it could follow by itself, and what was done to the others has undone that."""


def in_order(stores: Sequence[Target]) -> tuple[Target, ...]:
    """Return those whose rows refer to others' before these: what goes there would take their rows along.

    Of states that refer to each other the first one given is first.
    """
    referred = _referred(stores)
    left, ordered = list(stores), list[Target]()
    while left:
        free = [one for one in left if not any(one.name in referred[other.name] for other in left if other is not one)]
        ordered.append(free[0] if free else left[0])
        left.remove(ordered[-1])
    return tuple(ordered)


def _referred(stores: Sequence[Target]) -> Mapping[str, frozenset[str]]:
    """Return of each state to which others its rows refer."""
    asked = [(one.name, one.capabilities.placing, one.capabilities.trying) for one in stores]
    known = [(name, placing, trying) for name, placing, trying in asked if placing is not None and trying is not None]
    if len(known) < 2:
        return dict.fromkeys((one.name for one in stores), frozenset())
    places = {placing.place(): name for name, placing, _ in known}
    found = {name: trying.refers_to() for name, _, trying in known}
    return {
        one.name: frozenset(places[place] for place in found.get(one.name, ()) if place in places) for one in stores
    }


def try_all(stores: Sequence[Target], act: Act) -> RefusedTrial | None:
    """Try it and roll back, where anything may be in the way; returns the first state that can't follow."""
    homes: dict[str, list[Target]] = {}
    for store in in_order(stores):
        if store.capabilities.trying is not None:
            homes.setdefault(store.capabilities.trying.home(), []).append(store)
    for together in homes.values():
        refused = _try_together(together, act)
        if refused is not None:
            return refused
    return None


def _try_together(stores: Sequence[Target], act: Act) -> RefusedTrial | None:
    """Try states of one home as they are carried out: one that refuses again, after the others."""
    passed, left = list[Target](), list(stores)
    while True:
        refused: list[tuple[Target, RefusedTrial]] = []
        while (found := _refused_of(stores[0], [*passed, *left], act)) is not None:
            late = [store for store in left if store.name == found.state]
            if not late or found.is_of_all:
                return found
            left.remove(late[0])
            refused.append((late[0], found))
        if not refused:
            return None
        if not left:
            return refused[0][1]
        passed, left = [*passed, *left], [store for store, _ in refused]


def _refused_of(first: Target, plan: Sequence[Target], act: Act) -> RefusedTrial | None:
    """Try one state after the other in one transaction; returns the first that refuses."""
    at = (first, False)

    def try_in_turn(transaction: Transaction) -> None:
        nonlocal at
        if not any(_trying(store).resists(transaction) for store in plan):
            return
        looking = []
        for store in plan:
            at = (store, False)
            looking.append((store, act(_trying(store), transaction, store)))
        for store, look in looking:
            at = (store, True)
            look()

    try:
        _trying(first).try_in(try_in_turn)
    except FatalError as error:
        return RefusedTrial(at[0].name, error, at[1])
    return None


def _trying(store: Target) -> TriesTogether:
    trying = store.capabilities.trying
    assert trying is not None, "only states that can be tried are"
    return trying


def check_clear(stores: Mapping[str, Target], topology: str, epoch: Epoch) -> None:
    """Raise MismatchError unless every state can be emptied; RetryableError while somebody holds rows of one."""

    def clear(trying: TriesTogether, transaction: Transaction, _: Target) -> Callable[[], None]:
        return trying.try_clear(transaction, topology, epoch)

    refused = try_all(tuple(stores.values()), clear)
    if refused is not None:
        raise MismatchError(
            f"state {refused.state!r} can't be emptied: {refused.error}. Nothing was changed: let its rows be deleted, "
            f"or {RESET_KEEPING_ROWS}."
        ) from refused.error


def try_with_patience(repeater: Repeater, what: str, check: Callable[[], None]) -> None:
    """Check what is about to be recorded; raises MismatchError while somebody holds what would be changed."""
    try:
        repeater.call(f"trying the {what}", check)
    except FatalError as error:
        if not isinstance(error.__cause__, RetryableError):
            raise
        raise MismatchError(
            f"the {what} was not recorded, and no row was changed: it can't be tried while somebody else holds what it "
            f"would change: {error.__cause__}. Give the same command again once that is over."
        ) from error
