"""A state or sink is taken out of a topology: it gets all that is done, and nothing that comes after it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, TridentError
from trident.base.identity import Owner
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.diverting_waiting import send_what_waits
from trident.coordinators.holding.carrying_out import has_open
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.registered import Snapshot
from trident.state.capabilities import plain_of
from trident.state.positions import Position
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")
_STAYS = (
    "topology=%s state=%s was taken out; its table could not be given free for others (%s): whoever is to write there "
    "is refused until it is, by the same command once more, or until that table was dropped"
)
_FREE = "Its rows were not changed, and its table is free for others unless the log says why not"


def decide_drop(taking: TakeOver, name: str, plain: Mapping[str, Target]) -> Decision:
    """Take a state or sink out; returns the decision, which the ledger has recorded and carried out in one transaction.

    What is pinned is finished first, and what waits in the sink is sent, so that it holds every txid up to the one that
    is done and none behind it. Raises DecisionNeededError while a refusal waits for a person, MismatchError where it is
    not known or what waits can't be sent: the topology has it still then, and the same command may be given again.
    One of `plain` is asked for nothing, and lets others have its place then, also if it was taken out before.
    """
    if name in plain:
        _finish_cut_off(taking, plain[name])
    seen, positions = taking.look()
    taking.unless_fenced(partial(_check_seen, taking, seen, positions, name))
    taking.settle(seen)
    standing = taking.where_states_stand()
    taking.require_no_refusal(standing)
    if taking.snapshot.pin is not None:
        taking.roll_forward(standing)
    _require_nothing_held(taking.snapshot, name)
    send_what_waits(taking, [name], must_all=True)
    snapshot = taking.snapshot
    taking.repeater.call(f"cleaning up {name!r}", partial(_clean_up, taking, name))
    decision = Decision(DecisionKind.DROP, snapshot.done, snapshot.done_attempt, name, holder_name())
    reached(CrashPoint.BEFORE_DROPPING, snapshot.done)
    record = partial(taking.ledger.drop, snapshot.owner, taking.epoch, decision)
    taking.repeater.call(f"taking {name!r} out", record)
    reached(CrashPoint.AFTER_DROPPING, snapshot.done)
    if name in plain:
        _leave(taking, plain[name], snapshot.owner)
    return decision


def _finish_cut_off(taking: TakeOver, store: Target) -> None:
    """Let others have the place of what the ledger does not have any more, and raise that it was taken out.

    A drop that was cut off behind its record has left that undone, and the version without it may have gone on since,
    or was reset: so the ledger is asked without what can't come back by now.
    """
    spec = taking.spec
    others = {name: what for name, what in spec.states.items() if name != store.name}
    look = partial(taking.ledger.look, taking.epoch, replace(spec, states=others))
    try:
        seen = taking.repeater.call("looking at the ledger", look)
    except MismatchError:
        return  # the ledger has it, or something else is wrong: the look at all of it says what
    if not seen.added.topology and store.name not in {birth.state for birth in seen.births}:
        for incarnation in sorted(seen.incarnations | {seen.owner.incarnation}):
            _leave(taking, store, Owner(spec.name, incarnation))
        raise _unknown(spec.name, store.name, _FREE)


def _leave(taking: TakeOver, store: Target, owner: Owner) -> None:
    """Let others have the place of what stands nowhere; that it is away, or gone for good, does not matter."""
    try:
        taking.repeater.once(f"leaving {store.name!r}", partial(plain_of(store).leave, owner, taking.epoch))
    except TridentError as error:  # it was taken out by now, whatever became of the place
        _log.warning(_STAYS, owner.topology, store.name, error)


def require_named(known: Iterable[str], name: str) -> None:
    """Raise MismatchError for a state or sink that this version of the topology does not have."""
    names = sorted(known)
    if name not in names:
        there = ", ".join(map(repr, names))
        raise MismatchError(
            f"no drop: there is no state or sink {name!r} in this version of the topology, there are: {there}. Nothing "
            "was changed: the version that has it takes it out."
        )


def _clean_up(taking: TakeOver, name: str) -> None:
    """Delete what is staged there, never to be pinned too. What was never born has staged nothing."""
    store, owner = taking.stores.get(name), taking.snapshot.owner
    if store is not None and store.position(owner.topology) is not None:
        store.forget_staging(owner, taking.epoch)


def _check_seen(taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], name: str) -> None:
    """Refuse, before anything is changed, what would be refused once every fence is raised."""
    require_named(taking.spec.states, name)
    if name in seen.added.states or seen.added.topology:
        raise _unknown(taking.spec.name, name, "Nothing was changed")
    if not has_open(seen):
        _require_nothing_held(seen, name)
        taking.held_against(seen, positions)


def _unknown(topology: str, name: str, left: str) -> MismatchError:
    return MismatchError(
        f"no drop: the ledger knows no state or sink {name!r} of topology {topology!r}: it was taken out before, or "
        f"has never run. {left}; start the version without it."
    )


def _require_nothing_held(snapshot: Snapshot, name: str) -> None:
    """Refuse while a divert waits for its attempt: the version that has every state takes it."""
    if snapshot.decisions:
        raise MismatchError(
            f"no drop of {name!r}: a {snapshot.decisions[0]} was decided and waits for the next attempt. Nothing was "
            "taken out: start the topology as it is until that txid is done, then give the command again."
        )
