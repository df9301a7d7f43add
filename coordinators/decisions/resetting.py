"""A reset: a person's recorded decision to open a new incarnation, carried out as a take-over.

Every fence is raised first, so a running coordinator is fenced. A pinned batch is rolled forward, or
undone if that was decided, before states are adopted; clearing states makes it void. The decision is
recorded before its first effect: a reset that was cut off is finished by the next reset or the next start.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch
from trident.coordinators.batches.committer import Committer, outcome_of_pin
from trident.coordinators.holding.lease import held_for_decision
from trident.coordinators.holding.retrying import Repeater
from trident.coordinators.holding.run import open_parts
from trident.coordinators.holding.takeover import (
    LedgerBehindError,
    check_positions,
    check_refusal,
    finish_decisions,
    finish_reset,
    raise_fences,
)
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions
from trident.coordinators.records import ResetDecision, Snapshot, TopologySpec
from trident.state.capabilities import check_resettable
from trident.state.layout import StateLayout
from trident.state.target import State, Target


def reset_topology(
    spec: TopologySpec,
    states: Mapping[str, tuple[State, StateLayout]],
    ledger: Ledger,
    *,
    keep_rows: bool,
    start: str | None,
    options: RunOptions,
) -> ResetDecision:
    """Open a new incarnation above every txid ever planned; returns the decision that was carried out.

    Raises LeaseHeldError while a coordinator runs the topology. When a reset that was cut off is
    found, that one is finished and returned, and no new one is made. A ledger that was lost or
    restored takes as many leases as it is behind the states' epochs.
    """
    with ExitStack() as stack:
        ledger.open()
        stack.callback(ledger.close)
        _, stores = open_parts({}, states, ledger.database, stack)
        wanted = Wanted(secrets.token_hex(8), keep_rows, start)
        while True:
            # each lease has the next epoch: in the end it is above what the states know
            with held_for_decision(ledger, spec.name, options) as (epoch, repeater), suppress(LedgerBehindError):
                return carry_out_reset(ledger, stores, spec, epoch, wanted, repeater)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person asked for, with the id of the incarnation to open."""

    incarnation: str
    keep_rows: bool
    start: str | None


def carry_out_reset(
    ledger: Ledger,
    stores: Mapping[str, Target],
    spec: TopologySpec,
    epoch: Epoch,
    wanted: Wanted,
    repeater: Repeater,
) -> ResetDecision:
    """Take over with that epoch, record the decision, carry it out; an open one that is found is finished instead."""
    snapshot = raise_fences(ledger, stores, spec, epoch, repeater)
    decision = snapshot.open_reset
    if decision is None:
        check_resettable(stores, wanted.keep_rows)
        if wanted.keep_rows:
            snapshot, _ = finish_decisions(ledger, stores, spec, snapshot, epoch, repeater)
        if wanted.keep_rows and snapshot.pin is not None:
            snapshot = _roll_forward(ledger, stores, spec, snapshot, Committer(ledger, stores, repeater), epoch)
        birth = repeater.call("reading the states", lambda: _birth_txid(snapshot, stores))
        decision = ResetDecision(wanted.incarnation, birth, _states(wanted.keep_rows), wanted.start)
        ledger.decide_reset(epoch, spec.name, decision)
        reached(CrashPoint.AFTER_DECIDING_RESET)
    finish_reset(ledger, stores, spec, epoch, decision)
    return decision


def _birth_txid(snapshot: Snapshot, stores: Mapping[str, Target]) -> int:
    """Return the highest txid that is known anywhere: a ledger from an old backup knows fewer than the states."""
    positions = [store.position(snapshot.owner.topology) for store in stores.values()]
    return max([snapshot.last_txid, *(position.txid for position in positions if position is not None)])


def _states(keep_rows: bool) -> str:
    return "adopt" if keep_rows else "clear"


def _roll_forward(
    ledger: Ledger,
    stores: Mapping[str, Target],
    spec: TopologySpec,
    snapshot: Snapshot,
    committer: Committer,
    epoch: Epoch,
) -> Snapshot:
    """Apply the pinned batch to the states that wait for it, so that adopted rows hold whole txids."""
    pin = snapshot.pin
    assert pin is not None
    try:
        waiting = check_positions(snapshot, stores, epoch)
    except MismatchError as error:
        raise MismatchError(f"{error} While a batch is pinned, only states='clear' can be carried out.") from error
    check_refusal(snapshot, stores, epoch, waiting)
    batch = BatchId(snapshot.owner, epoch, pin.txid, pin.attempt)
    for name in sorted(waiting):
        committer.apply(batch, name, pin)
    committer.done(batch, outcome_of_pin(pin))
    return ledger.register(epoch, spec)
