"""Where streams of Kafka begin, partition by partition: offsets that a person names, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.base.ranges import PartitionBounds, PartitionId

OFFSETS = "a mapping of topics to mappings of partitions to offsets, say {'payments': {0: 1200, 1: 900}}"
"""What a person may give."""


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """The offset of the first record to read of each partition; its text is `payments:0=1200,payments:1=900`."""

    offsets: tuple[tuple[PartitionId, int], ...]

    @classmethod
    def of(cls, given: Mapping[str, Mapping[int, int]]) -> Self:
        """Return those of a mapping; raises ConfigurationError for anything else, and for an empty one."""
        return cls(tuple(sorted(_flat(given))))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return those of a text; raises ValueError for any other text, and for a partition that is there twice."""
        found: dict[PartitionId, int] = {}
        for word in text.split(","):
            place, _, offset = word.strip().partition("=")
            topic, colon, partition = place.rpartition(":")
            if not (topic and colon and _is_number(partition) and _is_number(offset)):
                raise ValueError(f"{word!r} is not topic:partition=offset")
            id_ = PartitionId(topic, int(partition))
            if id_ in found:
                raise ValueError(f"{topic}:{partition} is there twice")
            found[id_] = int(offset)
        return cls(tuple(sorted(found.items())))

    def __str__(self) -> str:
        return ",".join(f"{id_.topic}:{id_.partition}={offset}" for id_, offset in self.offsets)

    @property
    def topics(self) -> tuple[str, ...]:
        """Their topics."""
        return tuple(sorted({id_.topic for id_, _ in self.offsets}))

    def begun(self, stream: str, held: Sequence[PartitionBounds]) -> tuple[PartitionBounds, ...]:
        """Return the partitions of a stream with `earliest` where each begins; topics of others do not matter.

        Raises ConfigurationError, with all that is wrong, for a partition that is not there or not named, and for an
        offset below the log's start or above its end.
        """
        named, known = dict(self.offsets), {item.id: item for item in held}
        topics = {id_.topic for id_ in known}
        wrong = [f"{_place(id_)} is not there" for id_ in named if id_.topic in topics and id_ not in known]
        for id_, item in known.items():
            log = f"its log holds {item.earliest} to {item.stop}"
            if id_ not in named:
                wrong.append(f"{_place(id_)} has no offset ({log})")
            elif named[id_] < item.earliest:
                wrong.append(f"{_place(id_)}: offset {named[id_]} is below the log's start ({log})")
            elif named[id_] > item.stop:
                wrong.append(f"{_place(id_)}: offset {named[id_]} is above the log's end ({log})")
        if wrong:
            raise ConfigurationError(
                f"stream {stream!r} can't begin at the offsets that were named: {'; '.join(sorted(wrong))}. Nothing "
                "was read. Name an offset within its log for each partition"
            )
        return tuple(replace(item, earliest=named[item.id]) for item in held)


@runtime_checkable
class TakesOffsets(Protocol):
    """A spout whose streams can begin at offsets that are named for each partition."""

    @property
    def takes_offsets(self) -> bool:
        """Whether they can."""

    def reads(self, topic: str) -> bool:
        """Tell whether a topic of this name is one of those that are read."""


def takes_offsets(spout: object) -> bool:
    """Tell whether a stream can begin at offsets of Kafka."""
    return isinstance(spout, TakesOffsets) and spout.takes_offsets


def no_offsets(stream: str) -> ConfigurationError:
    """Return what is raised for a stream that has no partitions of Kafka to begin at."""
    return ConfigurationError(
        f"start: stream {stream!r} has no offsets of Kafka to begin at. Nothing was read or changed; name another start"
    )


def _flat(given: object) -> Iterator[tuple[PartitionId, int]]:
    if not isinstance(given, Mapping) or not given:
        raise refused("start", OFFSETS, given)
    for topic, partitions in given.items():
        if not isinstance(topic, str) or not topic or not isinstance(partitions, Mapping) or not partitions:
            raise refused("start", OFFSETS, given)
        for partition, offset in partitions.items():
            if not _is_whole(partition) or not _is_whole(offset):
                raise refused("start", OFFSETS, given)
            yield PartitionId(topic, partition), offset


def _is_whole(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _place(id_: PartitionId) -> str:
    return f"{id_.topic}[{id_.partition}]"
