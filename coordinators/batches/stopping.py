"""A txid that a coordinator can't go on with: said with an error, recorded before it stops, found by the next start."""

from __future__ import annotations

import logging

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FatalError, FencedError, TridentError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.refusals import decision_needed, ways_on
from trident.coordinators.retrying import Repeater

_log = logging.getLogger("trident.coordinator")


class StoppedError(FatalError):
    """A coordinator stops at a txid; carries what the ledger is to say of it."""

    def __init__(self, text: str, refusal: Refusal) -> None:
        super().__init__(text, refusal)
        self.text = text
        self.refusal = refusal

    def __str__(self) -> str:
        return self.text


def gave_up(batch: BatchId, tries: int, reason: str) -> StoppedError:
    """Return the error of a txid that failed too often; the next start tries it again."""
    return StoppedError(
        f"{batch} failed {tries} times; the last reason was: {reason}. Nothing of this txid was applied, all before it "
        "is done. Mend the cause and run the topology again: it goes on with this txid.",
        Refusal(batch.txid, batch.attempt, StopKind.GAVE_UP, "", f"failed {tries} times, at last: {reason}"),
    )


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
    return decision_needed(owner.topology, stopped.text, refusal, ways_on(owner.topology, refusal))
