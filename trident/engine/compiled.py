"""A topology as the coordinator and the processor need it: names, layouts and jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.base.levels import Level
from trident.coordinators.registered import LEVEL, RECEIVED, SINK, TopologySpec
from trident.engine.plainly import opens_plain
from trident.engine.types import column_type
from trident.graph.jobs import Job, jobs_of
from trident.graph.nodes import End, PersistNode, SinkNode, walk
from trident.graph.reading import given_in_runs
from trident.graph.rooted import Trees, looks_after_acks, trees_of
from trident.graph.turns import Stages, stages_of
from trident.operations.aggregate import Aggregate
from trident.spouts.base import Spout, lives_in_process
from trident.state.layout import KeyColumn, StateLayout, ValueColumn
from trident.state.target import OpensTarget


@dataclass(frozen=True, slots=True)
class CompiledTopology:
    """A checked topology, frozen: later calls on the `Topology` do not change it."""

    name: str
    spouts: Mapping[str, Spout]
    ends: tuple[End, ...]
    samples: Mapping[str, StructType] = field(default_factory=dict)
    """The fields of each stream's records, as they were when it was built."""
    level: Level = Level.EXACTLY_ONCE
    """What it promises of each record."""

    @property
    def targets(self) -> dict[str, OpensTarget]:
        """How the target of each end is opened, a state with the columns that its aggregation needs."""
        opens = opens_plain if self.level.is_plain else _opens
        return {end.name: opens(end) for end in self.ends}

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs of every batch before its turn."""
        return jobs_of(self.stages.processing)

    @property
    def in_runs(self) -> frozenset[object]:
        """See `BatchContext`: whether a row stands between others is known of the whole graph only."""
        return given_in_runs(self.ends)

    @property
    def stages(self) -> Stages:
        """What is made before a batch's turn, and what in it."""
        return stages_of(self.ends)

    @property
    def runs_user_code(self) -> bool:
        """Whether a user's Python function makes any of its rows, before the turn or in it."""
        return any(job.runs_user_code for job in (*self.jobs, Job((), self.stages.turn)))

    @property
    def trees(self) -> Trees:
        """What of it has trees of messages."""
        trees = trees_of(self.stages.processing)
        return replace(trees, is_asked=any(looks_after_acks(node) for end in self.ends for node in walk(end)))

    def spec(self) -> TopologySpec:
        """Return what the ledger stores of it and compares at every start."""
        level = {LEVEL: self.level.value} if self.level.is_plain else {}
        return TopologySpec(
            name=self.name,
            spouts={name: {**spout.description(), "kind": _kind_of(spout)} for name, spout in self.spouts.items()},
            states={end.name: {**_description(end), **level} for end in self.ends},
        )


def _kind_of(spout: Spout) -> str:
    return RECEIVED if lives_in_process(spout) else spout.kind.value


def _opens(end: End) -> OpensTarget:
    return partial(end.state.open, end.layout) if isinstance(end, PersistNode) else end.sink.open


def _description(end: End) -> dict[str, str]:
    if isinstance(end, SinkNode):
        return {**end.sink.description(), **end.description, "kind": SINK}
    return {
        **end.state.description(),
        "kind": end.state.kind.value,
        "keys": ", ".join(f"{key.name} {_type_name(key.type)}" for key in end.layout.keys),
        "values": ", ".join(
            f"{value.name} {_type_name(value.text_of or value.type)} {value.merge.value}" for value in end.layout.values
        ),
    }


def _type_name(type_: pa.DataType) -> str:
    # Arrow's word for a decimal carries its width, which no user wrote
    return str(type_).replace("decimal128", "decimal")


def _value_column(name: str, type_: pa.DataType, aggregate: Aggregate) -> ValueColumn:
    column = aggregate.kept[name]
    assert column.merge is not None, "what no state can merge is refused before"
    by = "" if column.by is None else name.removesuffix(column.suffix) + column.by
    text_of = aggregate.texts.get(name)
    return ValueColumn(name, type_, column.merge, aggregate.combine_of(name), by, text_of, _result_of(name, aggregate))


def _result_of(name: str, aggregate: Aggregate) -> str:
    """Return the result that is made of a kept column and of others too."""
    several = (result for result, (columns, _) in aggregate.results.items() if name in columns and len(columns) > 1)
    return next(several, "")


def layout_of(state: str, aggregate: Aggregate, schema: StructType) -> StateLayout:
    """Return the columns of a state that keeps an aggregation with this result schema."""
    for name in (*aggregate.keys, *aggregate.kept):
        if name.lower() == "txid" or name.lower().startswith("previous_"):
            raise ConfigurationError(
                f"the state {state!r} can't have a column {name!r}: txid and previous_… are its own"
            )
    wanted = {*aggregate.keys, *aggregate.kept}
    types = {field.name: column_type(field, state) for field in schema.fields if field.name in wanted}
    return StateLayout(
        keys=tuple(KeyColumn(key, types[key]) for key in aggregate.keys),
        values=tuple(_value_column(name, types[name], aggregate) for name in aggregate.kept),
    )
