"""The handle of a state that a topology keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from trident.base.checks import check_able, check_flag, check_instance
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name
from trident.engine.building import empty_sample, fields_of
from trident.engine.compiled import layout_of
from trident.graph.nodes import PersistNode
from trident.language.turning import new_values_of
from trident.state.layout import StateKind, StateLayout
from trident.state.tables.shape import table_shape
from trident.state.target import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    emits: Stream | None = field(default=None, repr=False, compare=False)
    """The rows that its updater emits, where it has one that does."""

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""
        return self.state.name

    def stored_sample(self) -> DataFrame:
        """Return an empty frame of the columns that it keeps, keys first, with the types of their values."""
        kept, nested = self.stored.drop(CONTROL), self.aggregate.nested
        fields = [nested.get(each.name, each) for each in kept.schema.fields]
        return empty_sample(kept.sparkSession, StructType(fields)).drop(CONTROL) if nested else kept

    @property
    def aggregate(self) -> Aggregate:
        """What it keeps."""
        return self.persist.aggregate

    def emitted(self) -> Stream:
        """Return the stream of the rows that its updater emits, committed with the batch (of `partition_persist`)."""
        if self.emits is None:
            raise ConfigurationError(
                f"the state {self.name!r} emits no rows: only a StateUpdater with a schema of them does, which "
                "partition_persist is given; new_values() are what a batch makes of a state"
            )
        return self.emits

    def new_values(self, *, previous: bool = False) -> Stream:
        """Return a stream with a row for each key that a batch touches: the key, and the results behind it.

        With `previous` also those before it, as `previous_…`: null for a key that is new. They are made in the batch's
        turn, from what the txid before has left and what this one adds, by the same rules as the state itself, and what
        follows on them is committed with the batch. Nothing of it is seen by a reader before. They are the net change
        of a batch: what a key was between two records of it is not told.
        """
        check_flag("previous", previous)
        return new_values_of(self, previous=previous)


def kept_in(stream: Stream, state: State, aggregate: Aggregate) -> TridentState:
    """Let a stream end in a state that keeps an aggregation of it; returns the handle."""
    stored = stream._after(aggregate)
    layout = layout_of(state.name, aggregate, fields_of(stored).schema)
    table_shape(state.name, state.name, state.kind, layout)  # names of columns, the derived ones too
    persist = PersistNode(state, layout, aggregate, stream._node, stream._needs)
    stream._topology._add_end(persist)
    return TridentState(state, layout, persist, stream, stored)


def check_state(state: State, verb: str) -> None:
    """Refuse what is no state, and a name that none can have."""
    wanted = "a state such as PostgresState(name)"
    check_able(f"{verb}: the state", state, ("open", "description"), wanted, has=("name", "kind"))
    check_instance(f"the kind of state {state.name!r}", state.kind, StateKind)
    check_given_name("a state's name", state.name)
