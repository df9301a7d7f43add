"""Which part of a graph waits for the commit turn, and what of the part before it is carried there.

*Late* is all that depends on what the topology itself writes: new values, queries, and everything behind them. Of T it
can be made only after `done(T-1)`. Everything else is processed before, of several batches at once; what the late part
needs of it is an end of its own, whose rows are kept until the turn comes. So a stream may be joined with one that
waits for the turn: neither waits for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final

import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.graph.forks import forks_behind, runs_user_code
from trident.graph.nodes import (
    CarriedNode,
    End,
    NewValuesNode,
    Node,
    OperationNode,
    QueryNode,
    RecordOperationNode,
    Way,
    walk,
)

COLLATED: Final = b"collated"
"""What is noted beside a field of records that are kept for the turn: its type, where that has a collation."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The two parts of a topology's graph."""

    processing: tuple[Way, ...]
    """The ends that are made before the turn, what is carried to it among them."""
    turn: tuple[End, ...]
    """Those that are made in it: a state before those that use its new values."""

    @property
    def carried(self) -> tuple[CarriedNode, ...]:
        """What is kept for the turn."""
        return tuple(way for way in self.processing if isinstance(way, CarriedNode))

    def forks(self, *, are_columns_seen: bool) -> tuple[Node, ...]:
        """See `forks_behind`: those of the turn; a query's rows are made once anyway."""
        given = {node for end in self.turn for node in walk(end) if isinstance(node, NewValuesNode)}
        carried = {each.input for each in self.carried}
        return forks_behind(
            given | carried, self.turn, lambda node: runs_user_code(node, are_columns_seen=are_columns_seen)
        )

    @property
    def shown(self) -> frozenset[str]:
        """The states whose new values somebody wants."""
        nodes = (node for end in self.turn for node in walk(end))
        return frozenset(node.persist.name for node in nodes if isinstance(node, NewValuesNode))

    @property
    def asked(self) -> frozenset[str]:
        """The states whose stored values somebody wants."""
        nodes = (node for end in self.turn for node in walk(end))
        return frozenset(node.kept.name for node in nodes if isinstance(node, NewValuesNode | QueryNode))


def is_late(node: Node | Way) -> bool:
    """Whether it depends on what the topology writes."""
    return any(isinstance(each, NewValuesNode | QueryNode) for each in walk(node))


def stages_of(ends: Sequence[End]) -> Stages:
    """Return the parts of a topology with these ends; one without late ends has no turn."""
    late = [end for end in ends if is_late(end)]
    in_order = any(ORDER in end.schema.names for end in late) or any(
        isinstance(node, RecordOperationNode) and node.operation.wants_order for end in late for node in walk(end)
    )
    carried: dict[Node, CarriedNode] = {}
    for end in late:
        for node, schema in _crossings(end):
            if node not in carried:
                carried[node] = CarriedNode(node, f"carried:{len(carried)}", _schema(schema, in_order=in_order))
    early = [end for end in ends if end not in late]
    return Stages((*early, *carried.values()), tuple(_in_order(late)))


def _crossings(end: End) -> list[tuple[Node, pa.Schema]]:
    """Return the nodes before the turn whose records a late end takes, with their fields."""
    found: list[tuple[Node, pa.Schema]] = []
    seen: set[Node] = set()
    todo: list[Node] = [end.input]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case QueryNode():
                _require_as_it_is(node.schema)
                _sort(node.input, node.schema, todo, found)
            case RecordOperationNode():
                for before, schema in zip(node.inputs, node.schemas, strict=True):
                    _sort(before, schema, todo, found)
            case OperationNode():
                todo.append(node.input)
    return found


def _sort(node: Node, schema: pa.Schema, late: list[Node], early: list[tuple[Node, pa.Schema]]) -> None:
    if is_late(node):
        late.append(node)
    else:
        _require_as_it_is(schema)
        early.append((node, schema))


def _require_as_it_is(schema: pa.Schema) -> None:
    """Refuse fields that would be compared otherwise once they have been kept for the turn."""
    for each in schema:
        if each.metadata and COLLATED in each.metadata:
            raise ConfigurationError(
                f"the field {each.name!r} is {each.metadata[COLLATED].decode()}, and waits for the commit turn, which "
                "keeps texts without their collation: it would be compared by its bytes. Collate it behind the state "
                "query, or cast it to string before"
            )


def _schema(fields: pa.Schema, *, in_order: bool) -> pa.Schema:
    return fields.append(pa.field(ORDER, pa.binary())) if in_order else fields


def _in_order(late: Sequence[End]) -> list[End]:
    """Return the late ends so that a state comes before what is made of its new values; there is no circle."""
    before = {end: [node.persist for node in walk(end) if isinstance(node, NewValuesNode)] for end in late}
    late_first = {end: [state for state in states if state in before] for end, states in before.items()}
    return list(TopologicalSorter(late_first).static_order())
