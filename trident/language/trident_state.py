"""The handle of a state that a topology keeps."""

from __future__ import annotations

from dataclasses import dataclass

from trident.state.layout import StateLayout
from trident.state.target import State


@dataclass(frozen=True, slots=True)
class TridentState:
    """What `persistent_aggregate` returns: the state and the columns that its rows have."""

    state: State
    layout: StateLayout

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""
        return self.state.name
