"""Which ranges an attempt reads: pure arithmetic over positions, bounds and limits.

For each spout and every partition ever seen the plan has a half-open range, empty when there is
nothing; `start(T+1) = stop(T) + recorded losses`, always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from trident.base.advice import RESET, RESET_ANEW, RESET_CLEARING, RESET_FROM_A_MOMENT
from trident.base.errors import FatalError, about
from trident.base.logs import LogCut
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.planned import Loss, SpoutRange
from trident.coordinators.plans.sharing import record_limit, share
from trident.spouts.base import Limits, LostOffsets, SpoutKind, TopicsMissingError

_AFTER_A_CUT: Final = (
    f"Restore the topic; or {RESET_CLEARING}: all that the topic holds now is counted anew; or {RESET_FROM_A_MOMENT}: "
    "with that of the cut, what has come since is counted, once."
)


_RESUME: Final = "Run with on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST"
_RECEIVED_AND_GONE: Final = (
    "they were received by a process that ended before they were applied; what their source gives again counts as new"
)
_RESUME_IN_CLASS: Final = "Run with on_lost_offsets = LostOffsets.RESUME_AT_EARLIEST in the spout's class"


@dataclass(frozen=True, slots=True)
class SpoutView:
    """All that decides what one spout adds to a plan.

    `positions` are where the batch before ends, for every partition ever seen; `repeated` are the
    ranges of an earlier attempt at the same txid, which a transactional spout must hand out again, and
    an opaque one if `is_held` (a person decided about that attempt) and all of them still can: then it reads
    nothing else. Partitions that it does not name had nothing, None is for a txid that is new.
    """

    name: str
    kind: SpoutKind
    limits: Limits
    on_lost: LostOffsets
    positions: Mapping[PartitionId, OffsetRange]
    bounds: Sequence[PartitionBounds]
    repeated: Sequence[OffsetRange] | None = None
    record_bytes: float | None = None
    """The average record size of the batches before, None when no record was read since the start."""
    measured: int = 0
    """How many positions have been read since the start."""
    is_held: bool = False
    cuts: Sequence[LogCut] = ()
    """What of `positions` and `repeated` the logs do not hold any more."""
    ends: Mapping[PartitionId, int] = field(default_factory=dict)
    """Where the logs end of which a committed-only read may have less than was read before."""
    turn: int = 0
    """The plan's number: whose turn it is when not every partition gets something."""
    has_moments: bool = True
    """Whether the stream can start at a moment."""
    is_received: bool = False
    """Whether the records live in the coordinator's process: what another one had received is gone."""
    is_named: bool = False
    """Whether records are known by ids: what stands at a position in a later process may be another message."""

    @property
    def waiting(self) -> tuple[PartitionBounds, ...]:
        """The partitions that wait; see `waits`."""
        return tuple(bound for bound in self.bounds if self.waits(bound))

    def waits(self, bound: PartitionBounds) -> bool:
        """Tell whether the log is there as far as it was read, and an open transaction keeps this read from there."""
        known = self.positions.get(bound.id)
        return known is not None and bound.stop < known.stop <= self.ends.get(bound.id, bound.stop)


def plan_ranges(*views: SpoutView) -> tuple[tuple[SpoutRange, ...], tuple[Loss, ...]]:
    """Return the ranges and losses of all the spouts of a plan; raises FatalError when a person has to decide first.

    What a person decided about is one attempt of all spouts: it is handed out again whole, or each opaque spout reads
    what there is now. A partition that is missing from `bounds` keeps its position with an empty range: a metadata
    answer may be incomplete, and what was seen once is never forgotten.
    """
    can_repeat = all(_can_repeat(view) for view in views if view.is_held)
    planned = []
    for view in views:
        with about(f"stream {view.name!r}"):
            planned.append(_plan_spout(replace(view, is_held=view.is_held and can_repeat)))
    ranges = tuple(item for ranges, _ in planned for item in ranges)
    return ranges, tuple(loss for _, losses in planned for loss in losses)


def deleted(
    stream: str, missing: TopicsMissingError, positions: Mapping[PartitionId, OffsetRange]
) -> FatalError | None:
    """Return what is said of topics that are not there although positions in them are known; None of others.

    One that is made again under the name is another topic, so "create it" alone would lead to a start that is refused.
    """
    known = {id_.topic for id_ in positions}
    gone = ", ".join(repr(topic) for topic in missing.topics if topic in known)
    if not gone:
        return None
    return FatalError(
        f"stream {stream!r}: topic {gone}, which this topology has positions in, is not at {missing.server}: it was "
        "deleted, or this is another server. What is done stays. Nothing was read, and no position was changed. "
        "Correct the server's address; or, since a topic that is created again under this name is another one, create "
        f"it and {RESET_ANEW}."
    )


def _plan_spout(view: SpoutView) -> tuple[tuple[SpoutRange, ...], tuple[Loss, ...]]:
    _refuse_cuts(view)
    bounds = {bound.id: bound for bound in view.bounds}
    starts: dict[PartitionId, OffsetRange] = {}
    losses: list[Loss] = []
    for id_ in sorted({*view.positions, *bounds}):
        start, loss = _start(view, view.positions.get(id_), bounds.get(id_))
        starts[id_] = start
        if loss is not None:
            losses.append(loss)
    if view.kind is SpoutKind.TRANSACTIONAL and view.repeated is not None:
        return _repeat(view, starts), ()
    if view.is_held and view.repeated is not None:
        return _repeat(view, starts), tuple(losses)
    available = {id_: _available(start, bounds.get(id_)) for id_, start in starts.items()}
    most = None if view.is_received else view.limits.max_records_per_partition
    if most is not None:
        available = {id_: min(count, most) for id_, count in available.items()}
    # what lives in this process waits in no plan: whoever ends it would lose it without a word
    limit = None if view.is_received else record_limit(view.limits, view.record_bytes, view.measured)
    taken = share(limit, available, view.turn)
    ranges = tuple(
        SpoutRange(view.name, replace(start, stop=start.start + taken[id_])) for id_, start in starts.items()
    )
    return ranges, tuple(losses)


def _start(
    view: SpoutView, known: OffsetRange | None, bound: PartitionBounds | None
) -> tuple[OffsetRange, Loss | None]:
    """Return an empty range at the position to read from, and what had to be skipped to get there."""
    if bound is None:
        assert known is not None
        return replace(known, start=known.stop), None
    position = _position(view, bound.id, bound)
    if known is not None and known.topic_id != bound.topic_id:
        raise FatalError(
            f"stream {view.name!r}: topic {bound.id.topic!r} was created anew (id {known.topic_id} is now "
            f"{bound.topic_id}). Nothing was read from the new one. To read it, {_anew(view)}."
        )
    if known is not None and view.waits(bound):
        return replace(known, start=known.stop), None  # with its proof: of that offset nothing was learned
    if bound.stop < position:
        raise FatalError(
            f"stream {view.name!r}: {_where(view, bound)} ends at {bound.stop}, "
            f"before the position {position} that was already read: it was truncated or created anew. "
            f"Nothing more was read. {_AFTER_A_CUT if view.has_moments else f'To go on, {RESET_CLEARING}.'}"
        )
    if bound.earliest <= position:
        return _empty(bound, position), None
    return _empty(bound, bound.earliest), _loss(view, bound, position)


def _position(view: SpoutView, id_: PartitionId, bound: PartitionBounds | None) -> int:
    """Return where to read from: where the batch before ends, and of a partition that is found later at 0.

    Bare positions count from wherever they begin, which of an attempt that is tried again stays where it was; those of
    received records begin at 0, so that what a process had planned of a new partition before it ended is known as lost.
    """
    known = view.positions.get(id_)
    if known is not None:
        return known.stop
    if view.has_moments or view.is_received:
        return 0
    before = next((item.start for item in view.repeated or () if item.id == id_), None)
    if before is not None:
        return before
    assert bound is not None, "nobody else has named this partition"
    return bound.earliest


def _empty(bound: PartitionBounds, position: int) -> OffsetRange:
    return OffsetRange(bound.id, bound.topic_id, position, position, bound.epoch)


def _refuse_cuts(view: SpoutView) -> None:
    """Stop at logs that are not the ones that were read: what took the place of records would never be counted."""
    by_stop = sorted(view.cuts, key=lambda cut: -cut.range.stop)
    read = {cut.range.id: cut for cut in by_stop if _is_position(view, cut)}
    if read:
        found = "; ".join(_shown(cut, "was read") for cut in read.values())
        raise FatalError(
            f"stream {view.name!r}: {found}. What was counted stays. Records that have come since, below those "
            "offsets, were never counted; those that were counted from there on are gone from the topic. Nothing more "
            f"was read. {_AFTER_A_CUT}"
        )
    if view.cuts and view.kind is SpoutKind.TRANSACTIONAL:
        found = "; ".join(_shown(cut, "was planned to be read") for cut in view.cuts)
        raise FatalError(
            f"stream {view.name!r}: {found}. All before that batch is done, nothing of it was applied: one that can't "
            f"be read again as it was is never replaced by another one. To go on, {RESET}."
        )


def _is_position(view: SpoutView, cut: LogCut) -> bool:
    known = view.positions.get(cut.range.id)
    return known is not None and cut.end < known.stop


def _shown(cut: LogCut, was: str) -> str:
    range_ = cut.range
    return (
        f"partition {range_.id.partition} of topic {range_.id.topic!r} {was} up to offset {range_.stop}, but its log "
        f"was cut at {cut.end} since (a leader without the rest was elected, or lost its disk) and is another one from "
        "there on"
    )


def _loss(view: SpoutView, bound: PartitionBounds, position: int) -> Loss:
    if view.is_received:
        return _loss_of_received(view, bound, position)
    where, of_source = _where(view, bound), "the broker" if view.has_moments else "its source"
    if view.kind is SpoutKind.TRANSACTIONAL or view.on_lost is LostOffsets.STOP:
        advice = (
            f"To go on, {_anew(view)}."
            if view.kind is SpoutKind.TRANSACTIONAL
            else f"{_RESUME if view.has_moments else _RESUME_IN_CLASS} to record the loss and go on."
        )
        raise FatalError(
            f"stream {view.name!r}: offsets {position} to {bound.earliest} of {where} are gone from {of_source} before "
            f"they were read. Nothing was skipped and nothing more was read. {advice}"
        )
    return Loss(view.name, bound.id, position, bound.earliest, "offsets were gone before they could be read")


def _loss_of_received(view: SpoutView, bound: PartitionBounds, position: int) -> Loss:
    if view.on_lost is LostOffsets.STOP:
        raise FatalError(
            f"stream {view.name!r}: {bound.earliest - position} rows of {_where(view, bound)} were received by a "
            "process that ended before they were applied. They are in no result, and can't be read again. "
            f"Nothing more was received. {_RESUME_IN_CLASS} to record the loss and go on; a source that gives them "
            "again has them counted then."
        )
    return Loss(view.name, bound.id, position, bound.earliest, _RECEIVED_AND_GONE)


def _where(view: SpoutView, bound: PartitionBounds) -> str:
    """A stream of bare positions has no topic: its partitions go by the stream's name."""
    named = f"partition {bound.id.partition}"
    return named if bound.id.topic == view.name else f"{named} of topic {bound.id.topic!r}"


def _anew(view: SpoutView) -> str:
    return RESET_ANEW if view.has_moments else RESET_CLEARING


def _can_repeat(view: SpoutView) -> bool:
    """Tell whether the log has the records; a partition that a metadata answer leaves out is taken to have them.

    A transactional spout hands them out again or stops. A person decides when the process that had received them has
    ended, so those are gone, whatever stands at their positions.
    """
    if view.kind is SpoutKind.TRANSACTIONAL:
        return True
    if (view.is_received or view.is_named) and any(item.width for item in view.repeated or ()):
        return False
    bounds = {bound.id: bound for bound in view.bounds}
    return not view.cuts and all(
        _is_next(view, item, bounds.get(item.id)) for item in view.repeated or () if item.width
    )


def _is_next(view: SpoutView, range_: OffsetRange, bound: PartitionBounds | None) -> bool:
    position = _position(view, range_.id, bound)
    if bound is None:
        return range_.start == position
    is_there = range_.topic_id == bound.topic_id and range_.stop <= bound.stop
    return is_there and range_.start == max(position, bound.earliest)


def _repeat(view: SpoutView, starts: Mapping[PartitionId, OffsetRange]) -> tuple[SpoutRange, ...]:
    """Hand the ranges of an earlier attempt out again.

    One of a partition that was found when that attempt was planned, and that neither the batch before nor today's
    metadata knows, begins where every partition does that is found later.
    """
    repeated = {item.id: item for item in view.repeated or () if item.width}
    for item in repeated.values():
        first = _position(view, item.id, None)
        starts = {item.id: OffsetRange(item.id, item.topic_id, first, first)} | dict(starts)
    for item in repeated.values():
        start = starts[item.id]
        if item.start != start.start or item.topic_id != start.topic_id:
            raise FatalError(
                f"stream {view.name!r}: partition {item.id.partition} of topic {item.id.topic!r} can't be read again "
                f"from {item.start}; the batch before ends at {start.start}. Nothing was applied. "
                f"To go on, {RESET}."
            )
    return tuple(SpoutRange(view.name, repeated.get(id_, starts[id_])) for id_ in sorted(starts))


def _available(start: OffsetRange, bound: PartitionBounds | None) -> int:
    return 0 if bound is None else max(0, bound.stop - start.start)
