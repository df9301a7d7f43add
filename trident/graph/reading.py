"""Which records of a graph are as they were read, so that neighbours in a task are neighbours in the source."""

from __future__ import annotations

from typing import Final

from trident.graph.nodes import Node, OperationNode, SourceNode
from trident.operations.columns import EachColumns, FilterColumn, FlatMapColumn, MapColumns, Project, Rename
from trident.operations.functions import (
    EachFunction,
    FilterFunction,
    FlatMapFunction,
    FlatMapLists,
    MapFunction,
    Peek,
)

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


def is_as_read(node: Node) -> bool:
    """Tell whether nothing has moved records since they were read; what is not known to leave them has moved them."""
    while isinstance(node, OperationNode) and isinstance(node.operation, _WHERE_THEY_ARE):
        node = node.input
    return isinstance(node, SourceNode)
