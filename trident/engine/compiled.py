"""A topology as the coordinator and the processor need it: names, layouts and the steps of each job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.coordinators.batches.processor import Job
from trident.coordinators.registered import TopologySpec
from trident.engine.types import column_type
from trident.language.aggregators import Aggregator, Combiner
from trident.operations.aggregate import Aggregate
from trident.operations.base import BatchContext, Operation
from trident.spouts.base import Spout
from trident.state.layout import KeyColumn, StateLayout, ValueColumn
from trident.state.target import State


@dataclass(frozen=True, slots=True)
class Leaf:
    """All steps that end in one state: the stream's own, then the aggregation into the layout's columns."""

    state: State
    layout: StateLayout
    spout: str
    operations: tuple[Operation, ...]
    aggregate: Aggregate

    @property
    def job(self) -> Job:
        """How the coordinator sees it."""
        return Job(state=self.state.name, spouts=(self.spout,))

    def lower(self, frame: DataFrame, batch: BatchContext, *, for_driver: bool) -> DataFrame:
        """Return the frame of staged updates and control rows that the source's frame leads to.

        `for_driver` says that `read_table` is what reads it.
        """
        for operation in self.operations:
            frame = operation.lower(frame, batch)
        return self.aggregate.lower_last(frame, batch) if for_driver else self.aggregate.lower(frame, batch)


@dataclass(frozen=True, slots=True)
class CompiledTopology:
    """A checked topology, frozen: later calls on the `Topology` do not change it."""

    name: str
    spouts: Mapping[str, Spout]
    leaves: tuple[Leaf, ...]

    @property
    def states(self) -> dict[str, tuple[State, StateLayout]]:
        """Every state with the columns that its aggregation needs."""
        return {leaf.state.name: (leaf.state, leaf.layout) for leaf in self.leaves}

    @property
    def jobs(self) -> tuple[Job, ...]:
        """One job per state, the same for every batch."""
        return tuple(leaf.job for leaf in self.leaves)

    def spec(self) -> TopologySpec:
        """Return what the ledger stores of it and compares at every start."""
        return TopologySpec(
            name=self.name,
            spouts={name: {**spout.description(), "kind": spout.kind.value} for name, spout in self.spouts.items()},
            states={leaf.state.name: _description(leaf) for leaf in self.leaves},
        )


def _description(leaf: Leaf) -> dict[str, str]:
    return {
        **leaf.state.description(),
        "kind": leaf.state.kind.value,
        "keys": ", ".join(f"{key.name} {_type_name(key.type)}" for key in leaf.layout.keys),
        "values": ", ".join(
            f"{value.name} {_type_name(value.type)} {value.merge.value}" for value in leaf.layout.values
        ),
    }


def _type_name(type_: pa.DataType) -> str:
    # Arrow's word for a decimal carries its width, which no user wrote
    return str(type_).replace("decimal128", "decimal")


def layout_of(
    state: str, schema: StructType, keys: tuple[str, ...], aggregators: Mapping[str, Aggregator]
) -> StateLayout:
    """Return the columns of a state that holds an aggregation with this result schema."""
    for name in (*keys, *aggregators):
        if name.lower() == "txid" or name.lower().startswith("previous_"):
            raise ConfigurationError(
                f"the state {state!r} can't have a column {name!r}: txid and previous_… are its own"
            )
    types = {field.name: column_type(field, state) for field in schema.fields if field.name in {*keys, *aggregators}}
    return StateLayout(
        keys=tuple(KeyColumn(key, types[key]) for key in keys),
        values=tuple(_value_column(name, types[name], aggregator) for name, aggregator in aggregators.items()),
    )


def _value_column(name: str, type_: pa.DataType, aggregator: Aggregator) -> ValueColumn:
    combine = aggregator.combine_values if isinstance(aggregator, Combiner) else None
    return ValueColumn(name, type_, aggregator.merge, combine)
