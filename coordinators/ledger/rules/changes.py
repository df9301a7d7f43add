"""Plans as they are stored: a plan names every partition ever seen, its row only those that it changes.

All others stand, empty, where the plan before stops. So what is kept of a txid grows with what it read, not with
the partitions that there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trident.base.ranges import PartitionId
from trident.coordinators.ledger.rules.progress import StoredPlan
from trident.coordinators.planned import Plan, SpoutRange


def changed_ranges(plan: Plan, before: Plan | None) -> tuple[SpoutRange, ...]:
    """Return the ranges that are not simply where the plan before stops; all of an incarnation's first plan."""
    if before is None:
        return plan.ranges
    standing = set(map(_standing, before.ranges))
    return tuple(item for item in plan.ranges if item not in standing)


def in_full(stored: StoredPlan, before: Plan | None) -> StoredPlan:
    """Return a stored plan with every partition; `before` is the plan that it follows on, None of the first."""
    if stored.is_whole:
        return stored
    ranges = {_key(item): _standing(item) for item in before.ranges} if before is not None else {}
    ranges.update((_key(item), item) for item in stored.plan.ranges)
    whole = replace(stored.plan, ranges=tuple(item for _, item in sorted(ranges.items())))
    return replace(stored, plan=whole, is_whole=True)


def chained(stored: Iterable[StoredPlan]) -> tuple[StoredPlan, ...]:
    """Return plans that follow on each other with every partition."""
    chain: list[StoredPlan] = []
    for each in stored:
        chain.append(in_full(each, chain[-1].plan if chain else None))
    return tuple(chain)


def is_stored_as(stored: StoredPlan, plan: Plan) -> bool:
    """Tell whether a plan is the stored one: what its row leaves out has to be empty."""
    if stored.is_whole:
        return stored.plan == plan
    named = {_key(item) for item in stored.plan.ranges}
    left_out = [item for item in plan.ranges if _key(item) not in named]
    ranges = tuple(item for item in plan.ranges if _key(item) in named)
    return stored.plan == replace(plan, ranges=ranges) and not any(item.range.width for item in left_out)


def _standing(item: SpoutRange) -> SpoutRange:
    return SpoutRange(item.spout, replace(item.range, start=item.range.stop))


def _key(item: SpoutRange) -> tuple[str, PartitionId]:
    return item.spout, item.range.id
