"""Steps of take-overs, resets and commits as somebody might get them wrong; `planted.py` plants them.

Each is what the product does but for one thing that is easily overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from trident.base.identity import BatchId, Epoch, Owner
from trident.base.ranges import OffsetRange
from trident.coordinators.batches.work import Work
from trident.coordinators.decided import ResetDecision
from trident.coordinators.decisions.wanted import WantedReset
from trident.coordinators.holding.standing import Standing
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.planned import Plan
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Birth, Snapshot
from trident.spouts.base import Source
from trident.state.capabilities import resetting_of
from trident.state.target import Target

_CLEAN_UP = Work._clean_up
_BUILD, _STORE = PlanMaker._build, PlanMaker.store
_LOOK = TakeOver._look_at_all
_RECORDED = "recorded losses"


def builds_without_known_losses(
    maker: PlanMaker, command: MakePlan, repeated: Mapping[str, Sequence[OffsetRange]]
) -> Plan:
    """Leave out a loss that an attempt before has recorded, be that one dropped or not."""
    plan, known = _BUILD(maker, command, repeated), vars(maker.book).get(_RECORDED, ())
    return replace(plan, losses=tuple(loss for loss in plan.losses if loss not in known))


def remembers_losses(maker: PlanMaker, command: MakePlan, plan: Plan | None) -> None:
    """Write the plan, and take its losses for recorded once and for all."""
    _STORE(maker, command, plan)
    if plan is not None:
        vars(maker.book)[_RECORDED] = (*vars(maker.book).get(_RECORDED, ()), *plan.losses)


def checks_before_a_reset_is_finished(taking: TakeOver) -> None:
    """Look where the states stand first: after a reset that was cut off some are of the new life, some of the old."""
    if taking.snapshot.open_reset is not None:
        taking.where_states_stand()
        taking.carry_out_reset(taking.snapshot.open_reset)


def opens_the_new_life_first(
    ledger: Ledger, stores: Mapping[str, Target], topology: str, epoch: Epoch, decision: ResetDecision
) -> None:
    """Finish a reset in the ledger, then bring the states there: nobody finishes what is cut off in between."""
    ledger.finish_reset(epoch, topology, decision)
    for store in stores.values():
        _reset(store, Owner(topology, decision.incarnation), epoch, decision)


def stops_at_a_state_that_was_reset(
    ledger: Ledger, stores: Mapping[str, Target], topology: str, epoch: Epoch, decision: ResetDecision
) -> None:
    """Take a reset that has begun for one that only has to be finished in the ledger."""
    owner = Owner(topology, decision.incarnation)
    for store in stores.values():
        position = store.position(topology)
        if position is not None and position.owner == owner:
            break
        _reset(store, owner, epoch, decision)
    ledger.finish_reset(epoch, topology, decision)


def leaves_the_pin_as_it_is(taking: TakeOver, _: WantedReset) -> None:
    """Before rows are adopted ask whether a refusal waits, and roll nothing forward: the pin is no refusal."""
    if taking.snapshot.pin is not None:
        taking.require_no_refusal(taking.where_states_stand())


def registers_first(taking: TakeOver, sources: Mapping[str, Source], check: Callable[[], None]) -> None:
    """Put the given description in force, then look whether it can take over."""
    taking.register()
    _LOOK(taking, sources, check)


def bears_without_recording(taking: TakeOver, found: Standing, _: tuple[Birth, ...] = ()) -> None:
    """Register new states, of which the ledger knows nothing."""
    snapshot = taking.snapshot
    for name in sorted(found.unborn):
        taking.stores[name].register(snapshot.owner, taking.epoch, snapshot.done)


def bears_at_the_beginning(taking: TakeOver, found: Standing, _: tuple[Birth, ...] = ()) -> None:
    """Register a new state as one that has been there since the topology began."""
    births = tuple(replace(birth, txid=taking.snapshot.birth_txid) for birth in found.births)
    if births:
        taking.ledger.set_births(taking.snapshot.owner, taking.epoch, births)
        taking.read()
    for name in sorted(found.unborn):
        taking.stores[name].register(taking.snapshot.owner, taking.epoch, taking.snapshot.birth_txid)


def _reset(store: Target, owner: Owner, epoch: Epoch, decision: ResetDecision) -> None:
    resetting = resetting_of(store)
    change = resetting.clear if decision.states == "clear" else resetting.adopt
    change(owner, epoch, decision.birth_txid)


def cleans_up_all_that_was_planned(work: Work, batch: BatchId, state: str) -> None:
    """Let go of what is staged up to the last txid that is known, not up to the one that is done."""
    last = work._parts.book.last_txid
    _CLEAN_UP(work, replace(batch, txid=last), state)


def forgets_what_was_planned(ledger: Ledger, snapshot: Snapshot) -> Iterator[Plan]:
    """Ask for nothing behind what is decided: rows that died with a process leave their positions to others."""
    if snapshot.done_plan is not None:
        yield snapshot.done_plan
    if snapshot.pin is not None:
        yield snapshot.pin.plan


def receives_for_every_plan(maker: PlanMaker, command: MakePlan, repeated: Mapping[str, Sequence[OffsetRange]]) -> Plan:
    """Ask the sources although the plan may be left for a fuller batch."""
    return _BUILD(maker, replace(command, only_full=False), repeated)
