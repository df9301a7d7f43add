"""Places that a topology's sinks write to, as they are looked at before a run."""

from __future__ import annotations

import logging

import pytest

from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.engine.compiled import CompiledTopology
from trident.graph.nodes import SinkNode, SourceNode
from trident.spouts import OpaqueKafkaSpout
from trident.state import KafkaSink


@pytest.mark.parametrize(
    ("topic", "servers", "is_told"),
    [("payments", "h:9092", True), ("alerts", "h:9092", False), ("payments", "elsewhere:9092", False)],
)
def test_a_sink_that_writes_to_what_its_topology_reads_is_told(
    topic: str, servers: str, is_told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(KafkaSink, "require_topic", lambda *_: None)
    spout = OpaqueKafkaSpout("payments", bootstrap_servers="h:9092")
    sink = SinkNode(KafkaSink("alerts", bootstrap_servers=servers), SourceNode("read", spout), {"topic": topic})
    with caplog.at_level(logging.WARNING, "trident.engine"):
        CompiledTopology("orders", {"read": spout}, (sink,)).check_places(DEFAULT_TIMEOUTS)
    assert ("writes to topic payments, which stream read of it reads" in caplog.text) is is_told
