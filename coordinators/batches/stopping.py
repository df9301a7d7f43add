"""The last write of a coordinator that can't go on: why, so that the next start finds it."""

from __future__ import annotations

import logging

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, TridentError
from trident.base.identity import Epoch, Owner
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.refusals import decision_needed, undo_way, ways_on
from trident.coordinators.retrying import Repeater

_log = logging.getLogger("trident.coordinator")


def record_stop(ledger: Ledger, owner: Owner, epoch: Epoch, stopped: StoppedError, repeater: Repeater) -> TridentError:
    """Record why this owner stops, as its last write; returns the error to raise.

    When that can't be recorded, the next start tries the txid again, which is as safe.
    """
    refusal = stopped.refusal
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
    undo = undo_way(refusal.txid) if stopped.is_pinned else None
    ways = ways_on(owner.topology, refusal, undo=undo, left_out=refusal.state in stopped.left_out)
    return decision_needed(owner.topology, stopped.text, refusal, ways)
