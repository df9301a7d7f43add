"""Which rows of a graph have to say of which messages they are: those on the way to who looks after acks itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trident.base.errors import ConfigurationError
from trident.graph.nodes import Node, OperationNode, RecordOperationNode, SourceNode, Way, sources_of, walk
from trident.operations.called import called
from trident.operations.first_records import FirstRecords
from trident.operations.joining import Join
from trident.operations.partitioning import Shuffle
from trident.operations.processing import ProcessFunction
from trident.operations.row_aggregate import RowAggregate
from trident.operations.uniting import MergeStreams
from trident.spouts.base import takes_messages_back

_ANCHOR: Final = (FirstRecords, Join, MergeStreams, RowAggregate, Shuffle)
"""The operations on several records whose rows say of which messages they are."""


@dataclass(frozen=True, slots=True)
class Trees:
    """What of a topology's graph has trees of messages; nothing where no operation looks after acks."""

    streams: Mapping[str, int] = field(default_factory=dict)
    """The streams whose messages have trees, each with a number of its own."""
    rooted: frozenset[Node] = frozenset()
    """The nodes whose rows have roots."""
    is_asked: bool = False
    """Whether anybody asks what an operation says of messages."""


NO_TREES: Final = Trees()


def trees_of(ends: Sequence[Way]) -> Trees:
    """Return what has trees in a topology with these ends."""
    found = [node for end in ends for node in walk(end) if looks_after_acks(node)]
    sources = {source for node in found for source in _with_messages(node)}
    if not sources:
        return NO_TREES
    before = {each for node in found for way in node.inputs for each in walk(way)}
    rooted = {node for node in before if not isinstance(node, Way) and _is_of(node, sources)}
    names = sorted(source.name for source in sources)
    return Trees({name: number for number, name in enumerate(names)}, frozenset(rooted))


def looks_after_acks(node: Node | Way) -> bool:
    """Whether its function tells a collector what became of its records."""
    return isinstance(node, OperationNode) and isinstance(node.operation, ProcessFunction)


def refuse_without_roots(node: Node) -> None:
    """Refuse a stream for such a function whose rows could not say of which messages they are."""
    if not list(_with_messages(node)):
        return
    for each in walk(node):
        if isinstance(each, SourceNode | OperationNode):
            continue
        if not (isinstance(each, RecordOperationNode) and isinstance(each.operation, _ANCHOR)):
            what = called(each.operation) if isinstance(each, RecordOperationNode) else "what asks a state"
            raise ConfigurationError(
                f"process can't stand behind {what} in a stream of messages that want acks: its rows don't say of "
                "which messages they are. Put process before it"
            )


def _with_messages(node: Node | Way) -> Iterable[SourceNode]:
    return (source for source in sources_of(node) if takes_messages_back(source.spout))


def _is_of(node: Node | Way, sources: set[SourceNode]) -> bool:
    return not sources.isdisjoint(sources_of(node))
