"""The life cycle of a topology that may be running: activate, deactivate, rebalance, kill.

Each is a command in the ledger, which whoever holds the topology carries out and answers; where nobody runs it the call
itself holds it for a moment. Each may be given from any process that reaches the ledger.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from trident.base.checks import check_duration
from trident.base.errors import FatalError
from trident.base.loading import refuse_while_loading
from trident.coordinators.decisions.sending import give_command
from trident.coordinators.ledger import Ledger
from trident.coordinators.ledger.view import CommandRow
from trident.coordinators.lifecycle import (
    LONGEST_WITHIN,
    Activate,
    Deactivate,
    Kill,
    LifeCycleCommand,
    Rebalance,
    Verdict,
    kind_of,
)
from trident.coordinators.options import RunOptions
from trident.managing.arguments import check_ledger, name_of

if TYPE_CHECKING:
    from trident.language.topology import Topology

_WITHIN = timedelta(seconds=30)


class NotEndedError(FatalError):
    """A run has taken its kill and still holds the topology; `row` is the command with its answer."""

    def __init__(self, row: CommandRow, holder: str) -> None:
        super().__init__(
            f"kill of topology {row.topology!r} (command {row.number}) was taken ({row.answer}), and its run has not "
            f"ended yet: {holder} holds the topology. It ends when what it does returns (a source that is away is "
            "asked until give_up_after has passed); no start begins anything until then, nor after it before the "
            "topology is activated. trident status says who holds it; to end it now, end its process"
        )
        self.row = row


def activate(topology: Topology | str, ledger: Ledger, *, within: timedelta = _WITHIN) -> CommandRow:
    """Let a deactivated topology plan again, and a killed one be started again; returns the command with its answer.

    Raises MismatchError for a topology that is not in the ledger, FatalError for a command that was refused, or that
    nobody has answered `within` that time: one that nobody has read by then is withdrawn.
    """
    return _give(topology, ledger, Activate(), within)


def deactivate(topology: Topology | str, ledger: Ledger, *, within: timedelta = _WITHIN) -> CommandRow:
    """Have a topology finish what is planned and plan nothing more, also after a restart, until it is activated.

    Its process goes on and keeps the lease. Returns the command once nothing more is planned; `status` says what is
    still in flight. Raises as `activate`.
    """
    return _give(topology, ledger, Deactivate(), within)


def rebalance(
    topology: Topology | str,
    ledger: Ledger,
    *,
    max_pending: int | None = None,
    parallelism: int | None = None,
    within: timedelta = _WITHIN,
) -> CommandRow:
    """Have a running topology go on with another number of batches at once, or of tasks that read a large batch.

    From the next plan on, without losing or repeating anything: no plan and no result depends on these numbers. It
    holds until the run ends; the next start has what its program says. Raises as `activate`, and where nobody runs it.
    """
    return _give(topology, ledger, Rebalance(max_pending, parallelism), within)


def kill(
    topology: Topology | str, ledger: Ledger, *, wait: timedelta = _WITHIN, within: timedelta = _WITHIN
) -> CommandRow:
    """End a topology's run, and let no start begin anything until it is activated; returns when the run has ended.

    Raises `NotEndedError` where it has taken the command and not ended in the wait and some seconds.

    Batches in flight are finished within `wait`; after that only those that are being decided or are pinned are, and
    the records of the others are read again; of a stream that can't be read again they end with the run, and the next
    start records them as lost. Otherwise nothing is lost; states and ledger stay as they are. A standby that waits for
    the lease ends as well. Raises as `activate`.
    """
    row = _give(topology, ledger, Kill(wait), within)
    standing = check_ledger(ledger).view().status(row.topology)
    if standing.is_held and standing.epoch == row.epoch:
        raise NotEndedError(row, standing.holder)
    return row


def _give(topology: Topology | str, ledger: Ledger, command: LifeCycleCommand, within: timedelta) -> CommandRow:
    refuse_while_loading("commands a topology")
    name = name_of(topology)
    check_duration("within", within, longest=LONGEST_WITHIN)
    row = give_command(name, check_ledger(ledger), command, within, RunOptions())
    if row.verdict == Verdict.DONE:
        return row
    what = f"{kind_of(command)} of topology {name!r} (command {row.number})"
    if row.verdict is not None:
        raise FatalError(f"{what} is {row.verdict}: {row.answer}.")
    raise FatalError(
        f"{what} was read by epoch {row.epoch} and not answered within {within.total_seconds():g} s. It is carried out "
        "by whoever holds the topology, also by the next one where this one ends; trident status says whether it waits."
    )
