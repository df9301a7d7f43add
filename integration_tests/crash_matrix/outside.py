"""What lives have in common that take from something outside of every process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from integration_tests.crash_matrix.cases import Case
from integration_tests.crash_matrix.ends import StateEnd
from integration_tests.crash_matrix.places import Addresses, Place
from integration_tests.crash_matrix.sites import TARGET, Script, Site
from trident.base.crash_points import CrashPoint
from trident.coordinators.options import RunOptions, Until
from trident.spouts.base import SpoutKind
from trident.state import StateKind


@dataclass(frozen=True, slots=True)
class OutsideLife:
    """One process that takes from a queue until it is empty, or dies on its way."""

    site: Site
    addresses: Addresses
    key: str
    dies_at: CrashPoint | None = None
    target: int = TARGET
    """The txid with which it dies; of a take-over none."""

    @property
    def place(self) -> Place:
        case = Case(self.site, Script.BATCH, CrashPoint.AFTER_DONE, SpoutKind.OPAQUE, StateKind.OPAQUE, 1, other=False)
        return Place(case, self.addresses, self.key)

    @property
    def ends(self) -> list[StateEnd]:
        return [end for end in self.place.ends() if isinstance(end, StateEnd)]

    @property
    def options(self) -> RunOptions:
        return RunOptions(
            until=Until.CAUGHT_UP,
            max_pending=1,
            lease=self.place.lease,
            idle_interval=timedelta(milliseconds=2),
            give_up_after=timedelta(seconds=10),
        )
