"""Only what a state refuses of the pinned txid leaves it: found by trying, and kept with the decision itself.

The state has transactions and stands right before the txid, so nothing of it has to be taken back. What is kept is
staged anew first, which counts for nothing until the pin says so; then one transaction of the ledger records the
decision, keeps the refused rows and lets the pin point to the others. Cut off before it nothing was decided, after it
nothing is left to do.
"""

from __future__ import annotations

import logging
import shlex
from dataclasses import replace
from functools import partial

import pyarrow as pa

from trident.base.advice import RETRY
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.coordinators.batches.sifting import MOST_TRIES, Parted, parted, rows_to_try
from trident.coordinators.batches.trying import sift_first
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.holding.carrying_out import PinnedBatch, pinned_batch
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.pinned import StatePin
from trident.state.rows import json_rows
from trident.state.sifting import Sifted, Verdict
from trident.state.staged import HeldUpdates, WrittenUpdates

_log = logging.getLogger("trident.coordinator")


def divert_refused(taking: TakeOver, decision: Decision) -> tuple[Decision, bool]:
    """Return what is decided, and whether it is recorded and carried out: of what is pinned it is, once.

    What is not pinned waits for the attempt that commits, which tells its rows apart. All rows are to go where the
    state can't be asked, or where of what is pinned no single rows can be told. Raises MismatchError, nothing changed,
    where none of these is refused any more.
    """
    pinned = pinned_batch(taking.snapshot, taking.epoch)
    store = taking.stores[decision.state]
    if store.capabilities.sifting is None:  # a map over a store of one's own, or a sink
        return _as_whole(decision), False
    if pinned is None or pinned.batch.txid != decision.txid:
        return decision, False
    rows = rows_to_try(store, pinned.batch, pinned.written(decision.state))
    found = _found(taking, pinned, decision, rows)
    if found.verdict is not Verdict.SOME:
        _log.warning("state %r, %s: %s; so all of its rows are taken out", decision.state, pinned.batch, found)
        return _as_whole(decision), False
    _carry_out(taking, pinned, decision, parted(rows, found.refused))
    return decision, True


def _found(taking: TakeOver, pinned: PinnedBatch, decision: Decision, rows: pa.Table) -> Sifted:
    batch, made = pinned.batch, {decision.state: HeldUpdates(rows)}
    search = partial(sift_first, taking.stores, batch, made, decision.state, rows, MOST_TRIES)
    found = taking.repeater.call("finding the rows that are refused", search)
    again = f"{RETRY} {shlex.quote(batch.owner.topology)} {batch.txid}"
    if found.verdict is Verdict.FITS:
        raise MismatchError(
            f"no {decision}: the state takes every row of it now, so nothing is to be taken out. Nothing was written: "
            f"{again}"
        )
    if found.verdict is Verdict.NO_ROW:
        raise MismatchError(f"no {decision}: {found}. Nothing was written. Mend it, then {again}")
    return found


def _as_whole(decision: Decision) -> Decision:
    return replace(decision, kind=DecisionKind.DIVERT)


def _carry_out(taking: TakeOver, pinned: PinnedBatch, decision: Decision, rows: Parted) -> None:
    batch, store = pinned.batch, taking.stores[decision.state]
    stage = partial(store.stage, batch, HeldUpdates(rows.kept))
    staged = taking.repeater.call("staging what is kept", stage)
    assert isinstance(staged, WrittenUpdates), "what waits for a pinned txid is not beside the ledger"
    reached(CrashPoint.AFTER_STAGING_KEPT, batch.txid)
    kept = StatePin(decision.state, staged.count, staged.writes)
    _say(decision, rows.found)
    record = partial(taking.ledger.divert_refused, batch.owner, batch.epoch, decision, json_rows(rows.refused), kept)
    taking.repeater.call("recording a decision", record)
    reached(CrashPoint.AFTER_DIVERTING, batch.txid)


def _say(decision: Decision, found: Sifted) -> None:
    _log.warning("%s: %s; what is refused is kept in trident_diverted", decision, found)
