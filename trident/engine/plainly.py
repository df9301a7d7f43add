"""What of a topology can be had at the two weaker levels, and how its targets are opened there."""

from __future__ import annotations

from functools import partial

from trident.base.errors import ConfigurationError
from trident.base.levels import Level
from trident.engine.staging import Staging
from trident.graph.nodes import End, NewValuesNode, Node, PersistNode, QueryNode
from trident.state.plainly import OpensPlain, PlainSink, PlainState, no_plain_form


def check_node(node: Node, level: Level) -> None:
    """Raise ConfigurationError for what reads values that the topology writes: they stand at no txid there."""
    if not level.is_plain:
        return
    instead = "ask the database itself, by whoever reads the results"
    if isinstance(node, QueryNode):
        raise no_plain_form(f"what is stored in state {node.kept.name!r} (state_query, partition_persist)", instead)
    if isinstance(node, NewValuesNode):
        raise no_plain_form(f"new values of state {node.kept.name!r}", instead)


def check_end(end: End, level: Level) -> None:
    """Raise ConfigurationError for a state or sink that can't be written to without positions."""
    if not level.is_plain:
        return
    if isinstance(end, PersistNode):
        _state_of(end).check_plain(end.layout)
    else:
        _sink_of(end).check_plain()


def opens_plain(end: End) -> OpensPlain:
    """Return how the target of an end is opened."""
    return partial(_state_of(end).open_plain, end.layout) if isinstance(end, PersistNode) else _sink_of(end).open_plain


def staging_at(level: Level, staging: Staging) -> Staging:
    """Return who writes: at most once that is the driver alone, since Spark may run a task again.

    Raises ConfigurationError where tasks are asked for all the same.
    """
    if level is not Level.AT_MOST_ONCE:
        return staging
    if staging is Staging.EXECUTORS:
        raise ConfigurationError(
            f"at level {level} the coordinator's own process writes, since Spark may run a task again that has "
            "written: leave staging out. Nothing was started or changed"
        )
    return Staging.DRIVER


def _state_of(end: PersistNode) -> PlainState:
    if not isinstance(end.state, PlainState):
        raise no_plain_form(f"state {end.name!r} ({type(end.state).__name__})", "take a PostgresState")
    return end.state


def _sink_of(end: End) -> PlainSink:
    assert not isinstance(end, PersistNode)
    if not isinstance(end.sink, PlainSink):
        raise no_plain_form(f"sink {end.name!r} ({type(end.sink).__name__})", "take a KafkaSink or PostgresTable")
    return end.sink
