"""How much one plan takes, and of which partitions: pure arithmetic."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from trident.base.ranges import PartitionId
from trident.spouts.base import Limits

_LARGEST_RECORD: Final = 1 << 20
"""What a record is taken for while nothing is known: the largest that brokers and producers take by default."""
_SMALL_RECORD: Final = 1 << 10
"""What one is taken for behind positions that held none: a gap is left in large steps, and something follows it."""
_GROWTH: Final = 4
"""How much more than what was measured so far one plan may take under a limit in bytes."""


def record_limit(limits: Limits, record_bytes: float | None, measured: int) -> int | None:
    """Return how many records a plan may take, None for all.

    `record_bytes` is their average size as far as it is known, `measured` how many positions have been read since the
    start. An average of few says little of the next thousands, so nothing grows faster than what was measured.
    """
    most = [max(1, limits.max_records)] if limits.max_records is not None else []
    if limits.max_bytes is not None:
        average = _SMALL_RECORD if record_bytes is None else max(record_bytes, 1.0)
        most.append(max(1, limits.max_bytes // _LARGEST_RECORD, _GROWTH * measured))
        most.append(max(1, int(limits.max_bytes / average)))
    return min(most, default=None)


def share(limit: int | None, available: Mapping[PartitionId, int], turn: int) -> dict[PartitionId, int]:
    """Share a limit over partitions evenly; what one can't use goes to the others, what can't be halved goes round.

    The result never exceeds what is available nor, in sum, the limit, and uses the limit up if it can. Who has
    something gets something at least once in as many turns as there are partitions.
    """
    if limit is None or sum(available.values()) <= limit:
        return dict(available)
    taken: dict[PartitionId, int] = {}
    left = limit
    smallest_first = sorted(available, key=lambda id_: (available[id_], id_))
    for number, id_ in enumerate(smallest_first):
        cut = smallest_first[number:]
        fair, rest = divmod(left, len(cut))
        if available[id_] > fair:
            favoured = _in_turn(cut, sorted(available), turn)[:rest]
            return taken | dict.fromkeys(cut, fair) | dict.fromkeys(favoured, fair + 1)
        taken[id_] = available[id_]
        left -= taken[id_]
    return taken


def _in_turn(cut: Sequence[PartitionId], everyone: Sequence[PartitionId], turn: int) -> list[PartitionId]:
    """Return them in this turn's order: first whose turn it is among all, the others drawn by the turn.

    A round of all alone would favour who comes behind many that have nothing; a draw alone would promise nothing.
    """
    order = sorted(cut)
    random.Random(turn).shuffle(order)  # noqa: S311 - it only has to be fair
    return sorted(order, key=lambda id_: id_ != everyone[turn % len(everyone)])
