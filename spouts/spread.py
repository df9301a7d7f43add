"""How ranges are dealt to tasks."""

from __future__ import annotations

from collections.abc import Sequence

from trident.base.ranges import Edge


def spread(edges: Sequence[Edge], tasks: int) -> tuple[tuple[Edge, ...], ...]:
    """Deal ranges to at most `tasks` tasks, the widest first, each to the task with the least so far.

    At least one group comes back, an empty one where there is nothing to read.
    """
    groups: list[list[Edge]] = [[] for _ in range(max(1, min(tasks, len(edges))))]
    widths = [0] * len(groups)
    for edge in sorted(edges, key=lambda item: (-item.range.width, item.range.id)):
        least = widths.index(min(widths))
        groups[least].append(edge)
        widths[least] += edge.range.width
    return tuple(tuple(group) for group in groups)
