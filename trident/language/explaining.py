"""What a topology will do, step by step: which stage, lowered to what, per batch or over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trident.engine.compiled import CompiledTopology
from trident.graph.nodes import (
    CarriedNode,
    NewValuesNode,
    Node,
    OperationNode,
    PersistNode,
    QueryNode,
    RecordOperationNode,
    SinkNode,
    SourceNode,
    Way,
)
from trident.graph.turns import is_late
from trident.operations.aggregate import Aggregate

_PROCESSING: Final = "processing, of several batches at once:"
_IN_TURN: Final = "commit turn, one batch at a time, once the txid before is done:"


class ExplainForm(StrEnum):
    """In which form `Topology.explain` tells it."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the graph, numbered."""

    number: int
    says: str
    before: tuple[int, ...]
    in_turn: bool


def steps_of(compiled: CompiledTopology) -> tuple[Step, ...]:
    """Return the steps of a topology, each behind those that it needs; what a turn is carried is its input's affair."""
    numbers: dict[Node | Way, int] = {}
    found: list[Step] = []

    def add(node: Node | Way) -> int:
        if node in numbers:
            return numbers[node]
        inputs = (node.persist,) if isinstance(node, NewValuesNode) else node.inputs
        before = tuple(dict.fromkeys(add(each) for each in inputs))
        numbers[node] = len(numbers) + 1
        found.append(Step(numbers[node], _said(node), before, is_late(node)))
        return numbers[node]

    for end in (*compiled.stages.processing, *compiled.stages.turn):
        if not isinstance(end, CarriedNode):
            add(end)
    return tuple(found)


def explained(compiled: CompiledTopology, form: ExplainForm) -> str:
    """Return the steps in one of the forms."""
    steps = steps_of(compiled)
    match form:
        case ExplainForm.TEXT:
            return _text(compiled.name, steps)
        case ExplainForm.MERMAID:
            return _mermaid(steps)
        case ExplainForm.DOT:
            return _dot(compiled.name, steps)


def _by_stage(steps: Sequence[Step]) -> Iterator[tuple[bool, list[Step]]]:
    """Yield the stages that there are, processing first, each with its steps."""
    for in_turn in (False, True):
        mine = [step for step in steps if step.in_turn is in_turn]
        if mine:
            yield in_turn, mine


def _text(name: str, steps: Sequence[Step]) -> str:
    lines = [f"topology {name!r}"]
    for in_turn, mine in _by_stage(steps):
        lines += ["", _IN_TURN if in_turn else _PROCESSING]
        for step in mine:
            behind = f"   <- {', '.join(map(str, step.before))}" if step.before else ""
            lines.append(f"  {step.number}. {step.says}{behind}")
    return "\n".join(lines)


def _mermaid(steps: Sequence[Step]) -> str:
    lines = ["flowchart TD"]
    for in_turn, mine in _by_stage(steps):
        lines.append(f"    subgraph {'turn[commit turn]' if in_turn else 'processing'}")
        lines += [f'        s{step.number}["{_plain(step.says)}"]' for step in mine]
        lines.append("    end")
    lines += [f"    s{before} --> s{step.number}" for step in steps for before in step.before]
    return "\n".join(lines)


def _dot(name: str, steps: Sequence[Step]) -> str:
    lines = [f'digraph "{_plain(name)}" {{', "    node [shape=box];"]
    for in_turn, mine in _by_stage(steps):
        title = "commit turn" if in_turn else "processing"
        lines.append(f'    subgraph "cluster {title}" {{ label="{title}";')
        lines += [f'        s{step.number} [label="{_plain(step.says)}"];' for step in mine]
        lines.append("    }")
    lines += [f"    s{before} -> s{step.number};" for step in steps for before in step.before]
    return "\n".join([*lines, "}"])


def _plain(text: str) -> str:
    return text.replace('"', "'")


def _said(node: Node | Way) -> str:
    match node:
        case SourceNode():
            return f"stream {node.name!r}: {type(node.spout).__name__}, read and decoded once per attempt"
        case OperationNode():
            return _said_of_operation(node)
        case RecordOperationNode():
            what = "a Python task" if node.operation.runs_user_code else "Spark columns"
            return f"{node.operation.verb}: {what}, within the batch"
        case NewValuesNode():
            return f"new values of state {node.persist.name!r}: by its own rules of merging, per batch"
        case QueryNode():
            return f"state_query of {node.persist.name!r}: as the txid before has left it"
        case PersistNode():
            keys = ", ".join(node.aggregate.keys)
            by = f"by {keys}" if keys else "in one row"
            counted = "Spark's aggregation" + (" and a Python fold" if node.aggregate.runs_user_code else "")
            return (
                f"state {node.name!r} ({node.state.kind.value}) {by}: {counted} per batch, one merge per txid over all"
            )
        case SinkNode():
            return f"sink {node.name!r}: every record once"
        case CarriedNode():
            return "records kept for the turn"


def _said_of_operation(node: OperationNode) -> str:
    operation = node.operation
    what = "a Python task" if operation.runs_user_code else "Spark columns"
    if isinstance(operation, Aggregate):
        by = f" by {', '.join(operation.keys)}" if operation.keys else ""
        return (
            f"aggregate{by}: Spark's aggregation{' and a Python fold' if operation.runs_user_code else ''}, per batch"
        )
    return f"{operation.verb}: {what}"
