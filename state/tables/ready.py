"""Staged updates with all done that takes long: what is inside of a transaction only sends it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.state.positions import Position
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.state.tables.dialect import ReadyRows
from trident.state.tables.merge import NullPattern


@dataclass(frozen=True, slots=True)
class Folded:
    """What the users' functions made of the values that were stored at a position."""

    position: Position
    rows: ReadyRows = field(repr=False)
    """Keys and folded columns of the keys that were stored."""
    patterns: tuple[NullPattern, ...]


@dataclass(frozen=True, slots=True)
class ReadyHeld(HeldUpdates):
    """Held rows as the driver takes them."""

    ready: ReadyRows = field(repr=False)
    folded: Folded | None


@dataclass(frozen=True, slots=True)
class ReadyWritten(WrittenUpdates):
    """Rows that lie in the database; of them only what Python folded was here."""

    folded: Folded | None


def unready(state: str) -> TypeError:
    """Return the error for updates that were not made ready before their transaction."""
    return TypeError(f"the updates of state {state!r} came into a transaction before `ready` was called")
