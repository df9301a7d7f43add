"""What a target can say of where it is, and of whom it finds there."""

from __future__ import annotations

from typing import Protocol

from trident.base.identity import Epoch


class KnowsItsPlace(Protocol):
    """Lives where the server can say which place that is."""

    def place(self) -> str:
        """Return what names it, equal for two targets only if they are in one place; changes nothing."""


class EndsOlder(Protocol):
    """Lives where the sessions of a process that has stopped can be ended."""

    def end_older(self, topology: str, epoch: Epoch) -> None:
        """End what older epochs of this line have left open there, and nothing else; before it is prepared.

        Another ledger's topology of the same name is of another line (`Epoch.line`).
        """
