"""Topics that a stream is given, and let go of, between two runs: what may change, and what is kept of it. Pure.

A topic may come at any start: it is read from where the spout begins, which is stored before a plan has it. It may go
as long as no txid was pinned that knows it: later nobody could say that nothing behind its position is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.coordinators.planned import Plan, StartPosition
from trident.coordinators.registered import Snapshot, TopologySpec

Starts = tuple[StartPosition, ...] | None
"""Where the partitions of an incarnation begin; None: nothing has been asked yet."""
_StreamTopics = frozenset[tuple[str, str]]
_NAMED, _OF_KAFKA = "topics", "kafka"


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
        _require_not_planned(given.name, gone, seen())
        starts = None if starts is None else tuple(each for each in starts if (each.spout, each.id.topic) not in gone)
    spouts = {
        name: {**what, _NAMED: given.spouts[name][_NAMED]}
        if named_topics(what) and named_topics(given.spouts.get(name, {}))
        else what
        for name, what in stored.spouts.items()
    }
    return replace(stored, spouts=spouts), starts


def _require_not_planned(topology: str, gone: _StreamTopics, seen: Snapshot) -> None:
    bound = [plan for plan in (seen.done_plan, None if seen.pin is None else seen.pin.plan) if plan is not None]
    known = {(item.spout, item.range.id.topic): plan.txid for plan in bound for item in plan.ranges}
    known |= _with_records((*seen.live, *seen.refused))  # what may be planned again, by the same ranges
    for stream, topic in sorted(gone):
        if (stream, topic) in known:
            raise MismatchError(
                f"stream {stream!r} of topology {topology!r} reads topic {topic!r} no more in this version, and txid "
                f"{known[stream, topic]} was planned by one that does: what the topic holds behind its position would "
                "be missing without a word. Nothing was changed. Put the topic back, or give the new topology another "
                "name."
            )


def _topics(of: TopologySpec, others: Mapping[str, Mapping[str, str]]) -> _StreamTopics:
    """Return the named topics of the streams that have such in both descriptions."""
    both = {name: what for name, what in of.spouts.items() if named_topics(others.get(name, {}))}
    return frozenset((name, topic) for name, what in both.items() for topic in named_topics(what))


def _with_records(plans: Sequence[Plan]) -> dict[tuple[str, str], int]:
    return {(item.spout, item.range.id.topic): plan.txid for plan in plans for item in plan.ranges if item.range.width}
