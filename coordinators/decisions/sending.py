"""Giving a life-cycle command and waiting for its answer: the sender holds nothing while somebody runs the topology.

Where nobody does, the sender takes the lease for a moment and carries out what waits, as every holder does: so there is
one way in which commands are carried out, in one order, and each under an epoch.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from trident.base.clock import Clock, SystemClock
from trident.base.errors import FencedError, LeaseHeldError
from trident.base.signals import StopSignal
from trident.coordinators.decisions.leasing import leased
from trident.coordinators.holding.at_rest import carry_out_at_rest
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.opening import opened
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.view import CommandRow
from trident.coordinators.lifecycle import Kill, LifeCycleCommand, Sent, Verdict
from trident.coordinators.options import RunOptions
from trident.coordinators.retrying import Repeater

_LOOK_S = 0.1
_ENDING = timedelta(seconds=15)
"""How long a run may take to end behind the wait that a kill has given it: it closes what it has open."""


def give_command(
    topology: str,
    ledger: Ledger,
    command: LifeCycleCommand,
    within: timedelta,
    options: RunOptions,
    clock: Clock | None = None,
) -> CommandRow:
    """Give the command and return it with its answer; without one where it was read, and not answered in time.

    One that nobody has read within that time is withdrawn. After a kill this also waits for the run to let go of the
    topology, as long as the kill gives it and a little more. Raises MismatchError, nothing written, for a
    topology that is not in the ledger and for tables of another version.
    """
    view, repeater = ledger.view(), Repeater(options.give_up_after, StopSignal(), options.batch_timeout)
    repeater.call("looking at the ledger", partial(view.status, topology))
    with opened(ledger, {}, {}, options.timeouts):
        sent = Sent(secrets.token_hex(8), command, holder_name(), within)
        number = repeater.call("giving the command", partial(ledger.send, topology, sent))
        sending = _Sending(topology, ledger, number, options, repeater, clock)
        row = sending.wait_for_answer(within)
        if isinstance(command, Kill) and row.verdict == Verdict.DONE:
            sending.wait_until_let_go(row, command.wait + min(within, _ENDING))
        return row


class _Sending:
    """One command on its way."""

    def __init__(
        self,
        topology: str,
        ledger: Ledger,
        number: int,
        options: RunOptions,
        repeater: Repeater,
        clock: Clock | None,
    ) -> None:
        self._topology = topology
        self._ledger = ledger
        self._view = ledger.view()
        self._number = number
        self._options = options
        self._repeater = repeater
        self._clock = clock or SystemClock()

    def wait_for_answer(self, within: timedelta) -> CommandRow:
        self._wait(within, self._is_answered)
        row = self._row()
        if row.verdict is not None:
            return row
        seconds = within.total_seconds()
        text = f"whoever holds the topology did not read it within {seconds:g} s, and it was withdrawn"
        withdraw = partial(self._ledger.withdraw, self._topology, self._number, f"{text}; nothing was changed")
        self._repeater.call("withdrawing the command", withdraw)
        return self._row()

    def wait_until_let_go(self, row: CommandRow, within: timedelta) -> None:
        def is_let_go() -> bool:
            standing = self._repeater.call("looking at the ledger", partial(self._view.status, self._topology))
            return not standing.is_held or standing.epoch != row.epoch

        self._wait(within, is_let_go)

    def _is_answered(self) -> bool:
        if self._row().verdict is not None:
            return True
        if self._repeater.call("looking at the ledger", partial(self._view.status, self._topology)).is_held:
            return False
        try:
            with leased(self._ledger, self._topology, self._options) as (epoch, repeater):
                seen = repeater.call("looking", partial(self._ledger.snapshot, epoch, self._topology))
                carry_out_at_rest(self._ledger, seen.owner, epoch, seen.activity, repeater)
        except (LeaseHeldError, FencedError):
            return False  # somebody has begun to run it meanwhile, who carries it out
        return self._row().verdict is not None

    def _wait(self, within: timedelta, is_over: Callable[[], bool]) -> None:
        deadline = self._clock.monotonic() + within.total_seconds()
        while not is_over() and self._clock.monotonic() < deadline:
            self._repeater.stopping.wait(_LOOK_S)

    def _row(self) -> CommandRow:
        rows = self._repeater.call("reading the answer", partial(self._view.commands, self._topology, self._number))
        return rows[0]
