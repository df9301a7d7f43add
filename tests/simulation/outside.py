"""What a stream has outside of every process and in each of them, and what the monitor asks of the account of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from tests.simulation.accounts import LedgerAccount
from trident.base.identity import Epoch
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.planned import Plan

Places = Mapping[tuple[int, int], int]
"""By partition and position the number of the row there."""


class Here(Protocol):
    """The source of one process, with what is in that one's memory."""

    def lose(self) -> None:
        """Go with the process."""

    def close(self) -> None:
        """Hear that the run ends."""


class OutsideAccount(ABC):
    """What the monitor writes down of such a stream, of which a world has one at most."""

    @property
    @abstractmethod
    def partitions(self) -> frozenset[int]:
        """Return which partitions are the stream's: what stands there is what it has put there."""

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Return whether nothing more will be given, unless a process that has taken something goes."""

    @abstractmethod
    def took_over(self, epoch: Epoch, source: Here) -> None:
        """Hear whose source an epoch's is."""

    @abstractmethod
    def planned(self, account: LedgerAccount, plan: Plan, epoch: Epoch | None) -> LedgerAccount:
        """Look at a plan that is new in the ledger."""

    @abstractmethod
    def finished(self, account: LedgerAccount, plan: Plan) -> Places:
        """Look at a plan that is done; returns what stands where."""

    @abstractmethod
    def kept(self, account: LedgerAccount, old: Entry) -> Places:
        """Return what a new life knows of what stood in the old one."""

    @abstractmethod
    def stops(self, account: LedgerAccount) -> dict[int, int]:
        """Return up to where what was given has to be accounted for, by partition."""

    @abstractmethod
    def check_stopped(self, source: Here, entry: Entry | None, rows: Places) -> None:
        """Look at a source whose run has ended without an error."""

    @abstractmethod
    def check_end(self, *, is_whole: bool) -> None:
        """Look at the end; it is whole if nothing was put back or reset."""

    @abstractmethod
    def counts(self) -> Counter[str]:
        """Return what has happened outside."""


def positions(spout: str, plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield partition and position of all that a plan reads of a stream."""
    for item in plan.ranges:
        if item.spout == spout:
            yield from ((item.range.id.partition, at) for at in range(item.range.start, item.range.stop))
