"""Resetting a topology: a person's decision to begin its txid sequence anew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.coordinators.decided import ResetDecision
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.spouts.base import StartAt

if TYPE_CHECKING:
    from trident.language.topology import Topology


def reset(
    topology: Topology,
    ledger: Ledger,
    *,
    states: Literal["clear", "adopt"],
    start: StartAt | datetime | str | None = None,
    options: RunOptions | None = None,
) -> ResetDecision:
    """Give a topology a new incarnation, above every txid ever planned.

    `states="clear"` empties its states; `"adopt"` keeps their rows and counts on from them (a pinned
    batch is rolled forward first). `start` replaces the spouts' own start policy this once. Nothing is
    changed while a coordinator runs the topology (LeaseHeldError). A reset that was cut off is
    finished by the next call or the next run.
    """
    if states not in ("clear", "adopt"):
        raise ConfigurationError(f"states must be 'clear' or 'adopt', not {states!r}; nothing was changed")
    text = _start_text(start)
    compiled = topology.compile()
    return reset_topology(
        compiled.spec(),
        compiled.states,
        ledger,
        keep_rows=states == "adopt",
        start=text,
        options=options or RunOptions(),
    )


def _start_text(start: StartAt | datetime | str | None) -> str | None:
    if isinstance(start, datetime):
        if start.tzinfo is None:
            raise ConfigurationError("a start time needs a time zone; nothing was changed")
        return start.astimezone(UTC).isoformat()
    if start is None:
        return None
    return policy_of(StartAt, start, "start", beside=" or a datetime with a time zone").value
