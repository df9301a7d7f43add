"""The last write of a coordinator that can't go on: why, so that the next start finds it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, TridentError
from trident.base.identity import Epoch, Owner
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.gone import Gone
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.planned import Plan
from trident.coordinators.refusals import decision_needed, records_of, undo_way, ways_on
from trident.coordinators.retrying import Repeater

_log = logging.getLogger("trident.coordinator")


def record_stop(
    ledger: Ledger,
    owner: Owner,
    epoch: Epoch,
    stopped: StoppedError,
    repeater: Repeater,
    received: Collection[str] = (),
    plan: Plan | None = None,
) -> TridentError:
    """Record why this owner stops, as its last write; returns the error to raise. `plan` is what the attempt has read.

    When that can't be recorded, the next start tries the txid again, which is as safe: without the rows of the streams
    that are `received`, as the error says then.
    """
    if plan is not None and plan.attempt == stopped.refusal.attempt:
        stopped = stopped.of_records(records_of(plan))
    refusal = stopped.refusal
    gone = _gone(ledger, owner, stopped, repeater, received)
    if not refusal.blocks:
        stopped.gone = gone
    try:
        repeater.call("recording why it stopped", lambda: ledger.refuse(owner, epoch, refusal))
    except FencedError as error:
        return error
    except TridentError as error:
        _log.warning(
            "could not record why txid %d was stopped at (%s); the next start tries it again", refusal.txid, error
        )
        return stopped
    reached(CrashPoint.AFTER_REFUSING, refusal.txid)
    if not refusal.blocks:
        return stopped
    left_out = refusal.state in stopped.left_out
    if stopped.is_pinned:
        ways = ways_on(owner.topology, refusal, undo=undo_way(refusal.txid, gone), left_out=left_out)
    else:
        ways = ways_on(owner.topology, refusal, left_out=left_out, gone=gone)
    return decision_needed(owner.topology, stopped.text, refusal, ways)


def _gone(
    ledger: Ledger, owner: Owner, stopped: StoppedError, repeater: Repeater, received: Collection[str]
) -> Gone | None:
    """Return what of the attempt can't be read again; where the ledger does not answer, what may be."""
    if not received:
        return None
    txid = stopped.refusal.txid
    try:
        plan = repeater.call("reading what was planned", lambda: ledger.last_plan_of(owner, txid))
    except TridentError:  # the write that follows says what is wrong with the ledger
        plan = None
    known = plan is not None and plan.attempt == stopped.refusal.attempt
    return Gone.of(received, plan.ranges if plan is not None and known else None)
