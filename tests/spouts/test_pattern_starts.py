"""Where a pattern's topics start: one that is listed but not described is waited for, never taken for a new one."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from kafka import TopicPartition

from trident.base.errors import RetryableError
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.base import StartAt
from trident.spouts.kafka.source import KafkaSource


class Brokers:
    """Answer as brokers with two topics do; each list gives the topics' errors."""

    def __init__(self, listed: dict[str, int], described: dict[str, int]) -> None:
        self.listed = listed
        self.described = described

    def describe_topics(self, names: Iterable[str] | None = None) -> list[dict[str, object]]:
        errors = self.listed if names is None else {name: self.described[name] for name in names}
        return [
            {
                "name": name,
                "error_code": error,
                "topic_id": name,
                "partitions": [] if error else [{"partition_index": 0}],
            }
            for name, error in errors.items()
        ]

    def list_partition_offsets(self, specs: dict[TopicPartition, int], *_: object) -> dict[TopicPartition, object]:
        return {place: SimpleNamespace(offset=7, leader_epoch=0) for place in specs}


def source_of(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> KafkaSource:
    source = OpaqueKafkaSpout(pattern="pay-.*", bootstrap_servers="127.0.0.1:9", start=StartAt.LATEST).open("s")
    assert isinstance(source, KafkaSource)
    monkeypatch.setattr(source, "_connected", lambda: brokers)
    return source


@pytest.mark.parametrize(("listed", "described"), [(5, 0), (3, 0), (0, 3)])
def test_a_start_waits_for_a_topic_that_is_listed_and_not_described(
    listed: int, described: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first in (0, listed or described):
        brokers = Brokers({"pay-a": first if listed else 0, "pay-b": listed}, {"pay-a": 0, "pay-b": described})
        source = source_of(brokers, monkeypatch)
        with pytest.raises(RetryableError, match=r"'pay-b'.*Nothing was read"):
            source.starts()
        brokers.listed = brokers.described = {"pay-a": 0, "pay-b": 0}
        assert [(item.id.topic, item.earliest) for item in source.starts()] == [("pay-a", 7), ("pay-b", 7)]


def test_a_topic_that_may_not_be_described_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(Brokers({"pay-a": 0, "pay-b": 29}, {"pay-a": 0}), monkeypatch)
    assert [item.id.topic for item in source.starts()] == ["pay-a"]


def test_a_running_topology_goes_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(Brokers({"pay-a": 0, "pay-b": 5}, {"pay-a": 0}), monkeypatch)
    assert [item.id.topic for item in source.bounds()] == ["pay-a"]
