"""What a topology says of itself, by its graph alone."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.dsl.graphs import persist, query, shown, source, step, union
from tests.dsl.test_graph import A, topology
from trident.engine.compiled import CompiledTopology
from trident.graph.nodes import PersistNode
from trident.language.explaining import ExplainForm, explained, steps_of
from trident.operations.aggregate import Aggregate


def ends() -> list[PersistNode]:
    plain = cast(Aggregate, SimpleNamespace(keys=("k",), runs_user_code=False, told=lambda: "by k: n = Count()"))
    counts = replace(persist("counts", step(A)), aggregate=plain)
    late = replace(persist("late", step(shown(counts))), aggregate=plain)
    asked = replace(persist("asked", query(counts, union(A, source("b")))), aggregate=plain)
    return [counts, late, asked]


def made() -> CompiledTopology:
    return topology(*ends())


def test_each_step_stands_behind_those_that_it_needs_and_in_its_stage() -> None:
    steps = steps_of(made())
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert all(before < step.number for step in steps for before in step.before)
    says = {step.says.split(":")[0]: step for step in steps}
    assert not says["state 'counts' (opaque) by k"].in_turn
    assert says["state 'late' (opaque) by k"].in_turn
    assert says["new values of state 'counts'"].before == (says["state 'counts' (opaque) by k"].number,)
    assert says["state_query of 'counts'"].in_turn
    assert not says["union"].in_turn
    assert len([step for step in steps if step.says.startswith("stream 'a'")]) == 1, "what two need is one step"


def test_the_text_has_the_stages() -> None:
    text = explained(made(), ExplainForm.TEXT)
    assert text.splitlines()[0] == "topology 't'"
    before, _, turn = text.partition("commit turn")
    assert "state 'counts'" in before
    assert "new values of state 'counts'" in turn
    assert "over all" in before
    assert "commit turn" not in explained(topology(ends()[0]), ExplainForm.TEXT)


@pytest.mark.parametrize(("form", "arrow"), [(ExplainForm.MERMAID, "-->"), (ExplainForm.DOT, "->")])
def test_the_graphs_have_an_arrow_for_each_input(form: ExplainForm, arrow: str) -> None:
    drawn = explained(made(), form)
    arrows = re.findall(rf"s(\d+) {arrow} s(\d+)", drawn)
    wanted = [(str(before), str(step.number)) for step in steps_of(made()) for before in step.before]
    assert sorted(arrows) == sorted(wanted)
    assert drawn.count("subgraph") == 2
