"""What a topology will do, step by step: which stage, lowered to what, per batch or over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trident.base.levels import Level
from trident.coordinators.options import Audit
from trident.engine.auditing import account_of
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
from trident.operations.called import called, shortened
from trident.operations.needs import TaskNeeds
from trident.spouts.base import lives_in_process
from trident.spouts.queue.spout import QueueSpout
from trident.state.layout import Merge
from trident.state.row_tables.sink import RowSink

_NONE: Final[Mapping[Node | Way, str]] = {}
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


def steps_of(
    compiled: CompiledTopology,
    names: Mapping[Node | Way, str] = _NONE,
    loose: Sequence[Node] = (),
    audit: Audit = Audit.OFF,
) -> tuple[Step, ...]:
    """Return the steps of a topology, each behind those that it needs; what a turn is carried is its input's affair.

    With an audit each says whether it is held to account.
    `names` are those that streams were given behind their sources; `loose` are the nodes that nothing follows yet.
    """
    numbers: dict[Node | Way, int] = {}
    found: list[Step] = []

    def add(node: Node | Way) -> int:
        if node in numbers:
            return numbers[node]
        inputs = (node.persist,) if isinstance(node, NewValuesNode) else node.inputs
        before = tuple(dict.fromkeys(add(each) for each in inputs))
        numbers[node] = len(numbers) + 1
        name = f" (stream {names[node]!r})" if node in names else ""
        ends = ", and ends in nothing yet" if node in loose else ""
        audited = f"; {_audited(node)}" if audit is Audit.ON else ""
        said = _said(node, compiled.level)
        found.append(Step(numbers[node], f"{said}{name}{ends}{audited}", before, is_late(node)))
        return numbers[node]

    for end in (*compiled.stages.processing, *compiled.stages.turn):
        if not isinstance(end, CarriedNode):
            add(end)
    for node in loose:
        add(node)
    return tuple(found)


def explained(
    compiled: CompiledTopology,
    form: ExplainForm,
    names: Mapping[Node | Way, str] = _NONE,
    loose: Sequence[Node] = (),
    audit: Audit = Audit.OFF,
) -> str:
    """Return the steps in one of the forms; see `steps_of`."""
    steps = steps_of(compiled, names, loose, audit)
    match form:
        case ExplainForm.TEXT:
            return _text(compiled.name, steps, compiled.level)
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


def _text(name: str, steps: Sequence[Step], level: Level) -> str:
    lines = [f"topology {name!r}" + ("" if steps else ": no streams yet")]
    if level.is_plain:
        lines.append(f"level {level}, not exactly_once: {level.not_promised}")
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
        lines += [f'        s{step.number}["{_entities(step.says)}"]' for step in mine]
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
    return text.replace("\\", "\\\\").replace('"', "'")


def _entities(text: str) -> str:
    """Return a text that Mermaid shows as it is: it takes what is in angle brackets for HTML."""
    return text.replace('"', "'").replace("<", "#lt;").replace(">", "#gt;")


def _audited(node: Node | Way) -> str:
    if is_late(node):
        return "not audited"
    if isinstance(node, OperationNode | RecordOperationNode) and account_of(node.operation) is None:
        return "not audited, its rows are counted as new ones"
    return "audited"


def _said(node: Node | Way, level: Level) -> str:
    match node:
        case SourceNode():
            spout = type(node.spout).__name__
            if lives_in_process(node.spout):
                return (
                    f"stream {node.name!r}: {spout}, non-transactional: received once and kept in the coordinator's "
                    "process; not exactly once from end to end"
                )
            if isinstance(node.spout, QueueSpout):
                return (
                    f"stream {node.name!r}: {node.spout!r}, messages known by their ids, acked when their batch is done"
                )
            return f"stream {node.name!r}: {spout}, read and decoded once per attempt"
        case OperationNode():
            return _said_of_operation(node)
        case RecordOperationNode():
            return f"{called(node.operation)}: {_work_of(node)}, within the batch"
        case NewValuesNode():
            return (
                f"new values of state {node.persist.name!r}: a batch's net change by key, by its own rules of merging"
            )
        case QueryNode():
            by = f" by {', '.join(node.asked.keys)}" if node.asked.keys else ""
            return f"state_query of {node.kept.name!r}{by}: as the txid before has left it, whatever this batch adds"
        case PersistNode():
            if all(column.merge is Merge.REPLACE for column in node.layout.values):
                by = f"by {', '.join(node.aggregate.keys)}" if node.aggregate.keys else "in one row"
                return f"state {node.name!r} ({node.state.kind.value}) {by}: what its updater says, once per txid"
            by = "" if node.aggregate.keys else "in one row: "
            kind = level.value if level.is_plain else node.state.kind.value
            merged = "merged as it comes" if level.is_plain else "one merge per txid over all"
            return (
                f"state {node.name!r} ({kind}) {by}{shortened(node.aggregate.told())}; "
                f"{_counted(node.aggregate, node.needs)} per batch, {merged}"
            )
        case SinkNode():
            return _said_of_sink(node, level)
        case CarriedNode():
            return "records kept for the turn"


def _said_of_operation(node: OperationNode) -> str:
    operation = node.operation
    if isinstance(operation, Aggregate):
        return f"{called(operation)}; {_counted(operation, node.needs)}, per batch"
    return f"{called(operation)}: {_work_of(node)}"


def _work_of(node: OperationNode | RecordOperationNode) -> str:
    return f"a Python task{_needed(node.needs)}" if node.operation.runs_user_code else "Spark columns"


def _counted(aggregate: Aggregate, needs: TaskNeeds) -> str:
    return f"Spark's aggregation{f' and a Python fold{_needed(needs)}' if aggregate.runs_user_code else ''}"


def _needed(needs: TaskNeeds) -> str:
    return f", {needs.told()}" if needs.told() else ""


def _said_of_sink(node: SinkNode, level: Level) -> str:
    said = node.sink.description()
    often = f"every record {level.value.replace('_', ' ')}" if level.is_plain else "every record once"
    if isinstance(node.sink, RowSink):
        key = f" by {said['key']}" if said.get("key") else ""
        return f"to_table, sink {node.name!r}: {said['write']}{key}, {often}"
    topic = "" if "topic" not in node.description else f" of topic {node.description['topic']!r}"
    return f"to_kafka, sink {node.name!r}{topic}: {often}"
