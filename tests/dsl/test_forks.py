"""Which nodes are kept so that a user's function is called once for each record, whatever hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.dsl.graphs import LAYOUT, function, function_of, persist, query, said_of, shown, source, step, union
from trident.graph.forks import forks_of
from trident.graph.jobs import Job, jobs_of
from trident.graph.nodes import (
    End,
    Node,
    OperationNode,
    RecordOperationNode,
    Way,
)
from trident.graph.rooted import NO_TREES, Trees
from trident.graph.turns import stages_of
from trident.operations.uniting import MergeStreams


def job_of(*ends: End) -> Job:
    (job,) = jobs_of(ends)
    return job


def forks(
    *ends: End, trees: Trees = NO_TREES, is_audited: bool = False, are_columns_seen: bool = True
) -> tuple[Node, ...]:
    return forks_of(job_of(*ends), trees, is_audited=is_audited, are_columns_seen=are_columns_seen)


def runs(kept: Collection[Node], ends: Sequence[Way]) -> dict[Node, int]:
    """Return how often each node's rows are made, where every way makes them anew and what is kept is made once."""
    found: dict[Node, int] = {}

    def made(node: Node) -> None:
        found[node] = found.get(node, 0) + 1
        for before in node.inputs:
            if before not in kept:
                made(before)

    for node in kept:
        made(node)
    for end in ends:
        if end.input not in kept:
            made(end.input)
    return found


STEPS: tuple[Callable[[Node], Node], ...] = (step, function)


@st.composite
def graphs(draw: st.DrawFn) -> list[End]:
    nodes: list[Node] = [source(name) for name in "ab"[: draw(st.integers(1, 2))]]
    for _ in range(draw(st.integers(1, 9))):
        before = st.sampled_from(nodes)
        if draw(st.booleans()):
            nodes.append(draw(st.sampled_from(STEPS))(draw(before)))
        else:
            together = draw(st.sampled_from([union, function_of]))
            nodes.append(together(*draw(st.lists(before, min_size=1, max_size=3))))
    ends = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4))
    return [persist(str(number), node) for number, node in enumerate(ends)]


def is_function(node: Node) -> bool:
    return isinstance(node, OperationNode | RecordOperationNode) and node.operation.runs_user_code


@given(graphs())
def test_each_function_is_run_once_whatever_hangs_on_it(ends: list[End]) -> None:
    for job in jobs_of(ends):
        kept = [*(trunk.top for trunk in job.trunks), *forks_of(job, NO_TREES, is_audited=False, are_columns_seen=True)]
        found = runs(kept, job.ends)
        assert {node: count for node, count in found.items() if is_function(node) and count != 1} == {}


@given(graphs(), st.booleans())
def test_a_fork_comes_after_those_before_it_and_is_no_top(ends: list[End], is_audited: bool) -> None:
    for job in jobs_of(ends):
        known: set[Node] = {trunk.top for trunk in job.trunks}
        for fork in forks_of(job, NO_TREES, is_audited=is_audited, are_columns_seen=True):
            assert fork not in known
            assert not known & (runs((), [persist("", fork)]).keys() - known)
            known.add(fork)


def test_what_only_spark_computes_is_kept_nowhere() -> None:
    a = source("a")
    common = step(step(a))
    assert forks(persist("x", union(step(common), common)), persist("y", common), persist("z", a)) == ()


def test_a_function_before_the_first_fork_is_kept_with_its_trunk() -> None:
    common = function(source("a"))
    assert forks(persist("x", step(common)), persist("y", step(common))) == ()


def test_what_follows_a_function_is_kept_where_it_has_two_followers() -> None:
    a = source("a")
    common = step(function(a))
    assert forks(persist("x", step(common)), persist("y", step(common)), persist("z", a)) == (common,)


def test_a_stream_that_one_step_takes_twice_has_two_ways() -> None:
    a = source("a")
    twice = function(step(a))
    assert forks(persist("x", union(twice, twice)), persist("y", a)) == (twice,)


def test_behind_what_is_kept_only_another_function_is_a_reason_to_keep_more() -> None:
    a = source("a")
    kept, behind = function(step(a)), persist("z", a)
    again = step(kept)
    assert forks(persist("x", union(step(again), again)), persist("y", kept), behind) == (kept,)
    second = function(kept)
    assert forks(persist("x", union(step(second), second)), persist("y", kept), behind) == (kept, second)


def test_an_end_behind_a_fork_does_not_read_its_trunk() -> None:
    a = source("a")
    common = function(step(a))
    one, two = persist("one", common), persist("two", step(common))
    merged = persist("merged", union(a, step(a)))
    job = job_of(one, two, merged)
    (trunk,) = job.trunks
    assert job.first_on(trunk) is one
    assert job.first_on(trunk, forks(one, two, merged)) is None


def test_what_was_said_of_messages_and_the_rows_part_before_a_merge_so_both_are_kept() -> None:
    a = source("a")
    asked = said_of(step(a))
    ends = [persist("x", union(asked, step(a))), persist("y", a)]
    assert forks(*ends) == ()
    assert forks(*ends, trees=Trees({"a": 0}, frozenset({a}), is_asked=True)) == (asked,)


def test_what_was_said_is_kept_also_where_another_step_stands_before_the_merge() -> None:
    a = source("a")
    behind = step(said_of(step(a)))
    trees = Trees({"a": 0}, frozenset({a}), is_asked=True)
    assert forks(persist("x", union(behind, step(a))), persist("y", a), trees=trees) == (behind,)


def test_where_nobody_sees_what_a_column_calls_each_step_may_differ() -> None:
    a = source("a")
    common = step(step(a))
    ends = [persist("x", step(common)), persist("y", common), persist("z", a)]
    assert forks(*ends) == ()
    assert forks(*ends, are_columns_seen=False) == (common,)


def merge(*before: Node) -> RecordOperationNode:
    return RecordOperationNode(MergeStreams(), before)


def test_what_is_counted_before_a_join_is_of_the_rows_that_it_is_given_but_a_merge_takes_them_along() -> None:
    a = source("a")
    made = function(step(a))
    joined = [persist("x", union(made, step(a))), persist("y", a)]
    assert forks(*joined) == ()
    assert forks(*joined, is_audited=True) == (made,)
    assert forks(persist("x", merge(made, step(a))), persist("y", a), is_audited=True) == ()


def in_turn(*ends: End) -> tuple[Node, ...]:
    return stages_of(ends).forks(are_columns_seen=True)


def test_in_the_turn_a_function_is_called_once_too() -> None:
    counts = persist("counts", source("a"))
    asked = query(counts, source("b"))
    late = function(asked)
    assert in_turn(counts, persist("x", step(late)), persist("y", late)) == (late,)
    assert in_turn(counts, persist("x", step(asked)), persist("y", asked)) == ()
    assert in_turn(counts, persist("x", late)) == ()


def test_what_is_asked_of_a_function_and_passed_on_besides_is_kept() -> None:
    counts = persist("counts", source("a"))
    late = function(query(counts, source("b")))
    again = query(counts, late)
    assert in_turn(counts, persist("x", again), persist("y", late)) == (late,)
    # a query's rows are made once anyway
    assert in_turn(counts, persist("x", step(again)), persist("y", again)) == ()


def test_new_values_are_made_once_whatever_they_are_made_of() -> None:
    counts = persist("counts", function(step(source("a"))))
    new = shown(counts)
    assert in_turn(counts, persist("x", step(new)), persist("y", new)) == ()


def test_an_updater_is_asked_once_for_what_it_writes_and_what_it_emits() -> None:
    counts = persist("counts", source("a"))
    updated = RecordOperationNode(function_of().operation, (query(counts, source("b")),), (LAYOUT.schema(),))
    assert in_turn(counts, persist("written", step(updated)), persist("emitted", step(updated))) == (updated,)


def test_a_function_of_what_is_carried_is_not_called_before() -> None:
    counts, b = persist("counts", source("a")), source("b")
    carried = function(b)
    both = RecordOperationNode(union().operation, (query(counts, carried), carried), (LAYOUT.schema(), LAYOUT.schema()))
    assert in_turn(counts, persist("x", both), persist("y", step(both))) == ()
