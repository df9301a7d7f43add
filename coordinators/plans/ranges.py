"""Which ranges an attempt reads: pure arithmetic over positions, bounds and limits.

For each spout and every partition ever seen the plan has a half-open range, empty when there is
nothing; `start(T+1) = stop(T) + recorded losses`, always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trident.base.advice import RESET
from trident.base.errors import FatalError
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.planned import Loss, SpoutRange
from trident.spouts.base import Limits, LostOffsets, SpoutKind


@dataclass(frozen=True, slots=True)
class SpoutView:
    """All that decides what one spout adds to a plan.

    `positions` are where the batch before ends, for every partition ever seen; `repeated` are the
    ranges of an earlier attempt at the same txid, which a transactional spout must hand out again, and
    an opaque one if `is_held` (a person decided about that attempt) and it still can; `record_bytes` is
    the average record size of the batches before.
    """

    name: str
    kind: SpoutKind
    limits: Limits
    on_lost: LostOffsets
    positions: Mapping[PartitionId, OffsetRange]
    bounds: Sequence[PartitionBounds]
    repeated: Sequence[OffsetRange] = ()
    record_bytes: float = 1024.0
    is_held: bool = False


def plan_ranges(view: SpoutView) -> tuple[tuple[SpoutRange, ...], tuple[Loss, ...]]:
    """Return the spout's ranges and losses; raises FatalError when a person has to decide first.

    A partition that is missing from `bounds` keeps its position with an empty range: a metadata
    answer may be incomplete, and what was seen once is never forgotten.
    """
    bounds = {bound.id: bound for bound in view.bounds}
    starts: dict[PartitionId, OffsetRange] = {}
    losses: list[Loss] = []
    for id_ in sorted({*view.positions, *bounds}):
        start, loss = _start(view, view.positions.get(id_), bounds.get(id_))
        starts[id_] = start
        if loss is not None:
            losses.append(loss)
    if view.kind is SpoutKind.TRANSACTIONAL and view.repeated:
        return _repeat(view, starts), ()
    if view.is_held and view.repeated and not losses and _can_repeat(view, starts, bounds):
        return _repeat(view, starts), ()
    available = {id_: _available(start, bounds.get(id_)) for id_, start in starts.items()}
    taken = share(_record_limit(view), available)
    ranges = tuple(
        SpoutRange(view.name, OffsetRange(id_, start.topic_id, start.start, start.start + taken[id_]))
        for id_, start in starts.items()
    )
    return ranges, tuple(losses)


def share(limit: int | None, available: Mapping[PartitionId, int]) -> dict[PartitionId, int]:
    """Share a limit over partitions evenly; what one can't use goes to the others.

    The result never exceeds what is available nor, in sum, the limit, and uses the limit up if it can.
    """
    if limit is None or sum(available.values()) <= limit:
        return dict(available)
    taken: dict[PartitionId, int] = {}
    left = limit
    smallest_first = sorted(available, key=lambda id_: (available[id_], id_))
    for number, id_ in enumerate(smallest_first):
        fair = -(-left // (len(smallest_first) - number))
        taken[id_] = min(available[id_], fair)
        left -= taken[id_]
    return taken


def _start(
    view: SpoutView, known: OffsetRange | None, bound: PartitionBounds | None
) -> tuple[OffsetRange, Loss | None]:
    """Return an empty range at the position to read from, and what had to be skipped to get there."""
    if bound is None:
        assert known is not None
        return OffsetRange(known.id, known.topic_id, known.stop, known.stop), None
    position = known.stop if known is not None else 0
    if known is not None and known.topic_id != bound.topic_id:
        raise FatalError(
            f"stream {view.name!r}: topic {bound.id.topic!r} was created anew (id {known.topic_id} is now "
            f"{bound.topic_id}). Nothing was read from the new one. To read it, {RESET}."
        )
    if bound.stop < position:
        raise FatalError(
            f"stream {view.name!r}: partition {bound.id.partition} of topic {bound.id.topic!r} ends at {bound.stop}, "
            f"before the position {position} that was already read: it was truncated or created anew. "
            f"Nothing more was read. Restore the topic, or {RESET}."
        )
    if bound.earliest <= position:
        return OffsetRange(bound.id, bound.topic_id, position, position), None
    return OffsetRange(bound.id, bound.topic_id, bound.earliest, bound.earliest), _loss(view, bound, position)


def _loss(view: SpoutView, bound: PartitionBounds, position: int) -> Loss:
    where = f"partition {bound.id.partition} of topic {bound.id.topic!r}"
    if view.kind is SpoutKind.TRANSACTIONAL or view.on_lost is LostOffsets.STOP:
        advice = (
            f"To go on, {RESET}."
            if view.kind is SpoutKind.TRANSACTIONAL
            else "Run with on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST to record the loss and go on."
        )
        raise FatalError(
            f"stream {view.name!r}: offsets {position} to {bound.earliest} of {where} are gone from the broker before "
            f"they were read. Nothing was skipped and nothing more was read. {advice}"
        )
    return Loss(view.name, bound.id, position, bound.earliest, "offsets were gone before they could be read")


def _can_repeat(
    view: SpoutView, starts: Mapping[PartitionId, OffsetRange], bounds: Mapping[PartitionId, PartitionBounds]
) -> bool:
    return all(
        item.id in bounds and bounds[item.id].stop >= item.stop and starts[item.id].start == item.start
        for item in view.repeated
    )


def _repeat(view: SpoutView, starts: Mapping[PartitionId, OffsetRange]) -> tuple[SpoutRange, ...]:
    """Hand the ranges of an earlier attempt out again.

    One of a partition that was found when that attempt was planned, and that neither the batch before nor today's
    metadata knows, begins at 0 as every partition does that is found later.
    """
    repeated = {item.id: item for item in view.repeated}
    starts = {item.id: OffsetRange(item.id, item.topic_id, 0, 0) for item in view.repeated} | dict(starts)
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


def _record_limit(view: SpoutView) -> int | None:
    limits = [view.limits.max_records] if view.limits.max_records is not None else []
    if view.limits.max_bytes is not None:
        limits.append(max(1, int(view.limits.max_bytes / max(view.record_bytes, 1.0))))
    return min(limits, default=None)
