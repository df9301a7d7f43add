"""The handle of a state that a topology keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trident.base.checks import check_flag
from trident.base.control import CONTROL
from trident.language.turning import new_values_of
from trident.state.layout import StateLayout
from trident.state.target import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from trident.graph.nodes import PersistNode
    from trident.language.stream import Stream
    from trident.operations.aggregate import Aggregate


@dataclass(frozen=True, slots=True)
class TridentState:
    """What `persistent_aggregate` returns: the state, the columns that its rows have, and ways to use what it holds."""

    state: State
    layout: StateLayout
    persist: PersistNode = field(repr=False, compare=False)
    stream: Stream = field(repr=False, compare=False)
    """The stream that it aggregates."""
    stored: DataFrame = field(repr=False, compare=False)
    """An empty frame of its staged updates."""

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""
        return self.state.name

    def stored_sample(self) -> DataFrame:
        """Return an empty frame of the columns that it keeps, keys first."""
        return self.stored.drop(CONTROL)

    @property
    def aggregate(self) -> Aggregate:
        """What it keeps."""
        return self.persist.aggregate

    def new_values(self, *, previous: bool = False) -> Stream:
        """Return a stream with a row for each key that a batch touches: the key, and the results behind it.

        With `previous` also those before it, as `previous_…`: null for a key that is new. They are made in the batch's
        turn, from what the txid before has left and what this one adds, by the same rules as the state itself, and what
        follows on them is committed with the batch. Nothing of it is seen by a reader before.
        """
        check_flag("previous", previous)
        return new_values_of(self, previous=previous)
