"""What may be pinned and done: one txid after the other, each once, with the attempt that is live."""

from __future__ import annotations

from collections.abc import Sequence

from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.coordinators.ledger.rules.decisions import shown_states
from trident.coordinators.ledger.rules.following import check_follows
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.pinned import Commit, Pin
from trident.coordinators.planned import Plan, StartPosition


def is_repeated_pin(progress: Progress, pin: Pin) -> bool:
    """Tell whether the txid is pinned or done with this attempt already; with another one is refused."""
    for txid, attempt, word in (
        (progress.pinned, progress.pinned_attempt, "pinned"),
        (progress.done, progress.done_attempt, "done"),
    ):
        if txid == pin.txid and attempt != pin.attempt:
            raise MismatchError(
                f"txid {pin.txid} is {word} with attempt {attempt}, not {pin.attempt}. Nothing was written."
            )
        if txid == pin.txid:
            return True
    return False


def check_same_pin(stored: Pin | None, pin: Pin) -> None:
    """Refuse a repeat that carries other manifests, or other dead letters, than what was decided."""
    if stored is None or _said(stored) != _said(pin):
        raise MismatchError(
            f"txid {pin.txid} was pinned with attempt {pin.attempt} and other manifests than the given ones. "
            "Nothing was written."
        )


def _said(pin: Pin) -> tuple[object, ...]:
    return pin.plan, pin.manifests, pin.states, frozenset(pin.dead_letters)


def check_pin(
    progress: Progress,
    epoch: Epoch,
    pin: Pin,
    stored: StoredPlan | None,
    done_plan: Plan | None,
    starts: Sequence[StartPosition] | None,
) -> None:
    """Refuse a pin that is not of the next txid's live attempt, or whose ranges don't follow what is done.

    It must divert the rows of the states that its plan says.
    """
    if progress.pinned is not None:
        raise MismatchError(f"txid {pin.txid} can't be pinned: txid {progress.pinned} is. Nothing was written.")
    if progress.done != pin.txid - 1:
        raise MismatchError(f"txid {pin.txid} can't be pinned: {progress.done} is done. Nothing was written.")
    if stored is None or stored.status is not PlanStatus.LIVE or stored.incarnation != progress.incarnation:
        raise MismatchError(f"attempt {pin.attempt} at txid {pin.txid} is not live. Nothing was written.")
    if stored.plan != pin.plan:
        raise MismatchError(f"the pin of txid {pin.txid} carries another plan than the stored. Nothing was written.")
    if stored.epoch != epoch.number:
        raise MismatchError(
            f"attempt {pin.attempt} at txid {pin.txid} was planned by epoch {stored.epoch}; epoch {epoch.number} must "
            "drop it and plan again. Nothing was written."
        )
    if pin.plan.predecessor != progress.done_attempt:
        raise MismatchError(
            f"the plan of txid {pin.txid} follows attempt {pin.plan.predecessor}, but attempt {progress.done_attempt} "
            "is done. Nothing was written."
        )
    diverted = sorted(item.state for item in pin.diverts)
    if diverted != sorted(pin.plan.diverts):
        raise MismatchError(
            f"the pin of txid {pin.txid} diverts the rows of {shown_states(diverted)}, its plan those of "
            f"{shown_states(pin.plan.diverts)}. Nothing was written."
        )
    check_follows(pin.plan, done_plan, starts)


def is_repeated_done(progress: Progress, commit: Commit) -> bool:
    """Tell whether the txid is done with this attempt already; with another one is refused."""
    if progress.done != commit.txid:
        return False
    if progress.done_attempt != commit.attempt:
        raise MismatchError(
            f"txid {commit.txid} is done with attempt {progress.done_attempt}, not {commit.attempt}. "
            "Nothing was written."
        )
    return True


def check_done(progress: Progress, commit: Commit) -> None:
    """Refuse what is not the pinned attempt."""
    if (progress.pinned, progress.pinned_attempt) != (commit.txid, commit.attempt):
        pinned = f"txid {progress.pinned} attempt {progress.pinned_attempt}" if progress.pinned else "nothing"
        raise MismatchError(
            f"txid {commit.txid} attempt {commit.attempt} can't be done: {pinned} is pinned. Nothing was written."
        )


def check_together(pin: Pin, commit: Commit) -> None:
    """Refuse a pin and a commit that speak of different attempts."""
    if (pin.txid, pin.attempt) != (commit.txid, commit.attempt):
        raise MismatchError(
            f"the pin is of txid {pin.txid} attempt {pin.attempt}, the commit of txid {commit.txid} attempt "
            f"{commit.attempt}. Nothing was written."
        )
