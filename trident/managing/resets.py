"""Resetting a topology: a person's decision to begin its txid sequence anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from trident.base.checks import check_flag, check_instance, refused
from trident.base.errors import ConfigurationError
from trident.base.loading import refuse_while_loading
from trident.base.policies import policy_of
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.decisions.beginning import Agree, agree_to_all
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.managing.arguments import check_ledger, check_topology
from trident.managing.offsets import require_offsets
from trident.spouts.base import Spout, Start, StartAt, has_moments
from trident.spouts.offsets import OFFSETS, StartOffsets

if TYPE_CHECKING:
    from trident.language.topology import Topology


def reset(
    topology: Topology,
    ledger: Ledger,
    *,
    states: Literal["clear", "adopt"],
    start: ResetStart | StartAt | datetime | str | Mapping[str, Mapping[int, int]] | None = None,
    ledger_lost: bool = False,
    options: RunOptions | None = None,
) -> ResetDecision:
    """Give a topology a new incarnation, above every txid ever planned.

    `states="clear"` empties its states; `"adopt"` keeps their rows and counts on from them (a pinned
    batch is rolled forward first). `start` is where the streams that there are begin, this once: "resume"
    (where the last txid that is done has stopped), "earliest", "latest", a time, or offsets of Kafka
    (`{"payments": {0: 1200, 1: 900}}`, with each partition of each stream). Without it `"clear"` begins as the
    spouts say, and `"adopt"` resumes, or keeps the start that a reset before has named if no txid is done since; then
    "resume" takes that back. With kept rows anything but "resume" counts records again or skips some, with
    emptied ones all before the start is in no result any more. Offsets are looked up first: one that its log does not
    hold raises ConfigurationError. `ledger_lost=True` says that the ledger was lost or restored from a backup, so that
    states may know more than it does; without it a state that was filled with another ledger is refused. Nothing is
    changed while a coordinator runs the topology (LeaseHeldError). A reset that was cut off is finished by the
    next call or the next run, but `"clear"` takes the place of an `"adopt"` whose rows may be gone.
    """
    return reset_if_agreed(topology, ledger, states, start, agree_to_all, ledger_lost=ledger_lost, options=options)


def reset_if_agreed(
    topology: Topology,
    ledger: Ledger,
    states: Literal["clear", "adopt"],
    start: ResetStart | Start | str | Mapping[str, Mapping[int, int]] | None,
    agree: Agree,
    *,
    ledger_lost: bool = False,
    options: RunOptions | None = None,
) -> ResetDecision:
    """Reset as `reset` does, when `agree` has heard what it is about to do; nothing is changed if that raises."""
    refuse_while_loading("resets its topology")
    if not isinstance(states, str) or states not in ("clear", "adopt"):
        raise refused("states", "'clear' or 'adopt'", states)
    check_flag("ledger_lost", ledger_lost)
    text = _start_text(start)
    chosen = RunOptions() if options is None else check_instance("options", options, RunOptions)
    check_ledger(ledger)
    compiled = check_topology(topology).compile()
    if isinstance(start, datetime):
        _refuse_moments(compiled.spouts)
    if isinstance(start, StartOffsets | Mapping):
        require_offsets(compiled.spouts, _offsets(start))
    from trident.engine.places import check_places  # of all commands only this one needs what imports Spark

    return reset_topology(
        compiled.spec(),
        compiled.targets,
        ledger,
        keep_rows=states == "adopt",
        start=text,
        options=chosen,
        ledger_lost=ledger_lost,
        agree=agree,
        spouts=compiled.spouts,
        check=partial(check_places, compiled, chosen.timeouts),
    )


def _start_text(start: ResetStart | Start | str | Mapping[str, Mapping[int, int]] | None) -> str | None:
    if isinstance(start, StartOffsets | Mapping):
        return str(_offsets(start))
    if isinstance(start, datetime):
        if start.utcoffset() is None:
            raise refused("start", "a datetime, which needs a time zone, say datetime(2026, 1, 1, tzinfo=UTC)", start)
        return _in_utc(start).isoformat()
    if start is None:
        return None
    return policy_of(ResetStart, start, "start", beside=f", a datetime with a time zone or {OFFSETS}").value


def _offsets(start: StartOffsets | Mapping[str, Mapping[int, int]]) -> StartOffsets:
    return start if isinstance(start, StartOffsets) else StartOffsets.of(start)


def _refuse_moments(spouts: Mapping[str, Spout]) -> None:
    """Refuse a moment before it is recorded: the next start would stop at it, and so would every later one."""
    without = [name for name, spout in spouts.items() if not has_moments(spout)]
    if without:
        raise ConfigurationError(
            f"start: stream {without[0]!r} has positions without times, so nothing of this topology can start at a "
            "moment; nothing was changed. Leave it out (each stream begins as its spout says, with rows kept where it "
            "stood), or name 'resume', 'earliest' or 'latest'"
        )


def _in_utc(moment: datetime) -> datetime:
    """Return it as it is where that would be before the year 1 or after 9999."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment
