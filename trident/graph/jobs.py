"""What is to be run per batch before its turn: jobs that share no source. What waits for the turn: `turns.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from trident.base.order import ORDER
from trident.graph.nodes import (
    Node,
    OperationNode,
    PersistNode,
    RecordOperationNode,
    SourceNode,
    Way,
    one_by_one,
    sources_of,
    walk,
)
from trident.operations.of_nothing import OfNothing


@dataclass(frozen=True, slots=True)
class Trunk:
    """A source, and the last node of all that its followers have in common."""

    source: SourceNode
    top: Node


@dataclass(frozen=True, slots=True)
class Job:
    """Ends that are connected by the sources that they share: each source is read once for all of them."""

    trunks: tuple[Trunk, ...]
    ends: tuple[Way, ...]
    ordered: frozenset[SourceNode] = frozenset()
    """The sources of whose records an end wants to know the order."""

    @property
    def is_chain(self) -> bool:
        """Whether it goes from one source to one end, and nothing is needed twice on the way."""
        return len(self.ends) == 1 and len(self.trunks) == 1 and self.ends[0].inputs == (self.trunks[0].top,)

    @property
    def can_part(self) -> bool:
        """Whether each end may go its own way from the one source, and all find what one run of the ways would make."""
        ways = [frozenset(node for node in walk(end) if node is not end) for end in self.ends]
        nodes = frozenset[Node | Way]().union(*ways)
        if len(self.trunks) != 1:
            return False
        if not all(isinstance(node, SourceNode | OperationNode) for node in nodes):
            return False
        once = (node for node in nodes if isinstance(node, OperationNode) and node.operation.runs_user_code)
        return all(sum(node in way for way in ways) == 1 for node in once)

    @property
    def runs_user_code(self) -> bool:
        """Whether a user's Python function makes any of its rows, or of what its states keep."""
        nodes = [node for end in self.ends for node in walk(end)]
        steps = (node.operation for node in nodes if isinstance(node, OperationNode | RecordOperationNode))
        return any(step.runs_user_code for step in steps) or any(
            isinstance(node, PersistNode) and node.aggregate.runs_user_code for node in nodes
        )

    @property
    def makes_of_nothing(self) -> bool:
        """Whether it has to run although there is nothing to read."""
        steps = (node.operation for end in self.ends for node in walk(end) if isinstance(node, RecordOperationNode))
        return any(isinstance(step, OfNothing) and step.makes_of_nothing for step in steps)

    def first_on(self, trunk: Trunk, forks: Collection[Node] = ()) -> Way | None:
        """Return an end to which one way leads from the trunk, and none from another: its action reads the trunk once.

        None where every end takes the trunk's records by several ways, with another source's, or behind a fork that is
        kept for others too.
        """
        return next((end for end in self.ends if _is_straight(end, trunk, forks)), None)


def jobs_of(ends: Sequence[Way]) -> tuple[Job, ...]:
    """Return the jobs of a topology with these ends, in the order of their first ends."""
    return tuple(map(_job, _groups(ends)))


def _groups(ends: Sequence[Way]) -> list[list[Way]]:
    """Return the ends, those together that are connected by a source."""
    groups: list[tuple[set[SourceNode], list[Way]]] = []
    for end in ends:
        mine = set(sources_of(end))
        met = [group for group in groups if group[0] & mine]
        if not met:
            groups.append((mine, [end]))
            continue
        first, *others = met
        for sources, members in others:
            first[0].update(sources)
            first[1].extend(members)
            groups.remove((sources, members))
        first[0].update(mine)
        first[1].append(end)
    order = {end: number for number, end in enumerate(ends)}
    return [sorted(members, key=order.__getitem__) for _, members in groups]


def _job(ends: Sequence[Way]) -> Job:
    followers: dict[Node | Way, set[Node | Way]] = {}
    for end in ends:
        for node in walk(end):
            for before in node.inputs:
                followers.setdefault(before, set()).add(node)
    sources = dict.fromkeys(source for end in ends for source in sources_of(end))
    return Job(
        tuple(Trunk(source, _top(source, followers)) for source in sources),
        tuple(ends),
        frozenset(source for node in _wanting_order(ends) for source in _records_of(node)),
    )


def _wanting_order(ends: Sequence[Way]) -> Iterator[Node | Way]:
    """Yield the ends and operations to which it matters in which order their records are."""
    for end in ends:
        if ORDER in end.schema.names:
            yield end
        yield from (node for node in walk(end) if isinstance(node, RecordOperationNode) and node.operation.wants_order)


def _records_of(end: Node | Way) -> Iterator[SourceNode]:
    """Yield the sources whose records come to an end, or to an operation, one by one."""
    return (node for node in one_by_one(end.inputs) if isinstance(node, SourceNode))


def _top(source: SourceNode, followers: dict[Node | Way, set[Node | Way]]) -> Node:
    """Go up as long as there is one follower, and it takes control rows along."""
    top: Node = source
    while len(followers[top]) == 1:
        (only,) = followers[top]
        if not isinstance(only, OperationNode):
            break
        top = only
    return top


def _is_straight(end: Way, trunk: Trunk, forks: Collection[Node]) -> bool:
    node: Node | Way = end
    while isinstance(node, OperationNode) or node is end:
        (node,) = node.inputs
        if node is trunk.top:
            return True
        if node in forks:
            return False
    return False
