"""How one plan follows another: every partition starts where it stopped, plus what was lost and recorded.

Messages that have ids are named by them, one for each position: a position says nothing of which message it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trident.base.errors import MismatchError
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.planned import Loss, Plan, StartPosition

Partition = tuple[str, PartitionId]
"""A spout's name and one of its partitions."""


def check_follows(plan: Plan, before: Plan | None, starts: Sequence[StartPosition] | None) -> None:
    """Raise MismatchError unless each partition ever seen is there and starts where the plan before stopped.

    A partition that the plan before does not have starts where its incarnation says, or else at 0;
    losses of the plan lead from there to its start without a gap. `starts` may be left out when the
    plan before has every partition (see `has_new_partitions`).
    """
    _check_received(plan, before)
    ranges = _by_partition(plan)
    expected = _expected(plan, before, starts)
    missing = expected.keys() - ranges.keys()
    if missing:
        raise _refused(plan, f"leaves out {_named(min(missing))}, which was seen before")
    losses = _by_loss(plan)
    astray = losses.keys() - ranges.keys()
    if astray:
        raise _refused(plan, f"records a loss of {_named(min(astray))}, which it has no range of")
    for partition, range_ in ranges.items():
        topic_id, position = expected.get(partition, (range_.topic_id, 0))
        if range_.topic_id != topic_id:
            raise _refused(plan, f"reads {_named(partition)} of topic id {range_.topic_id}; it was {topic_id} before")
        reached = _after_losses(plan, partition, position, losses.get(partition, ()))
        if range_.start != reached:
            raise _refused(plan, f"starts {_named(partition)} at {range_.start} instead of {reached}")


def has_new_partitions(plan: Plan, before: Plan | None) -> bool:
    """Tell whether a partition's start is the incarnation's to say."""
    if before is None:
        return True
    known = {(item.spout, item.range.id) for item in before.ranges}
    return any((item.spout, item.range.id) not in known for item in plan.ranges)


def _check_received(plan: Plan, before: Plan | None) -> None:
    """Refuse ids that are not those of the plan's positions, an id that comes again, and a timer twice."""
    if len(set(plan.timers)) != len(plan.timers):
        raise _refused(plan, "names a timer twice")
    known = {item.spout: frozenset(item.ids) for item in before.received} if before else {}
    widths = Counter[str]()
    for each in plan.ranges:
        widths[each.spout] += each.range.width
    named = [item.spout for item in plan.received]
    for item in plan.received:
        if named.count(item.spout) > 1:
            raise _refused(plan, f"has ids of stream {item.spout!r} beside other ids of it")
        if len(item.ids) != widths[item.spout]:
            raise _refused(
                plan, f"has {len(item.ids)} ids of stream {item.spout!r} for {widths[item.spout]} positions of it"
            )
        if len(set(item.ids)) != len(item.ids) or known.get(item.spout, frozenset()) & set(item.ids):
            raise _refused(plan, f"has an id of stream {item.spout!r} that it, or the plan before, has already")
        if item.digest.count != len(item.ids):
            raise _refused(
                plan, f"has {len(item.ids)} ids of stream {item.spout!r} and a digest of {item.digest.count}"
            )
    for spout in known.keys() - set(named):
        if widths[spout]:
            raise _refused(plan, f"reads messages of stream {spout!r} without their ids")


def _by_partition(plan: Plan) -> dict[Partition, OffsetRange]:
    ranges: dict[Partition, OffsetRange] = {}
    for item in plan.ranges:
        partition = (item.spout, item.range.id)
        if partition in ranges:
            raise _refused(plan, f"has {_named(partition)} twice")
        if item.range.stop < item.range.start or item.range.start < 0:
            raise _refused(plan, f"has no valid range of {_named(partition)}")
        ranges[partition] = item.range
    return ranges


def _expected(
    plan: Plan, before: Plan | None, starts: Sequence[StartPosition] | None
) -> Mapping[Partition, tuple[str, int]]:
    """Return topic id and position of every partition that is known before the plan."""
    if before is None and starts is None:
        raise _refused(plan, "comes before the start positions of its incarnation are stored")
    known = {(item.spout, item.id): (item.topic_id, item.start) for item in starts or ()}
    if before is None:
        return known
    seen = {(item.spout, item.range.id) for item in plan.ranges}
    positions = {partition: where for partition, where in known.items() if partition in seen}
    positions.update({(item.spout, item.range.id): (item.range.topic_id, item.range.stop) for item in before.ranges})
    return positions


def _by_loss(plan: Plan) -> dict[Partition, list[Loss]]:
    losses: dict[Partition, list[Loss]] = {}
    for loss in sorted(plan.losses, key=lambda loss: loss.start):
        losses.setdefault((loss.spout, loss.id), []).append(loss)
    return losses


def _after_losses(plan: Plan, partition: Partition, position: int, losses: Sequence[Loss]) -> int:
    for loss in losses:
        if loss.start != position or loss.stop <= loss.start:
            raise _refused(
                plan, f"records a loss of {_named(partition)} from {loss.start} to {loss.stop}, but it is at {position}"
            )
        position = loss.stop
    return position


def _named(partition: Partition) -> str:
    spout, id_ = partition
    return f"partition {id_.partition} of topic {id_.topic!r} of stream {spout!r}"


def _refused(plan: Plan, problem: str) -> MismatchError:
    return MismatchError(f"the plan of txid {plan.txid} attempt {plan.attempt} {problem}. Nothing was written.")
