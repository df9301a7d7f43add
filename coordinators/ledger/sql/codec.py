"""Records as JSON text in the ledger's columns, so that an operator can read them with any SQL tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from trident.base.errors import FatalError
from trident.base.latency import CompleteLatency
from trident.base.ranges import OffsetRange, PartitionId, RangeManifest
from trident.coordinators.pinned import StatePin
from trident.coordinators.planned import Loss, Plan, ReceivedIds, SpoutRange, StartPosition
from trident.coordinators.registered import Birth, TopologySpec

T = TypeVar("T")


class Codec(Generic[T]):
    """One kind of record to text and back; may be used from several threads."""

    def __init__(self, kind: type[T], named: str) -> None:
        self._named = named
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(kind)

    def encode(self, value: T) -> str:
        """Return the record as JSON."""
        return self._encoder.encode(value).decode()

    def decode(self, text: str) -> T:
        """Return the record; a text that `encode` did not make raises FatalError: the ledger is damaged."""
        try:
            return self._decoder.decode(text)
        except msgspec.DecodeError as error:
            raise FatalError(
                f"the ledger is damaged: {self._named} can't be read. Nothing was written; restore the ledger from a "
                "backup together with the states beside it."
            ) from error


Packed = tuple[str, str, str, int | None, tuple[tuple[int, int, int], ...]]
"""Spout, topic, its id, leader epoch, and (partition, start, stop) of each range: what is the same is written once."""


class _Changed(msgspec.Struct):
    """How ranges are written since version 4; before, they were a list of all."""

    changed: tuple[Packed, ...]


class RangesCodec:
    """Ranges of a plan to text and back; may be used from several threads."""

    def __init__(self) -> None:
        self._packed = Codec(_Changed, "the ranges of a plan")
        self._listed = Codec(tuple[SpoutRange, ...], "the ranges of a plan")

    def encode(self, ranges: Sequence[SpoutRange]) -> str:
        """Return the ranges as JSON, in few bytes."""
        groups: dict[tuple[str, str, str, int | None], list[tuple[int, int, int]]] = {}
        for item in ranges:
            range_ = item.range
            key = (item.spout, range_.id.topic, range_.topic_id, range_.epoch)
            groups.setdefault(key, []).append((range_.id.partition, range_.start, range_.stop))
        return self._packed.encode(_Changed(tuple((*key, tuple(parts)) for key, parts in groups.items())))

    def decode(self, text: str) -> tuple[SpoutRange, ...]:
        """Return the ranges by spout and partition, whichever version wrote them."""
        if self.is_of_all(text):
            return self._listed.decode(text)
        found = [
            SpoutRange(spout, OffsetRange(PartitionId(topic, partition), topic_id, start, stop, epoch))
            for spout, topic, topic_id, epoch, parts in self._packed.decode(text).changed
            for partition, start, stop in parts
        ]
        return tuple(sorted(found, key=lambda item: (item.spout, item.range.id)))

    def is_of_all(self, text: str) -> bool:
        """Tell whether a plan's text names every partition: that of an older version does."""
        return text.startswith("[")


RANGES = RangesCodec()
LOSSES: Codec[tuple[Loss, ...]] = Codec(tuple[Loss, ...], "the losses of a plan")
LATENCIES: Codec[tuple[CompleteLatency, ...]] = Codec(tuple[CompleteLatency, ...], "the latencies of a heartbeat")
TIMERS: Codec[tuple[str, ...]] = Codec(tuple[str, ...], "the timers of a plan")
DIVERTS: Codec[tuple[str, ...]] = Codec(tuple[str, ...], "the diverted states of a plan")
RECEIVED: Codec[tuple[ReceivedIds, ...]] = Codec(tuple[ReceivedIds, ...], "what a plan has received")
PLAN: Codec[Plan] = Codec(Plan, "a pinned plan")
PLAN_OF_THE_ATTEMPT = "{}"
"""Says that a pin's plan is the row of its attempt, which never changes; before version 4 it was written out."""
MANIFESTS: Codec[tuple[tuple[str, RangeManifest], ...]] = Codec(
    tuple[tuple[str, RangeManifest], ...], "the manifests of a pin"
)
STATES: Codec[tuple[StatePin, ...]] = Codec(tuple[StatePin, ...], "the states of a pin")
STARTS: Codec[tuple[StartPosition, ...]] = Codec(tuple[StartPosition, ...], "start positions")
BIRTHS: Codec[tuple[Birth, ...]] = Codec(tuple[Birth, ...], "the births of states")
STREAMS: Codec[tuple[str, ...]] = Codec(tuple[str, ...], "the streams of a reset")
SPEC: Codec[TopologySpec] = Codec(TopologySpec, "a topology's description")
