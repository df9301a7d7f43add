"""The nodes of a topology's graph: immutable, each knows those before it, none knows what follows.

A stream is such a node. What ends in an effect is an *end*: it gets staged updates, and is what a topology keeps.
Two nodes are the same when they are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from trident.operations.needs import NO_NEEDS, TaskNeeds
from trident.spouts.base import Spout
from trident.state.layout import StateLayout
from trident.state.target import Sink, State

if TYPE_CHECKING:
    from pyspark.sql import Column

    from trident.operations.aggregate import Aggregate
    from trident.operations.base import Operation, RecordOperation


IS_STORED: Final = "__trident_stored"
"""The name of a column that is true where the state has the key that is asked for, and null elsewhere."""
Shown: TypeAlias = "Callable[[str], Column]"
"""Returns a result as a column over what a state keeps, given what stands before the names of those columns."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceNode:
    """The records of a spout, read and decoded once per attempt."""

    name: str
    spout: Spout

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None: here it begins."""
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class OperationNode:
    """A step that takes control rows along."""

    operation: Operation
    input: Node
    needs: TaskNeeds = NO_NEEDS
    """How its Python function is to run."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its one input."""
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class RecordOperationNode:
    """A step on the records of any number of inputs, such as a union, a join or a repartitioning."""

    operation: RecordOperation
    inputs: tuple[Node, ...]
    schemas: tuple[pa.Schema, ...] = ()
    """The fields of each input."""
    needs: TaskNeeds = NO_NEEDS
    """How its Python function is to run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query asks of a state, and what it adds to a record."""

    keys: tuple[str, ...]
    """The fields that hold the state's keys, in their order; none of a state without keys."""
    shown: Mapping[str, Shown]
    """The fields that are added, by name, as columns over what the state keeps, and over `IS_STORED`."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state of the topology, whatever keeps it: what is written there may be made of what it is asked."""

    state: State
    layout: StateLayout

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""
        return self.state.name


@dataclass(frozen=True, slots=True, eq=False)
class QueryNode:
    """What a state has for each record, as the txid before has left it: so it is asked in the commit turn."""

    kept: KeptState
    input: Node
    asked: Asked
    schema: pa.Schema
    """The fields of its input."""

    @property
    def state(self) -> State:
        """The state that is asked."""
        return self.kept.state

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its one input."""
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class PersistNode:
    """An end: an aggregation that a state keeps."""

    state: State
    layout: StateLayout
    aggregate: Aggregate
    input: Node
    needs: TaskNeeds = NO_NEEDS
    """How the fold of a `Combiner` is to run."""

    @property
    def name(self) -> str:
        """The state's name, unique in its topology."""
        return self.state.name

    @property
    def kept(self) -> KeptState:
        """The state that it keeps."""
        return KeptState(self.state, self.layout)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its one input."""
        return (self.input,)

    @property
    def schema(self) -> pa.Schema:
        """The columns of its staged updates."""
        return self.layout.schema()


@dataclass(frozen=True, slots=True, eq=False)
class NewValuesNode:
    """What a batch makes of a state: a row for each key that it touches, with the values after it."""

    persist: PersistNode
    shown: Mapping[str, Shown]
    """The fields behind the keys, by name, as columns over what the state keeps (before the batch too)."""

    @property
    def kept(self) -> KeptState:
        """The state whose values they are."""
        return self.persist.kept

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What the state's updates are made of."""
        return (self.persist.input,)


@dataclass(frozen=True, slots=True, eq=False)
class CarriedNode:
    """An end of processing that has no effect: records that the commit turn needs, kept until then."""

    input: Node
    name: str
    """None that an end can have."""
    schema: pa.Schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its one input."""
        return (self.input,)


BY_COLUMN: Final = "by column"
"""What a sink's description says for its topic where each record names its own."""


@dataclass(frozen=True, slots=True, eq=False)
class SinkNode:
    """An end: records that leave as they are, in an order that every attempt at a batch gives them."""

    sink: Sink
    input: Node
    description: Mapping[str, str] = field(default_factory=dict)
    """What must stay the same over restarts, beside what the sink says of itself."""

    @property
    def topic(self) -> str | None:
        """The topic that all of its records go to; None where each names its own, or they are no records of Kafka."""
        topic = self.description.get("topic")
        return None if topic == BY_COLUMN else topic

    @property
    def name(self) -> str:
        """The sink's name, unique in its topology."""
        return self.sink.name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its staged rows."""
        return self.sink.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its one input."""
        return (self.input,)


Node: TypeAlias = SourceNode | OperationNode | RecordOperationNode | QueryNode | NewValuesNode
End: TypeAlias = PersistNode | SinkNode
Way: TypeAlias = End | CarriedNode
"""What processing makes the rows of."""


def walk(end: Node | Way) -> Iterator[Node | Way]:
    """Return the node and all before it, each once; a node comes before its inputs."""
    seen: set[Node | Way] = set()
    todo: list[Node | Way] = [end]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo.extend(reversed(node.inputs))


def sources_of(end: Node | Way) -> tuple[SourceNode, ...]:
    """Return the sources that it depends on, each once."""
    return tuple(node for node in walk(end) if isinstance(node, SourceNode))


def one_by_one(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes, and all before them whose records, or what was made of each, come to them one by one."""
    seen = set[Node]()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in seen and not (isinstance(node, OperationNode) and node.operation.makes_groups):
            seen.add(node)
            yield node
            todo.extend(node.inputs)
