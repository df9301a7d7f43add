"""Nodes of graphs whose steps compute nothing: what is made of a graph looks at its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pyspark.sql.types import StructType

from trident.graph.nodes import (
    Asked,
    NewValuesNode,
    Node,
    OperationNode,
    PersistNode,
    QueryNode,
    RecordOperationNode,
    SourceNode,
)
from trident.operations.aggregate import Aggregate
from trident.operations.base import Operation, RecordOperation
from trident.operations.processing import ProcessFunction
from trident.spouts.base import Spout
from trident.state.layout import Merge, StateKind, StateLayout, ValueColumn
from trident.state.target import State

LAYOUT = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))


@dataclass(frozen=True)
class Named:
    """Stands for a state, a spout or a step: the graph looks at nothing but names."""

    name: str
    kind: StateKind = StateKind.OPAQUE
    makes_groups: bool = False
    runs_user_code: bool = False
    wants_order: bool = False

    @property
    def verb(self) -> str:
        return self.name

    def description(self) -> dict[str, str]:
        return {}


def source(name: str) -> SourceNode:
    return SourceNode(name, cast(Spout, Named(name)))


def step(before: Node) -> OperationNode:
    return OperationNode(cast(Operation, Named("step")), before)


def function(before: Node) -> OperationNode:
    return OperationNode(cast(Operation, Named("function", runs_user_code=True)), before)


def said_of(before: Node) -> OperationNode:
    """Return a step whose function says what becomes of messages."""
    return OperationNode(ProcessFunction(lambda record, collector: None, StructType()), before)


def union(*before: Node) -> RecordOperationNode:
    return RecordOperationNode(cast(RecordOperation, Named("union")), before)


def function_of(*before: Node) -> RecordOperationNode:
    """Return a user's function over several streams."""
    return RecordOperationNode(cast(RecordOperation, Named("function", runs_user_code=True)), before)


def in_order(*before: Node) -> RecordOperationNode:
    return RecordOperationNode(cast(RecordOperation, Named("in order", wants_order=True)), before)


def query(state: PersistNode, before: Node) -> QueryNode:
    return QueryNode(state.kept, before, Asked((), {}), LAYOUT.schema())


def shown(state: PersistNode) -> NewValuesNode:
    return NewValuesNode(state, {})


def persist(state: str, before: Node) -> PersistNode:
    return PersistNode(cast(State, Named(state)), LAYOUT, cast(Aggregate, None), before)
