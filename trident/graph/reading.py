"""Which records of a graph are as they were read, so that neighbours in a task are neighbours in the source.

A function whose rows do not say which record they are of may be given a run of these at once, even where order counts:
its rows then count from the run's first record. That is right as long as no other row of the same log comes to stand
between them further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trident.graph.nodes import Node, OperationNode, SourceNode, Way, one_by_one, sources_of, walk
from trident.operations.columns import EachColumns, FilterColumn, FlatMapColumn, MapColumns, Project, Rename
from trident.operations.functions import (
    EachFunction,
    FilterFunction,
    FlatMapFunction,
    FlatMapLists,
    MapFunction,
    Peek,
)
from trident.spouts.base import takes_messages_back

_WHERE_THEY_ARE: Final = (
    EachColumns,
    EachFunction,
    FilterColumn,
    FilterFunction,
    FlatMapColumn,
    FlatMapFunction,
    FlatMapLists,
    MapColumns,
    MapFunction,
    Peek,
    Project,
    Rename,
)
"""What leaves each record, and what it makes of it, in the task and the place where it was."""

_NAMED_AS_STREAMS: Final = ("files", "memory")
"""The spouts whose logs are called as their streams are."""


def is_as_read(node: Node) -> bool:
    """Tell whether nothing has moved records since they were read; what is not known to leave them has moved them."""
    while isinstance(node, OperationNode) and isinstance(node.operation, _WHERE_THEY_ARE):
        node = node.input
    return isinstance(node, SourceNode)


def given_in_runs(ends: Sequence[Way]) -> frozenset[object]:
    """Return the operations, of a whole topology, whose functions may be given all neighbours of a task at once."""
    nodes = {node for end in ends for node in walk(end)}
    places = [node for node in nodes if len(node.inputs) > 1]
    functions = (n for n in nodes if isinstance(n, OperationNode) and isinstance(n.operation, FlatMapFunction))
    return frozenset(
        each.operation
        for each in functions
        if is_as_read(each.input) and not any(_meets_its_log(each, place.inputs) for place in places)
    )


def _meets_its_log(function: OperationNode, inputs: Sequence[Node]) -> bool:
    """Tell whether a function's rows come together with others of the log that they are of, or in two ways."""
    ways = [set(one_by_one([each])) for each in inputs]
    if not any(function in way for way in ways):
        return False
    (own,) = sources_of(function)
    return sum(any(isinstance(each, SourceNode) and _may_share_a_log(own, each) for each in way) for way in ways) > 1


def _may_share_a_log(one: SourceNode, other: SourceNode) -> bool:
    """Tell whether places in two sources may be called alike: two streams may read one topic of Kafka's."""
    mine, others = _logs(one), _logs(other)
    return one is other or not mine or not others or not mine.isdisjoint(others)


def _logs(source: SourceNode) -> frozenset[str]:
    """Return the names of a source's logs as far as they are known: none of a pattern's, or a user's own spout's."""
    said = source.spout.description()
    if said.get("spout") in _NAMED_AS_STREAMS or takes_messages_back(source.spout):
        return frozenset([source.name])
    return frozenset(said["topics"].split(",")) if "topics" in said else frozenset()
