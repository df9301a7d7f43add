"""A topology is let go of: of each of its states and sinks first, and then of all that the ledger has of it.

What stays is what refuses an old owner that wakes up later: the ledger's fence, the one of each place, and the highest
numbers. They lie under the topology's name, so that another topology never meets them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from trident.base.advice import RESET_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RetryableError
from trident.base.identity import Owner
from trident.coordinators.decided import Decision, DecisionKind, ForgottenTables, LeftBehind
from trident.coordinators.decisions.diverting_waiting import send_what_waits
from trident.coordinators.holding.evolving import tell_columns
from trident.coordinators.holding.fencing import raise_fence
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.renaming import as_they_lie, follow
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.holding.trying import try_with_patience
from trident.coordinators.ledger.rules.forgetting import being_forgotten, kept_instead, lost_way
from trident.coordinators.registered import SINK, Snapshot
from trident.spouts.offsets import StartOffsets
from trident.state.forgetting import forgetting_of
from trident.state.positions import Position
from trident.state.target import Target


@dataclass(frozen=True, slots=True)
class ForgottenTarget:
    """A state or sink that is let go of."""

    name: str
    is_sink: bool
    place: Mapping[str, str]
    """What its description says of where it is."""
    keeps_rows: bool
    """Whether what it holds, or has sent, stays."""
    is_lost: bool = False
    """A person has said that its place is lost: nothing is changed there, should it come back."""


@dataclass(frozen=True, slots=True)
class ForgetProspect:
    """What is about to be let go of, told before anything is changed."""

    topology: str
    tables: ForgottenTables
    done: int
    targets: tuple[ForgottenTarget, ...]
    left: LeftBehind
    streams: tuple[str, ...]
    read: tuple[tuple[str, str], ...]
    """Up to where the rows have read each stream with positions, as `StartOffsets` names it."""
    queues: tuple[str, ...]
    """Those of the streams whose messages have ids: which of them are done only the ledger knows."""
    received: tuple[str, ...]
    """Those of the streams whose messages, or rows, that are not done are their source's to give again."""
    taken_out: tuple[str, ...]
    """In words, states and sinks that were dropped before: their places stay noted as the topology's own."""
    finishes_another: bool = False
    """One that was cut off is found, and finished."""


AgreeToForget = Callable[[ForgetProspect], None]
"""Hears what is about to be let go of while nothing is changed yet; it ends there if this raises."""


def agree_to_forget(_: ForgetProspect) -> None:
    """Let it pass."""


def decide_forget(
    taking: TakeOver,
    tables: ForgottenTables,
    agree: AgreeToForget = agree_to_forget,
    lost: Collection[str] = (),
) -> Decision:
    """Let go of the topology; returns the decision, or the one that was cut off and is finished.

    Raises MismatchError, nothing changed, for a topology that the ledger does not know, while anything is pinned,
    refused or decided and not finished, for a target that is gone, another one or of another moment, and for what
    waits in a sink and can't be sent. What is `lost`, and is not among the targets of the take-over, one that was cut
    off is finished without.
    """
    seen = _look(taking)
    if seen.added.topology:
        raise MismatchError(
            f"no forget: the ledger knows no topology {taking.spec.name!r}: it was forgotten before, or has never run. "
            "Nothing was changed."
        )
    decision = seen.forgetting
    if decision is None:
        _require_none_lost(taking.spec.name, lost)
        decision = _decide(taking, _described(taking, seen), tables, agree)
        seen = _look(taking)
    elif decision.state != tables and tables is not ForgottenTables.KEEP:
        raise being_forgotten(taking.spec.name, decision)
    else:
        agree(_prospect(taking, _described(taking, seen), seen, tables, _left_of(lost, seen)))
        decision = _kept_instead(taking, seen, decision, tables)
        _let_follow(taking, _described(taking, seen), seen)
    _carry_out(taking, _described(taking, seen), seen, decision, _left_of(lost, seen))
    return decision


def _look(taking: TakeOver) -> Snapshot:
    return taking.repeater.call("looking at the ledger", lambda: taking.ledger.look(taking.epoch, taking.spec))


def _described(taking: TakeOver, seen: Snapshot) -> dict[str, Target]:
    """Return the targets that the ledger describes: what this version adds is none of them, nor what is let go of."""
    return {name: store for name, store in taking.stores.items() if name not in seen.added.states}


def _left_of(lost: Collection[str], seen: Snapshot) -> tuple[str, ...]:
    """Return those of the lost ones that are not recorded as let go of."""
    return tuple(sorted({*lost}.difference(seen.added.states)))


def _require_none_lost(topology: str, lost: Collection[str]) -> None:
    if lost:
        raise MismatchError(
            f"no forget of {topology!r} was begun, so none is finished without {sorted(lost)[0]!r}. Nothing was "
            "changed: give the command without --lost-state. Where its place is lost already, let its address lead to "
            f"another one and {RESET_CLEARING} first."
        )


def _decide(taking: TakeOver, stores: Mapping[str, Target], tables: ForgottenTables, agree: AgreeToForget) -> Decision:
    seen, positions = taking.look()
    taking.unless_fenced(partial(_check_seen, taking, seen, positions))
    _try_once(taking, _described(taking, seen), seen, tables)
    agree(_prospect(taking, stores, seen, tables))
    taking.as_registered(seen)
    taking.raise_fences()
    _require_nothing_open(taking.snapshot)
    unborn = taking.where_states_stand().unborn
    send_what_waits(taking, stores, must_all=True)
    _try(taking, stores, taking.snapshot, tables)
    snapshot = taking.snapshot
    decision = Decision(DecisionKind.FORGET, snapshot.done, snapshot.done_attempt, tables, holder_name())
    for name in sorted(unborn):  # it stands nowhere, so that nothing would be left of it but its fence
        _let_go(taking, name, stores[name], snapshot.owner, drops=False)
    reached(CrashPoint.BEFORE_DECIDING_FORGET, snapshot.done)
    record = partial(taking.ledger.decide_forget, snapshot.owner, taking.epoch, decision, unborn)
    taking.repeater.call("recording a decision", record)
    reached(CrashPoint.AFTER_DECIDING_FORGET, snapshot.done)
    return decision


def _kept_instead(taking: TakeOver, seen: Snapshot, begun: Decision, tables: ForgottenTables) -> Decision:
    """Record that what is left is kept, where that is said now: a table that can't go must not keep the rest."""
    if begun.state == tables:
        return begun
    decision = kept_instead(begun)
    record = partial(taking.ledger.decide_forget, seen.owner, taking.epoch, decision)
    taking.repeater.call("recording that tables are kept", record)
    return decision


def _let_follow(taking: TakeOver, stores: Mapping[str, Target], seen: Snapshot) -> None:
    """Bring those under their names that lie under former ones: what was restored meanwhile to before a rename."""
    owner, repeater = seen.owner, taking.repeater
    tell_columns(stores, seen)

    def require_newest() -> None:
        repeater.call("renewing the lease", partial(taking.ledger.renew, owner.topology, taking.epoch))

    for name, store in as_they_lie(stores, seen, repeater).items():
        if store is not stores[name]:
            raise_fence(store, owner, taking.epoch, repeater, require_newest)
            follow(stores[name], store.name, owner, taking.epoch, repeater, require_newest)


def _carry_out(
    taking: TakeOver, stores: Mapping[str, Target], seen: Snapshot, decision: Decision, lost: Collection[str]
) -> None:
    """Let go of each target, which the ledger notes, and then of the ledger's rows; may be begun again anywhere.

    A target that was let go of may be another topology's by now: it is asked for nothing but its own.
    """
    owner, drops = seen.owner, decision.state == ForgottenTables.DROP
    for name in sorted({*stores, *lost}):
        if name not in lost:
            _let_go(taking, name, stores[name], owner, drops)
            if not taking.repeater.call(f"asking {name!r}", partial(forgetting_of(stores[name]).is_let_go, owner)):
                raise _not_here(name, decision)
            reached(CrashPoint.AFTER_FORGETTING_TARGET, decision.txid)
        note = partial(taking.ledger.let_go_of, owner, taking.epoch, decision, name)
        taking.repeater.call(f"noting that {name!r} is let go of", note)
        reached(CrashPoint.AFTER_NOTING_TARGET, decision.txid)
    let_go = partial(taking.ledger.forget, owner, taking.epoch, decision)
    taking.repeater.call(f"letting go of topology {owner.topology!r}", let_go)
    reached(CrashPoint.AFTER_FORGETTING, decision.txid)


def _let_go(taking: TakeOver, name: str, store: Target, owner: Owner, drops: bool) -> None:
    if store.capabilities.ending is not None:
        end_older = partial(store.capabilities.ending.end_older, owner.topology, taking.epoch)
        taking.repeater.call(f"ending what older epochs left open in {name!r}", end_older)
    forget = partial(forgetting_of(store).forget, owner, taking.epoch, drops)
    taking.repeater.call(f"letting go of {name!r}", forget)


def _not_here(name: str, decision: Decision) -> MismatchError:
    return MismatchError(
        f"{name!r} was not let go of: where its address leads to it has no position, and nothing says that it was let "
        "go of there. Its database was exchanged for another one, restored or made anew since that was decided. "
        "Nothing was changed there, and the ledger still has it: correct the address, or bring it back, and give the "
        f"command again; or, where it is lost for good, finish without it ({lost_way(decision.state, name)}; nothing "
        "is changed where it is, if it is anywhere)."
    )


def _check_seen(taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None]) -> None:
    """Refuse, before anything is changed, what would be refused once every fence is raised."""
    _require_nothing_open(seen)
    taking.held_against(seen, positions)


def _try_once(taking: TakeOver, stores: Mapping[str, Target], seen: Snapshot, tables: ForgottenTables) -> None:
    """Refuse what can be seen to be impossible; what is held now may be so by an old owner, which the fences end."""
    for _, store in sorted(stores.items()):
        drops = tables is ForgottenTables.DROP
        check = partial(forgetting_of(store).check_forget, seen.owner, taking.epoch, drops)
        with suppress(RetryableError):
            taking.unless_fenced(check)


def _try(taking: TakeOver, stores: Mapping[str, Target], seen: Snapshot, tables: ForgottenTables) -> None:
    """Try what will be done to each target, and roll it back: a decision that is recorded is carried out."""
    for name, store in sorted(stores.items()):
        drops = tables is ForgottenTables.DROP
        check = partial(forgetting_of(store).check_forget, seen.owner, taking.epoch, drops)
        try_with_patience(taking.repeater, f"forget of {name!r}", partial(taking.unless_fenced, check))


def _require_nothing_open(snapshot: Snapshot) -> None:
    """Raise MismatchError while a txid is neither done nor free of anybody's decision."""
    found = _open(snapshot)
    if found is not None:
        raise MismatchError(
            f"no forget: {found}. Nothing was changed: start the topology until that is done, or decide about it, and "
            f"give the command again. Where none of it is needed any more, {RESET_CLEARING} first: then it is void."
        )


def _open(snapshot: Snapshot) -> str | None:
    """Return, in words, what keeps the topology from being let go of."""
    if snapshot.open_reset is not None:
        return f"a reset to incarnation {snapshot.open_reset.incarnation} was decided and is not finished"
    if snapshot.pin is not None:
        return f"txid {snapshot.pin.txid} attempt {snapshot.pin.attempt} is pinned and not done"
    if snapshot.decisions:
        return f"a {snapshot.decisions[0]} was decided and waits for the next attempt"
    if snapshot.refusal is not None and snapshot.refusal.blocks:
        return f"txid {snapshot.refusal.txid} was refused by {snapshot.refusal.state!r} and waits for a person"
    return None


def _prospect(
    taking: TakeOver,
    stores: Mapping[str, Target],
    seen: Snapshot,
    tables: ForgottenTables,
    lost: Collection[str] = (),
) -> ForgetProspect:
    spec = taking.spec
    left = taking.repeater.call("counting what is left", lambda: taking.ledger.left_behind(spec.name))
    return ForgetProspect(
        spec.name,
        tables,
        seen.done,
        tuple(_target(name, spec.states[name], stores.get(name), tables) for name in sorted({*stores, *lost})),
        left,
        tuple(sorted(name for name in spec.spouts if name not in seen.added.streams)),
        _read(seen),
        tuple(sorted(_queues(seen))),
        spec.received,
        taking.repeater.call("reading what was dropped", lambda: taking.ledger.view().status(spec.name).dropped),
        finishes_another=seen.forgetting is not None,
    )


def _read(seen: Snapshot) -> tuple[tuple[str, str], ...]:
    """Return where each stream stands: behind what was done last, or where it began."""
    stands = {(start.spout, start.id): start.start for start in seen.starts or ()}
    if seen.done_plan is not None:
        stands |= {(item.spout, item.range.id): item.range.stop for item in seen.done_plan.ranges}
    streams = sorted({spout for spout, _ in stands} - _queues(seen))
    offsets = {name: sorted((id_, at) for (spout, id_), at in stands.items() if spout == name) for name in streams}
    return tuple((name, str(StartOffsets(tuple(found)))) for name, found in offsets.items())


def _queues(seen: Snapshot) -> set[str]:
    return {ids.spout for ids in seen.done_plan.received} if seen.done_plan is not None else set()


def _target(name: str, described: Mapping[str, str], store: Target | None, tables: ForgottenTables) -> ForgottenTarget:
    stays = store is None or store.capabilities.keeps_what_left or tables is ForgottenTables.KEEP
    place = {key: described[key] for key in ("store", "database", "table", "markers") if described.get(key)}
    return ForgottenTarget(name, described.get("kind") == SINK, place, stays, store is None)
