"""Records as JSON text in the ledger's columns, so that an operator can read them with any SQL tool."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from trident.base.errors import FatalError
from trident.base.ranges import RangeManifest
from trident.coordinators.pinned import StatePin
from trident.coordinators.planned import Loss, Plan, ReceivedIds, SpoutRange
from trident.coordinators.registered import StartPosition, TopologySpec

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


RANGES: Codec[tuple[SpoutRange, ...]] = Codec(tuple[SpoutRange, ...], "the ranges of a plan")
LOSSES: Codec[tuple[Loss, ...]] = Codec(tuple[Loss, ...], "the losses of a plan")
TIMERS: Codec[tuple[str, ...]] = Codec(tuple[str, ...], "the timers of a plan")
RECEIVED: Codec[tuple[ReceivedIds, ...]] = Codec(tuple[ReceivedIds, ...], "what a plan has received")
PLAN: Codec[Plan] = Codec(Plan, "a pinned plan")
MANIFESTS: Codec[tuple[tuple[str, RangeManifest], ...]] = Codec(
    tuple[tuple[str, RangeManifest], ...], "the manifests of a pin"
)
STATES: Codec[tuple[StatePin, ...]] = Codec(tuple[StatePin, ...], "the states of a pin")
STARTS: Codec[tuple[StartPosition, ...]] = Codec(tuple[StartPosition, ...], "start positions")
SPEC: Codec[TopologySpec] = Codec(TopologySpec, "a topology's description")
