"""Where the streams of a new incarnation begin, and where a later reset can still resume; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trident.coordinators.decided import DecisionKind, ResetDecision, ResetStart
from trident.coordinators.ledger.rules.resets import going_on
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a new incarnation begins."""

    start: str | None
    """A `ResetStart`, an ISO time or `StartOffsets`; None: as the spouts say."""
    streams: tuple[str, ...] | None
    """The streams that this is for."""
    begins: tuple[StartPosition, ...] | None = None
    """The same in numbers, where they are known already."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a reset is about to do, as far as it can be told before anything is changed."""

    states: str
    start: str | None
    """Where the streams really begin, which may be what a reset before has decided."""
    is_kept: bool = False
    """Whether nobody has named that start now, but a reset of which nothing has begun."""
    finishes_another: bool = False
    """A reset that was cut off is found: that one is finished, and no new one made."""
    without_rows: tuple[str, ...] = ()
    """States whose rows are to be kept, and that have none."""
    sinks: tuple[str, ...] = ()
    """What these have sent to topics stays, whatever becomes of the states."""
    appended: tuple[str, ...] = ()
    """So do the rows of these, to which every record is appended that is read."""
    rewritten: tuple[str, ...] = ()
    """So do the rows of these, which are found again by a key."""
    stood: tuple[StartPosition, ...] | None = field(default=None, compare=False)
    """Up to where all records are in the rows, for whoever tells what another start counts twice; None: nobody knows"""


Agree = Callable[[Prospect], None]
"""Hears what a reset is about to do while nothing is changed yet; it ends there if this raises."""


def agree_to_all(_: Prospect) -> None:
    """Let everything pass."""


def beginning(snapshot: Snapshot, start: str | None, streams: tuple[str, ...], *, keep_rows: bool) -> Beginning | None:
    """Return where a reset lets the streams begin; None: to resume was asked for, and nobody knows from where.

    Kept rows are resumed unless a start is named. Where a reset has decided about a start and no txid was done since,
    who names none keeps that one, and who says "resume" goes back to the last txid that was done before it.
    """
    if start != ResetStart.RESUME and (start is not None or not keep_rows):
        return Beginning(start, streams)
    here = going_on(snapshot.done_plan, snapshot.starts)
    if snapshot.done_plan is not None or snapshot.reset is None:
        return Beginning(ResetStart.RESUME, streams, here) if here else Beginning(None, streams)
    if start is None:
        return Beginning(snapshot.reset.start, snapshot.reset.streams, here)
    stood = where_it_stood(snapshot)
    if stood is None:
        return None
    if not stood:  # nothing was ever resolved, so that nothing was read: what was named since is taken back
        return Beginning(None, streams)
    return Beginning(ResetStart.RESUME, streams, stood)


def where_it_stood(snapshot: Snapshot) -> tuple[StartPosition, ...] | None:
    """Return where the last txid that is done has stopped, of whichever incarnation it was; None: nobody knows.

    Before any is done that is where the first incarnation begins, and nothing while that is not resolved. A stream that
    came after the reset which waits goes on where that one's start was resolved to: it is not what a person named.
    """
    here, reset = going_on(snapshot.done_plan, snapshot.starts) or (), snapshot.reset
    if snapshot.done_plan is not None or reset is None or reset.start == ResetStart.RESUME:
        return here
    if reset.stood is None:
        return None
    return (*reset.stood, *(item for item in here if item.spout not in (reset.streams or ())))


def will_stand(snapshot: Snapshot, stood: tuple[StartPosition, ...] | None) -> tuple[StartPosition, ...] | None:
    """Return where kept rows stand once what is pinned is done, or undone where that was decided; None: nobody knows.

    `stood` is the same without what is pinned.
    """
    if stood is None or snapshot.pin is None or not _is_rolled_forward(snapshot):
        return stood
    return going_on(snapshot.pin.plan, snapshot.starts)


def prospect(
    snapshot: Snapshot, start: str | None, kept: Mapping[str, int | None], *, keep_rows: bool
) -> Prospect | None:
    """Return what a reset is about to do, with the newest txid of the rows that each state would keep.

    None where `beginning` has none. What is pinned is done before rows are kept, unless it is to be undone.
    """
    states, empty = ("adopt" if keep_rows else "clear"), tuple(sorted(name for name in kept if kept[name] is None))
    if keep_rows and _is_rolled_forward(snapshot):
        return Prospect(states, start or ResetStart.RESUME, without_rows=empty)
    found = beginning(snapshot, start, (), keep_rows=keep_rows)
    if found is None:
        return None
    is_kept = keep_rows and start is None and found.start != ResetStart.RESUME
    return Prospect(states, found.start, is_kept, without_rows=empty)


def prospect_of(found: ResetDecision) -> Prospect:
    """Return what is about to be done where a reset was cut off."""
    return Prospect(found.states, found.start, finishes_another=True)


def _is_rolled_forward(snapshot: Snapshot) -> bool:
    pin = snapshot.pin
    return pin is not None and not any(
        each.kind is DecisionKind.UNDO and each.txid == pin.txid for each in snapshot.decisions
    )
