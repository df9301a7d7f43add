"""Which nodes are kept, so that all ways that lead on from them are given the rows of one run of a user's function.

A function may say something else each time that it is called: it asks a service, draws lots. Were it called for each
way, a record could be on two ways that exclude each other, or on neither. What is kept by an action of its own, before
anybody uses it, is of one run on every executor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from graphlib import TopologicalSorter

from trident.graph.jobs import Job
from trident.graph.nodes import Node, OperationNode, QueryNode, RecordOperationNode, Way
from trident.graph.rooted import Trees, looks_after_acks
from trident.operations.uniting import MergeStreams

Parts = Callable[[RecordOperationNode, bool], bool]
"""Whether an operation takes the rows one way and words about them another, given whether anything was said of acks."""


def forks_of(job: Job, trees: Trees, *, is_audited: bool, are_columns_seen: bool) -> tuple[Node, ...]:
    """Return those of a job, behind the tops of its trunks; a node comes after those before it.

    `are_columns_seen`: see `runs_user_code`.
    """

    def parts(follower: RecordOperationNode, is_said: bool) -> bool:
        is_counted = is_audited and not isinstance(follower.operation, MergeStreams)  # a merge takes the words along
        return is_counted or (trees.is_asked and is_said)

    tops = {trunk.top for trunk in job.trunks}
    return forks_behind(tops, job.ends, lambda node: runs_user_code(node, are_columns_seen=are_columns_seen), parts)


def forks_behind(
    given: Collection[Node], ends: Sequence[Way], differs: Callable[[Node], bool], parts: Parts = lambda _, __: False
) -> tuple[Node, ...]:
    """Return those between what is given anyway and some ends; a node comes after those before it.

    `differs` says of a node whether two runs of it on the same rows may come to two results. A query's rows are made
    once, of those that it is given.
    """
    followers = _followers(given, ends)
    made: dict[Node, bool] = {}
    said: dict[Node, bool] = {}
    found: list[Node] = []
    for node in TopologicalSorter({each: each.inputs for each in followers}).static_order():
        if node not in followers:
            continue
        before = [each for each in node.inputs if each not in given and each not in found]
        made[node] = not isinstance(node, QueryNode) and (differs(node) or any(made[each] for each in before))
        said[node] = looks_after_acks(node) or any(said[each] for each in before)
        parted = (isinstance(each, RecordOperationNode) and parts(each, said[node]) for each in followers[node])
        if made[node] and (len(followers[node]) > 1 or any(parted)):
            found.append(node)
    return tuple(found)


def runs_user_code(node: Node, *, are_columns_seen: bool) -> bool:
    """Whether a user's function makes a node's rows.

    Through Connect nobody sees what a column calls when a topology is built, so there each step may.
    """
    if not isinstance(node, OperationNode | RecordOperationNode):
        return False
    return not are_columns_seen or node.operation.runs_user_code


def _followers(given: Collection[Node], ends: Sequence[Way]) -> dict[Node, list[Node | Way]]:
    """Return who takes each node's rows, one that takes them twice two times, for the nodes behind what is given."""
    followers: dict[Node, list[Node | Way]] = {}
    seen = set[Node | Way]()
    todo: list[Node | Way] = list(ends)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for before in node.inputs:
            if before not in given:
                followers.setdefault(before, []).append(node)
                todo.append(before)
    return followers
