"""What a start of a reset means in offsets: whether it can be, and what it counts twice or skips; asked of Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from trident.base.errors import ConfigurationError
from trident.base.ranges import PartitionId
from trident.coordinators.planned import StartPosition
from trident.spouts.base import Spout, Start, StartAt
from trident.spouts.offsets import StartOffsets, TakesOffsets, no_offsets, takes_offsets


@dataclass(frozen=True, slots=True)
class Apart:
    """How far a start lies from where the rows have read, in offsets: records are at most as many."""

    stream: str
    id: PartitionId
    stood: int | None
    """None: nobody knows."""
    begins: int

    @property
    def twice(self) -> int:
        """How many are counted twice at most."""
        return 0 if self.stood is None else max(self.stood - self.begins, 0)

    @property
    def skipped(self) -> int:
        """How many are skipped at most."""
        return 0 if self.stood is None else max(self.begins - self.stood, 0)


def require_offsets(spouts: Mapping[str, Spout], offsets: StartOffsets) -> None:
    """Raise ConfigurationError unless every stream can begin there; RetryableError where its brokers don't answer."""
    for name, spout in spouts.items():
        if not takes_offsets(spout):
            raise no_offsets(name)
    reading = [spout for spout in spouts.values() if isinstance(spout, TakesOffsets)]
    others = [topic for topic in offsets.topics if not any(spout.reads(topic) for spout in reading)]
    if others:
        raise ConfigurationError(
            f"start: no stream of the topology reads {', '.join(map(repr, others))}; nothing was changed. Name offsets "
            "of topics that are read"
        )
    for name in spouts:
        _ask(name, spouts[name], (offsets,))


def lying_apart(spouts: Mapping[str, Spout], start: Start, stood: Sequence[StartPosition] | None) -> tuple[Apart, ...]:
    """Return how far a start lies from where the rows stand, of each partition of streams with offsets.

    A partition of which nothing was read stands where its log begins. Raises what its source does.
    """
    return tuple(
        item for name, spout in spouts.items() if takes_offsets(spout) for item in _of(name, spout, start, stood)
    )


def _of(name: str, spout: Spout, start: Start, stood: Sequence[StartPosition] | None) -> Iterator[Apart]:
    earliest, begun = _ask(name, spout, (StartAt.EARLIEST, start))
    known = None if stood is None else {item.id: item.start for item in stood if item.spout == name}
    for id_, begins in begun.items():
        yield Apart(name, id_, None if known is None else known.get(id_, earliest.get(id_, begins)), begins)


def _ask(name: str, spout: Spout, starts: Sequence[Start]) -> list[dict[PartitionId, int]]:
    with closing(spout.open(name)) as source:
        return [{item.id: item.earliest for item in source.starts(start)} for start in starts]
