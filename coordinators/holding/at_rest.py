"""Life-cycle commands to a topology that nobody runs, carried out by whoever holds its lease."""

from __future__ import annotations

import shlex
from functools import partial

from trident.base.advice import ACTIVATE
from trident.base.errors import FatalError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.lifecycle import Activity, reply_at_rest
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater


class KilledError(FatalError):
    """The topology was killed, and nobody has activated it since: the start has begun nothing."""


class ForgottenError(FatalError):
    """The topology was forgotten while this start waited for it: the start has begun nothing."""


def require_not_forgotten_meanwhile(topology: str, forgotten_in: int, waited_for: int | None) -> None:
    """Raise ForgottenError for a start that has waited since before the topology was forgotten, or while it was.

    `waited_for` is the epoch that had the lease when the wait began. Whoever is started once a topology is forgotten
    wants a new one; who waits has been started for the old one, and would send all of it again.
    """
    if waited_for is not None and forgotten_in >= waited_for:
        raise ForgottenError(
            f"topology {topology!r} was forgotten while this start waited for it, so it has begun nothing: it would "
            "begin anew, and send and apply all records again. Where that is wanted, start it again"
        )


def require_not_killed(ledger: Ledger, seen: Snapshot, epoch: Epoch, repeater: Repeater) -> None:
    """Raise KilledError for a start of a topology that is killed, unless a command that waits lets it be started again.

    With the first look of a take-over: before a store is looked at, or a fence raised.
    """
    if seen.activity is not Activity.KILLED:
        return  # what waits is carried out by the run
    if carry_out_at_rest(ledger, seen.owner, epoch, seen.activity, repeater) is Activity.KILLED:
        raise KilledError(_killed(seen.owner.topology))


def carry_out_at_rest(ledger: Ledger, owner: Owner, epoch: Epoch, activity: Activity, repeater: Repeater) -> Activity:
    """Carry out what waits under an epoch that runs nothing; returns what the topology is then.

    Cut off between two answers, those that have none are carried out by whoever comes next.
    """
    take = partial(ledger.take_commands, owner, epoch)
    for given in repeater.call("reading the commands that wait", take):
        reply = reply_at_rest(activity, given.command)
        write = partial(ledger.answer, owner, epoch, given.number, reply)
        repeater.call(f"answering command {given.number}", write)
        activity = reply.activity or activity
    return activity


def _killed(topology: str) -> str:
    return (
        f"topology {topology!r} was killed, so this start has begun nothing: a process can't tell whether a person, a "
        "supervisor or a standby has started it. What is done stays, what is pinned is finished first by the next "
        f"start that may begin. To let it be started again: {ACTIVATE} {shlex.quote(topology)}"
    )
