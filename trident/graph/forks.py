"""Which nodes are kept, so that all ways that lead on from them are given the rows of one run of a user's function.

A function may say something else each time that it is called: it asks a service, draws lots. Were it called for each
way, a record could be on two ways that exclude each other, or on neither. What is kept by an action of its own, before
anybody uses it, is of one run on every executor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from graphlib import TopologicalSorter

from trident.graph.jobs import Job
from trident.graph.nodes import Node, OperationNode, RecordOperationNode, Way
from trident.graph.rooted import Trees, looks_after_acks
from trident.operations.uniting import MergeStreams

Parts = Callable[[RecordOperationNode, bool], bool]
"""Whether an operation takes the rows one way and words about them another, given whether anything was said of acks."""


def forks_of(job: Job, trees: Trees, *, is_audited: bool) -> tuple[Node, ...]:
    """Return those of a job, behind the tops of its trunks; a node comes after those before it."""

    def parts(follower: RecordOperationNode, is_said: bool) -> bool:
        is_counted = is_audited and not isinstance(follower.operation, MergeStreams)
        return is_counted or (bool(trees.rooted) and is_said)

    return forks_behind({trunk.top for trunk in job.trunks}, job.ends, parts)


def forks_behind(
    kept: Collection[Node],
    ends: Sequence[Way],
    parts: Parts = lambda _, __: False,
    is_of_one_run: Callable[[Node], bool] = lambda _: False,
) -> tuple[Node, ...]:
    """Return those between what is kept anyway and some ends; a node comes after those before it.

    `is_of_one_run` says of which others the rows are made once and for all, of what they are given.
    """
    followers = _followers(kept, ends)
    made: dict[Node, bool] = {}
    said: dict[Node, bool] = {}
    found: list[Node] = []
    for node in TopologicalSorter({each: each.inputs for each in followers}).static_order():
        if node in kept or node not in followers:
            continue
        before = [each for each in node.inputs if each not in kept and each not in found]
        made[node] = not is_of_one_run(node) and (_runs_user_code(node) or any(made[each] for each in before))
        said[node] = looks_after_acks(node) or any(said[each] for each in before)
        ways = followers[node]
        parted = (isinstance(each, RecordOperationNode) and parts(each, said[node]) for each in ways)
        if made[node] and (len(ways) > 1 or any(parted)):
            found.append(node)
    return tuple(found)


def _followers(kept: Collection[Node], ends: Sequence[Way]) -> dict[Node, list[Node | Way]]:
    """Return who takes each node's rows, one that takes them twice two times, for the nodes behind what is kept."""
    followers: dict[Node, list[Node | Way]] = {}
    seen = set[Node | Way]()
    todo: list[Node | Way] = list(ends)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for before in node.inputs:
            if before not in kept:
                followers.setdefault(before, []).append(node)
                todo.append(before)
    return followers


def _runs_user_code(node: Node) -> bool:
    return isinstance(node, OperationNode | RecordOperationNode) and node.operation.runs_user_code
