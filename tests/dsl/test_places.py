"""Places that a topology's sinks write to, as they are looked at before a run."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from trident.base.errors import ConfigurationError
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.engine.compiled import CompiledTopology
from trident.engine.places import check_places
from trident.graph.nodes import SinkNode, SourceNode
from trident.spouts import OpaqueKafkaSpout
from trident.state import KafkaSink

SPOUT = OpaqueKafkaSpout("payments", bootstrap_servers="h:9092")


def end(name: str, servers: str, topic: str, markers: str = "trident-markers") -> SinkNode:
    sink = KafkaSink(name, bootstrap_servers=servers, marker_topic=markers)
    return SinkNode(sink, SourceNode("read", SPOUT), {"topic": topic})


def check(*ends: SinkNode) -> None:
    check_places(CompiledTopology("orders", {"read": SPOUT}, ends), DEFAULT_TIMEOUTS)


def clusters(monkeypatch: pytest.MonkeyPatch, ids: Mapping[str, str]) -> None:
    """Let servers be of these clusters; those of no cluster are away."""
    monkeypatch.setattr(KafkaSink, "require_topic", lambda sink, *_: ids.get(sink.bootstrap_servers))


@pytest.mark.parametrize(
    ("topic", "servers", "is_told"),
    [
        ("payments", "h:9092", True),
        ("payments", "g:9092, H:9092", True),
        ("alerts", "h:9092", False),
        ("payments", "elsewhere:9092", False),
    ],
)
def test_a_sink_that_writes_to_what_its_topology_reads_is_told(
    topic: str, servers: str, is_told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clusters(monkeypatch, {})
    with caplog.at_level(logging.WARNING, "trident.engine"):
        check(end("alerts", servers, topic))
    assert ("writes to topic payments, which stream read of it reads" in caplog.text) is is_told


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("servers", "ids"),
    [
        ("h:1", {"h:1": "one"}),
        ("h:2,h:1", {"h:1": "one", "h:2,h:1": "one"}),
        ("proxy:7", {"h:1": "one", "proxy:7": "one"}),
        ("H:1, h:2,", {}),
        ("h:2,h:1", {"h:1": "one"}),
    ],
    ids=["same words", "another order", "another address", "both away", "one away"],
)
def test_another_sinks_markers_are_no_topic_of_records(
    servers: str, ids: Mapping[str, str], is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters(monkeypatch, ids)
    ends = [end("a", "h:1", "out", "marks"), end("b", servers, "marks")]
    with pytest.raises(
        ConfigurationError, match=r"sink 'b' .* writes to topic 'marks', in which sink 'a' keeps .* drop"
    ):
        check(*(ends if is_first else ends[::-1]))


@pytest.mark.parametrize(
    ("servers", "ids"),
    [("h:1", {"h:1": "one"}), ("g:1", {}), ("h:2", {"h:1": "one", "h:2": "two"}), ("g:1", {"h:1": "one"})],
)
def test_a_topic_of_that_name_elsewhere_and_one_marker_topic_for_two_are_fine(
    servers: str, ids: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters(monkeypatch, ids)
    check(end("a", "h:1", "out", "marks"), end("b", servers, "out" if servers == "h:1" else "marks", "marks-of-b"))
    check(end("a", "h:1", "out", "marks"), end("b", servers, "out", "marks"))
