"""What a graph compiles to: jobs that share no source, trunks, and what waits for the commit turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from tests.dsl.graphs import LAYOUT, Named, function, in_order, persist, query, shown, source, step, union
from tests.dsl.sinks import UnopenedSink
from trident import ConfigurationError
from trident.base.order import ORDER
from trident.engine.compiled import CompiledTopology
from trident.graph.jobs import Job, Trunk, jobs_of
from trident.graph.nodes import (
    End,
    Node,
    OperationNode,
    RecordOperationNode,
    SinkNode,
    SourceNode,
    sources_of,
)
from trident.graph.turns import Stages, _crossings, stages_of
from trident.managing.deciding import _require_another_end
from trident.operations.aggregate import Aggregate
from trident.operations.base import Operation, RecordOperation
from trident.operations.functions import FlatMapFunction
from trident.spouts.base import Spout


def topology(*ends: End) -> CompiledTopology:
    return CompiledTopology("t", {}, ends)


def names(job: Job) -> tuple[list[str], list[str]]:
    return [trunk.source.name for trunk in job.trunks], [end.name for end in job.ends]


A = source("a")


def test_a_chain_is_a_job_that_needs_nothing_twice() -> None:
    end = persist("s", step(step(source("a"))))
    (job,) = jobs_of([end])
    assert job.is_chain
    assert job.trunks == (Trunk(sources_of(end)[0], end.input),)


def test_ends_of_one_source_are_one_job() -> None:
    a = source("a")
    common = step(step(a))
    first, second = persist("one", step(common)), persist("two", common)
    (job,) = jobs_of([first, second])
    assert names(job) == (["a"], ["one", "two"])
    assert job.trunks == (Trunk(a, common),)
    assert not job.is_chain


def test_sources_that_nothing_connects_are_jobs_of_their_own() -> None:
    ends = [persist("one", source("a")), persist("two", step(source("b")))]
    assert [names(job) for job in jobs_of(ends)] == [(["a"], ["one"]), (["b"], ["two"])]
    assert all(job.is_chain for job in jobs_of(ends))


def test_a_step_with_two_inputs_connects_sources() -> None:
    a, b, c = source("a"), source("b"), source("c")
    ends = [persist("of c", c), persist("of a", a), persist("of b", b), persist("both", union(step(a), b))]
    first, second = jobs_of(ends)
    assert names(first) == (["c"], ["of c"])
    assert names(second) == (["a", "b"], ["of a", "of b", "both"])
    assert [trunk.top for trunk in second.trunks] == [a, b]


def test_the_first_end_on_a_trunk_reads_it_once() -> None:
    a, b = source("a"), source("b")
    common = step(a)
    twice, both = persist("twice", union(common, step(common))), persist("both", union(common, b))
    straight = persist("straight", step(step(common)))
    (job,) = jobs_of([twice, both, straight])
    of_a, of_b = job.trunks
    assert (of_a.top, job.first_on(of_a)) == (common, straight)
    assert (of_b.top, job.first_on(of_b)) == (b, None)
    (alone,) = jobs_of([twice])
    assert alone.first_on(alone.trunks[0]) is None


def test_a_trunk_ends_where_records_are_taken_without_their_control_rows() -> None:
    a = source("a")
    (job,) = jobs_of([persist("s", step(union(step(a))))])
    assert not job.is_chain
    assert isinstance(job.trunks[0].top, OperationNode)
    assert job.trunks[0].top.input is a


def test_one_stream_that_is_used_twice_is_not_a_chain() -> None:
    a = source("a")
    (job,) = jobs_of([persist("s", union(a, step(a)))])
    assert not job.is_chain
    assert names(job) == (["a"], ["s"])
    assert job.trunks == (Trunk(a, a),)


def test_without_anything_late_there_is_no_turn() -> None:
    ends = [persist("one", A), persist("two", step(A))]
    assert stages_of(ends) == Stages(tuple(ends), ())


def test_what_hangs_on_a_query_waits_for_the_turn_and_its_records_are_carried_there() -> None:
    counts, before = persist("counts", A), step(A)
    late, early = persist("late", step(query(counts, before))), persist("early", step(A))
    stages = stages_of([counts, late, early])
    assert stages.turn == (late,)
    assert stages.processing[:2] == (counts, early)
    (carried,) = stages.carried
    assert (carried.input, carried.schema) == (before, LAYOUT.schema())
    assert stages.shown == frozenset()


def test_what_is_joined_with_something_late_waits_for_it_and_nothing_else_does() -> None:
    counts, b = persist("counts", A), source("b")
    both = RecordOperationNode(
        cast(RecordOperation, Named("union")), (step(shown(counts)), b), (LAYOUT.schema(), LAYOUT.schema())
    )
    late = persist("late", both)
    stages = stages_of([late, counts])
    assert stages.turn == (late,)
    assert stages.processing[0] is counts
    assert stages.shown == {"counts"}
    assert [carried.input for carried in stages.carried] == [b]


def test_records_that_two_take_are_carried_once_and_in_order_where_one_of_them_is_to_be() -> None:
    counts, common = persist("counts", A), step(A)
    schema = LAYOUT.schema().append(pa.field(ORDER, pa.binary()))
    one = persist("one", query(counts, common))
    two = SinkNode(UnopenedSink("two", schema), query(counts, common))
    (carried,) = stages_of([counts, one, two]).carried
    assert carried.input is common
    assert carried.schema == schema
    (job,) = jobs_of(stages_of([counts, one, two]).processing)
    assert job.ordered == {A}


def test_a_state_is_made_before_what_is_made_of_its_new_values() -> None:
    first = persist("first", A)
    second = persist("second", shown(first))
    third = persist("third", step(shown(second)))
    assert stages_of([third, second, first]).turn == (second, third)
    assert stages_of([third, second, first]).carried == ()


def test_a_stream_that_parts_and_comes_together_again_is_walked_once() -> None:
    """Each level that is walked twice doubles the ways below it."""
    b = source("b")
    node: Node = RecordOperationNode(
        cast(RecordOperation, Named("union")), (shown(persist("counts", A)), b), (LAYOUT.schema(), LAYOUT.schema())
    )
    for _ in range(12):
        sides = (step(node), step(node))
        node = RecordOperationNode(cast(RecordOperation, Named("union")), sides, (LAYOUT.schema(), LAYOUT.schema()))
    assert _crossings(persist("late", node)) == [(b, LAYOUT.schema())]


def of_two_ends(shared: Node, *, own: Callable[[Node], Node] = step) -> list[End]:
    return [persist("one", own(shared)), persist("two", step(step(shared)))]


SOURCE = source("s")
PARTING: dict[str, tuple[bool, list[End]]] = {
    "chain": (True, [persist("s", step(function(step(SOURCE))))]),
    "nothing but a source": (True, [persist("s", SOURCE)]),
    "two ends on one trunk": (True, of_two_ends(step(SOURCE))),
    "an end on a source, another behind a step": (True, [persist("one", SOURCE), persist("two", function(SOURCE))]),
    "user code in the trunk": (False, of_two_ends(function(SOURCE))),
    "user code at the trunk's root": (False, of_two_ends(step(function(SOURCE)))),
    "user code on one end's way": (True, of_two_ends(step(SOURCE), own=function)),
    "user code that two of three share": (False, [*of_two_ends(function(SOURCE)), persist("three", SOURCE)]),
    "record operation": (False, [persist("s", union(SOURCE))]),
    "record operation of one of two": (False, of_two_ends(step(SOURCE), own=union)),
    "two sources": (False, [persist("s", union(SOURCE, source("b")))]),
}


@pytest.mark.parametrize("case", PARTING)
def test_whether_ends_may_go_their_own_ways(case: str) -> None:
    """What a user's function has made is made once for all who use it; so is all whose control rows go round it."""
    can_part, ends = PARTING[case]
    (job,) = jobs_of(ends)
    assert job.can_part is can_part


def test_a_users_function_in_any_of_its_ends_is_one_of_the_job() -> None:
    columns, combiner = (cast(Aggregate, SimpleNamespace(runs_user_code=it_is)) for it_is in (False, True))
    plain: list[End] = [
        replace(persist("s", step(SOURCE)), aggregate=columns),
        SinkNode(UnopenedSink("out", LAYOUT.schema()), SOURCE),
    ]
    for ends, runs in (
        (plain, False),
        ([*plain, SinkNode(UnopenedSink("f", LAYOUT.schema()), function(SOURCE))], True),
        ([*plain, replace(persist("c", SOURCE), aggregate=combiner)], True),
    ):
        (job,) = jobs_of(ends)
        assert job.runs_user_code is runs


def test_what_runs_in_the_turn_is_user_code_too() -> None:
    plain = cast(Aggregate, SimpleNamespace(runs_user_code=False))
    counts = replace(persist("counts", A), aggregate=plain)
    asked, late = query(counts, A), function(query(counts, A))
    for node, runs in ((asked, False), (late, True), (step(late), True)):
        assert topology(counts, replace(persist("late", node), aggregate=plain)).runs_user_code is runs


def test_what_a_stream_would_be_left_without_is_not_taken_out() -> None:
    a, b = source("a"), source("b")
    made = topology(persist("alone", a), persist("one", b), persist("two", b))
    _require_another_end(made, "one")
    _require_another_end(made, "nothing")
    with pytest.raises(ConfigurationError, match=r"'alone' is all that hangs on stream 'a'.*Nothing was changed"):
        _require_another_end(made, "alone")


def test_the_order_is_asked_for_where_an_operation_wants_it() -> None:
    left, right, other = source("left"), source("right"), source("other")
    (job, alone) = jobs_of([persist("a", in_order(step(left), union(right))), persist("b", other)])
    assert job.ordered == {left, right}
    assert alone.ordered == frozenset()
    (grouped,) = jobs_of([persist("a", in_order(OperationNode(cast(Operation, Named("g", makes_groups=True)), left)))])
    assert grouped.ordered == frozenset(), "a group is of no single record"


def rows_of(before: Node) -> OperationNode:
    declared = StructType([StructField("n", LongType())])
    return OperationNode(FlatMapFunction(lambda batch: batch, declared), before)


def grouped(before: Node) -> OperationNode:
    return OperationNode(cast(Operation, Named("g", makes_groups=True)), before)


def reading(name: str, *, of_messages: bool = False, **description: str) -> SourceNode:
    spout = Described(name, said=tuple(description.items()), takes_messages_back=of_messages)
    return SourceNode(name, cast(Spout, spout))


@dataclass(frozen=True)
class Described(Named):
    """Stands for a spout that says what it reads."""

    said: tuple[tuple[str, str], ...] = ()
    takes_messages_back: bool = False

    def description(self) -> dict[str, str]:
        return dict(self.said)


FURTHER: dict[str, tuple[bool, Callable[[Node, Node], Node]]] = {
    "nothing": (True, lambda rows, _: rows),
    "what deals them anew": (True, lambda rows, _: in_order(step(rows))),
    "another branch": (False, lambda rows, own: union(rows, own)),
    "another branch, further down": (False, lambda rows, own: union(step(in_order(rows)), step(own))),
    "itself": (False, lambda rows, _: union(rows, step(rows))),
    "groups of its own": (True, lambda rows, own: union(rows, grouped(own))),
    "in groups": (True, lambda rows, own: union(grouped(rows), own)),
    "of another log": (True, lambda rows, _: union(rows, reading("b", spout="kafka", topics="x,y"))),
    "of another log twice": (
        True, lambda rows, _: union(rows, *[reading(name, spout="memory") for name in ("one", "two")])
    ),
    "the same topic": (False, lambda rows, _: union(rows, reading("b", spout="kafka", topics="t,y"))),
    "perhaps the same topic": (False, lambda rows, _: union(rows, reading("b", spout="kafka", pattern=".*"))),
    "messages of the same topic": (True, lambda rows, _: union(rows, reading("b", of_messages=True, topics="t"))),
    "messages of a stream that is called so": (
        False, lambda rows, _: union(rows, reading("t", of_messages=True, topics="x"))
    ),
    "a spout of a user's": (False, lambda rows, _: union(rows, reading("b", spout="Own"))),
}  # fmt: skip


@pytest.mark.parametrize("further", FURTHER)
def test_a_function_is_given_a_run_only_where_nothing_comes_between_its_rows_further_down(further: str) -> None:
    """Its rows count from the run's first record, so what else is of that log would be before or behind all of them."""
    are_alone, follow = FURTHER[further]
    own = reading("a", spout="kafka", topics="t")
    made = rows_of(own)
    ends = [persist("s", follow(made, own)), persist("other", own)]
    assert topology(*ends).in_runs == ({made.operation} if are_alone else frozenset())


def test_what_stands_between_its_rows_in_the_turn_counts_too() -> None:
    own = reading("a", spout="memory")
    made = rows_of(own)
    kept = persist("kept", own)
    late = union(query(kept, made), own)
    assert topology(kept, persist("s", late)).in_runs == frozenset()
    assert topology(kept, persist("s", query(kept, made))).in_runs == {made.operation}
    assert topology(persist("s", rows_of(step(own)))).in_runs == frozenset(), "a step that may have moved records"
