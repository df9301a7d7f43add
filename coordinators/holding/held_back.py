"""What a run that has caught up leaves unread, because somebody's transaction is open before it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from trident.base.errors import TridentError
from trident.base.ranges import PartitionId
from trident.spouts.base import Source

_log = logging.getLogger("trident.coordinator")


def say_what_is_held_back(sources: Mapping[str, Source]) -> None:
    """Log what each stream has beyond the end of what can be read now; nothing where that can't be asked."""
    for name, source in sources.items():
        try:
            found = held_back(source)
        except TridentError as error:
            _log.debug("stream %r: what is held back is not known: %s", name, error)
            continue
        if found:
            _log.warning(
                "stream %r has caught up with what can be read: %d offsets more lie behind transactions that are still "
                "open (%s), and are read once these end; trident doctor shows whose they are",
                name,
                sum(found.values()),
                ", ".join(f"{id_.topic}[{id_.partition}]" for id_ in sorted(found)),
            )


def held_back(source: Source) -> dict[PartitionId, int]:
    """Return how many offsets of each partition can't be read yet; what comes meanwhile does not count."""
    ends = source.ends([bounds.id for bounds in source.bounds()])
    readable = {bounds.id: bounds.stop for bounds in source.bounds()}
    return {id_: end - readable[id_] for id_, end in ends.items() if id_ in readable and end > readable[id_]}
