"""Topics that a stream is given, and let go of, between two runs: what may change, and what is kept of it. Pure.

A topic may come at any start: it is read from where the spout begins, which is stored before a plan has it. It may go
as long as no txid was pinned that knows it: later nobody could say that nothing behind its position is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot, TopologySpec

Starts = tuple[StartPosition, ...] | None
"""Where the partitions of an incarnation begin; None: nothing has been asked yet."""
_StreamTopics = frozenset[tuple[str, str]]
_NAMED, _OF_KAFKA = "topics", "kafka"
_PLANNED_ONCE = "transactional"


def named_topics(description: Mapping[str, str]) -> tuple[str, ...]:
    """Return the topics that a stream reads by name; none where it finds them, or has none."""
    if description.get("spout") != _OF_KAFKA or _NAMED not in description:
        return ()
    return tuple(description[_NAMED].split(","))


def new_topics(stored: TopologySpec, given: TopologySpec) -> tuple[tuple[str, str], ...]:
    """Return which topics streams have now and had not."""
    return tuple(sorted(_topics(given, stored.spouts) - _topics(stored, given.spouts)))


def follow_topics(
    stored: TopologySpec, given: TopologySpec, starts: Starts, seen: Callable[[], Snapshot]
) -> tuple[TopologySpec, Starts]:
    """Return a stored description with the topics that its streams are given, in whatever order, and the starts.

    A topic that is let go of has no start any more: it begins anew if it comes again. Raises MismatchError for one
    that something which was `seen` has read, or will have to.
    """
    gone = _topics(stored, given.spouts) - _topics(given, stored.spouts)
    if gone:
        _require_not_planned(stored, gone, seen())
        starts = None if starts is None else tuple(each for each in starts if (each.spout, each.id.topic) not in gone)
    spouts = {
        name: {**what, _NAMED: given.spouts[name][_NAMED]}
        if named_topics(what) and named_topics(given.spouts.get(name, {}))
        else what
        for name, what in stored.spouts.items()
    }
    return replace(stored, spouts=spouts), starts


def _require_not_planned(stored: TopologySpec, gone: _StreamTopics, seen: Snapshot) -> None:
    known = _known(stored, seen)
    for stream, topic in sorted(gone):
        if (stream, topic) in known:
            raise MismatchError(
                f"stream {stream!r} of topology {stored.name!r} reads topic {topic!r} no more in this version, and "
                f"what is done or planned up to txid {known[stream, topic]} knows it: what the topic holds behind its "
                "position would be missing without a word. Nothing was changed. Put the topic back, or give the new "
                "topology another name."
            )


def _known(stored: TopologySpec, seen: Snapshot) -> dict[tuple[str, str], int]:
    """Return up to which txid each topic of a stream is, or may be, in rows, or has to be read."""
    begun = {(item.spout, item.id.topic) for item in seen.starts or ()}
    known = {
        (item.spout, item.range.id.topic): plan.txid
        for plan in seen.refused
        for item in plan.ranges
        if item.range.width
    }
    if seen.last_txid > (seen.done if seen.pin is None else seen.pin.txid):
        # a txid that was planned, and dropped too, holds the same records for good, of whichever topics
        known |= {of: seen.last_txid for of in begun if stored.spouts.get(of[0], {}).get("kind") == _PLANNED_ONCE}
    for plan in (seen.done_plan, None if seen.pin is None else seen.pin.plan):
        if plan is not None:
            known |= {(item.spout, item.range.id.topic): plan.txid for item in plan.ranges}
    if seen.done_plan is None and seen.reset is not None and seen.reset.states == "adopt":
        # the rows are of before: where this incarnation begins says nothing of what they hold
        stood = seen.reset.stood
        held = _topics(stored, stored.spouts) if stood is None else {(item.spout, item.id.topic) for item in stood}
        known |= dict.fromkeys(held, seen.done)
    return known


def _topics(of: TopologySpec, others: Mapping[str, Mapping[str, str]]) -> _StreamTopics:
    """Return the named topics of the streams that have such in both descriptions."""
    both = {name: what for name, what in of.spouts.items() if named_topics(others.get(name, {}))}
    return frozenset((name, topic) for name, what in both.items() for topic in named_topics(what))
