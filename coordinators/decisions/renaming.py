"""States go on under other names: what is pinned is finished under the former ones, then ledger and states change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.base.names import check_name
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.holding.carrying_out import has_open
from trident.coordinators.holding.evolving import tell_columns
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.renaming import follow
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.rules.renaming import (
    Renames,
    are_done,
    as_before,
    renames_in_words,
    require_still_there,
)
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.state.positions import Position
from trident.state.renaming import renaming_of
from trident.state.target import Target


@dataclass(frozen=True, slots=True)
class RenameProspect:
    """What a rename is about to do, told before anything is changed."""

    renames: tuple[tuple[str, str], ...]
    """Former and new names."""
    tables: tuple[tuple[str, str | None], ...]
    """Where the rows of each are, by its new name, and stay; None of a store without tables."""
    done: int
    pinned: int | None
    """What is finished first, under the former names."""
    finishes: bool = False
    """Whether something that was decided before and cut off is finished first."""
    is_recorded: bool = False
    """Whether the ledger has the new names already, and only states follow that have not."""


AgreeToRename = Callable[[RenameProspect], None]
"""Hears what a rename is about to do while nothing is changed yet; it ends there if this raises."""


def agree_to_rename(_: RenameProspect) -> None:
    """Let it pass."""


@dataclass(frozen=True, slots=True)
class Version:
    """The version that has the new names, opened under an epoch that was just raised."""

    ledger: Ledger
    spec: TopologySpec
    stores: Mapping[str, Target]
    epoch: Epoch
    repeater: Repeater

    def taking(self, spec: TopologySpec, stores: Mapping[str, Target]) -> TakeOver:
        """Return the take-over of it as `spec` describes it."""
        return TakeOver(self.ledger, stores, spec, self.epoch, self.repeater)


def decide_rename(version: Version, renames: Renames, agree: AgreeToRename = agree_to_rename) -> Decision:
    """Give states other names; returns the decision.

    The ledger records and carries it out in one transaction, and the states follow: who dies between the two leaves it
    to the next take-over, or to this very call. What is pinned is finished first. Raises MismatchError or
    ConfigurationError, nothing changed, for a version that differs in something else that may not, a name that is used
    up or stands for something, and a store that can't follow; DecisionNeededError while a refusal waits for a person.
    """
    ledger, epoch, topology = version.ledger, version.epoch, version.spec.name
    stored = version.repeater.call("reading the ledger", partial(ledger.described, epoch, topology))
    if are_done(stored.renamed, renames):
        require_still_there(stored, version.spec, renames)
        return _finish(version, renames, agree)
    before = as_before(stored, version.spec, renames)
    _require_new_names(stored, renames)
    formers = {name: former for former, name in renames.items()}
    stores = {
        formers.get(name, name): renaming_of(store).under(formers[name]) if name in formers else store
        for name, store in version.stores.items()
    }
    taking = version.taking(before, stores)
    taking.unless_fenced(partial(_require_free, version, stored, renames))
    seen, positions = taking.look()
    taking.unless_fenced(partial(_check_seen, taking, seen, positions, renames))
    agree(_prospect(seen, version.spec, renames))
    taking.settle(seen)
    standing = taking.where_states_stand()
    taking.require_no_refusal(standing)
    if taking.snapshot.pin is not None:
        taking.roll_forward(standing)
    _require_nothing_held(taking.snapshot)
    snapshot = taking.snapshot
    taking.unless_fenced(partial(_require_free, version, None, renames))
    decision = _decision(snapshot, renames)
    reached(CrashPoint.BEFORE_RENAMING, snapshot.done)
    record = partial(ledger.rename, snapshot.owner, epoch, decision, dict(renames))
    taking.repeater.call("renaming states", record)
    reached(CrashPoint.AFTER_RENAMING, snapshot.done)
    recorded = taking.repeater.call("reading the ledger", partial(ledger.look, epoch, version.spec))
    tell_columns(version.stores, recorded)
    require_newest = partial(_require_newest, version)
    for former, name in sorted(renames.items()):
        follow(version.stores[name], former, snapshot.owner, epoch, version.repeater, require_newest)
    return decision


def _finish(version: Version, renames: Renames, agree: AgreeToRename) -> Decision:
    """Let states follow that have not, as every start would."""
    taking = version.taking(version.spec, version.stores)
    seen, positions = taking.look()
    if not has_open(seen):
        taking.unless_fenced(partial(taking.held_against, seen, positions))
    agree(_prospect(seen, version.spec, renames, is_recorded=True))
    taking.settle(seen)
    return _decision(taking.snapshot, renames)


def _decision(snapshot: Snapshot, renames: Renames) -> Decision:
    named = renames_in_words(renames)
    return Decision(DecisionKind.RENAME, snapshot.done, snapshot.done_attempt, named, holder_name())


def _prospect(seen: Snapshot, spec: TopologySpec, renames: Renames, *, is_recorded: bool = False) -> RenameProspect:
    return RenameProspect(
        tuple(sorted(renames.items())),
        tuple((name, spec.states[name].get("table")) for _, name in sorted(renames.items())),
        seen.done,
        None if seen.pin is None else seen.pin.txid,
        has_open(seen),
        is_recorded,
    )


def _require_new_names(stored: TopologySpec, renames: Renames) -> None:
    """Raise ConfigurationError for a name that not every store holds; one that the state had before may come back."""
    known = {each.former for each in stored.renamed}
    for _, name in sorted(renames.items()):
        if name not in known:
            check_name("a renamed state's name", name)


def _require_free(version: Version, stored: TopologySpec | None, renames: Renames) -> None:
    """Refuse names that stand for something where the states live.

    But for a state that a rename before this one is recorded of and that has not followed it: it goes back to the name
    under which it lies.
    """
    topology = version.spec.name
    back = {(each.state, each.former) for each in stored.renamed} if stored is not None else set()
    for former, name in sorted(renames.items()):
        renaming = renaming_of(version.stores[name])
        if (former, name) not in back or not renaming.lies_under(topology, name):
            renaming.check_free(topology)


def _check_seen(taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], renames: Renames) -> None:
    """Refuse, before anything is changed, what would be refused once every fence is raised."""
    unknown = sorted(renames.keys() & set(seen.added.states))
    if unknown:
        raise MismatchError(f"the ledger knows no state {unknown[0]!r}. Nothing was changed.")
    if not has_open(seen):
        _require_nothing_held(seen)
        taking.held_against(seen, positions)


def _require_nothing_held(snapshot: Snapshot) -> None:
    """Refuse while a divert waits for its attempt: it names the state, and the plan that takes it does too."""
    if snapshot.decisions:
        raise MismatchError(
            f"no rename: a {snapshot.decisions[0]} was decided and waits for the next attempt. Nothing was renamed: "
            "start the version with the former names until that txid is done, then give the command again."
        )


def _require_newest(version: Version) -> None:
    version.repeater.call("renewing the lease", partial(version.ledger.renew, version.spec.name, version.epoch))
