"""A txid that a coordinator can't go on with: said with an error, recorded before it stops, found by the next start."""

from __future__ import annotations

import logging

from trident.base.advice import DIVERT, RETRY
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import DecisionNeededError, FatalError, FencedError, TridentError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.decisions.model import Refusal, StopKind
from trident.coordinators.holding.retrying import Repeater
from trident.coordinators.ledger.base import Ledger

_log = logging.getLogger("trident.coordinator")


class StoppedError(FatalError):
    """A coordinator stops at a txid; carries what the ledger is to say of it."""

    def __init__(self, text: str, refusal: Refusal) -> None:
        super().__init__(text, refusal)
        self.text = text
        self.refusal = refusal

    def __str__(self) -> str:
        return self.text


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


def decision_needed(topology: str, found: str, refusal: Refusal, ways: tuple[str, ...]) -> DecisionNeededError:
    """Return the error that says what was found and which commands go on."""
    lines = "\n  ".join(ways)
    return DecisionNeededError(
        f"{found} Nothing of topology {topology!r} runs until a person has decided about txid {refusal.txid}. "
        f"Each of these goes on (the ledger is named by --ledger or TRIDENT_LEDGER):\n  {lines}"
    )


def refused_by_state(topology: str, refusal: Refusal) -> str:
    """Return what the ledger says of a refusal, as a sentence."""
    by = f" by state {refusal.state!r}" if refusal.state else ""
    return (
        f"txid {refusal.txid} attempt {refusal.attempt} of topology {topology!r} was refused for good{by}: "
        f"{refusal.reason}."
    )


def ways_on(topology: str, refusal: Refusal, *, undo: str | None = None) -> tuple[str, ...]:
    """Return the commands that a person can choose from; `undo` says that it can be undone, or why it can't be."""
    state = refusal.state or "STATE"
    ways = [
        f"{RETRY} {topology} {refusal.txid}  (once the cause is mended: a wider column, another type, a filter)",
        f"{DIVERT} {refusal.txid} --state {state}  (its rows of this txid go to the ledger's "
        "dead letters, the rest goes on)",
    ]
    if undo is not None:
        ways.append(undo)
    return tuple(ways)


def gave_up(batch: BatchId, tries: int, reason: str) -> StoppedError:
    """Return the error of a txid that failed too often; the next start tries it again."""
    return StoppedError(
        f"{batch} failed {tries} times; the last reason was: {reason}. Nothing of this txid was applied, all before it "
        "is done. Mend the cause and run the topology again: it goes on with this txid.",
        Refusal(batch.txid, batch.attempt, StopKind.GAVE_UP, "", f"failed {tries} times, at last: {reason}"),
    )
