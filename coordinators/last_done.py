"""What a ledger still has of the last txid that is done: all that it takes to make it the pinned one again."""

from __future__ import annotations

from dataclasses import dataclass

from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Birth, Dropped


@dataclass(frozen=True, slots=True)
class LastDone:
    """The last txid that is done, as it is stored."""

    pin: Pin
    before: Plan | None
    """The plan that it follows on, of which the ranges that it changed suffice; None where there is none any more."""
    births: tuple[Birth, ...] = ()
    taken_out: tuple[Dropped, ...] = ()
    """States and sinks of this incarnation that are in the topology no more."""
    diverted: tuple[str, ...] = ()
    """States of which rows were diverted, whether these are still kept or not."""
    dead_letters: int = 0
    """How many it had when it was done, whether they are still kept or not."""
