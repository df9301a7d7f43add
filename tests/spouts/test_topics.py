"""Which topics a pattern means, and how often the brokers are asked for all of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from trident.base.errors import ConfigurationError
from trident.spouts import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.kafka.topics import FoundTopics, TopicPattern

SERVERS = "127.0.0.1:9"


def test_a_pattern_has_to_match_the_whole_name_and_never_means_kafkas_own() -> None:
    pattern = TopicPattern("payments-.*|__.*")
    assert pattern.matches("payments-eu")
    assert not pattern.matches("old-payments-eu")
    assert not TopicPattern("payments").matches("payments-eu")
    assert not pattern.matches("__consumer_offsets")


@pytest.mark.parametrize("pattern", ["", "(", 5])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigurationError, match="pattern"):
        OpaqueKafkaSpout(pattern=pattern, bootstrap_servers=SERVERS)


def test_a_spout_has_names_or_a_pattern() -> None:
    with pytest.raises(ConfigurationError, match="topics and pattern"):
        OpaqueKafkaSpout("a", pattern="a", bootstrap_servers=SERVERS)
    with pytest.raises(ConfigurationError, match="topics"):
        OpaqueKafkaSpout(bootstrap_servers=SERVERS)


def test_the_ledger_is_told_the_pattern_and_not_what_it_finds() -> None:
    spout = TransactionalKafkaSpout(pattern="payments-.*", bootstrap_servers=SERVERS)
    assert spout.description() == {"spout": "kafka", "kind": "transactional", "pattern": "payments-.*"}
    assert spout.reads("payments-eu")
    assert not spout.reads("orders")
    named = TransactionalKafkaSpout(["a", "b"], bootstrap_servers=SERVERS)
    assert named.description() == {"spout": "kafka", "kind": "transactional", "topics": "a,b"}
    assert [named.reads(topic) for topic in ("a", "c")] == [True, False]


class Listing:
    """What brokers answer, and how often they were asked."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.asked = 0

    def __call__(self) -> Iterable[Mapping[str, object]]:
        self.asked += 1
        return [{"name": name, "error_code": 0} for name in self.names]


def test_what_was_found_stands_for_a_while_and_what_was_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("trident.spouts.kafka.topics.time.monotonic", lambda: now[0])
    listing, found = Listing("b", "a", "x"), FoundTopics(TopicPattern("[abc]"))
    assert found.names(listing) == ["a", "b"]
    listing.names = ["c"]
    now[0] += 1.9
    assert found.names(listing) == ["a", "b"]
    assert listing.asked == 1
    now[0] += 0.2
    found.known = frozenset({"a"})
    assert found.names(listing) == ["a", "c"]


def test_a_topic_that_the_brokers_can_not_describe_is_not_found() -> None:
    listing = [{"name": "a", "error_code": 29}, {"name": "b", "error_code": 0}]
    assert FoundTopics(TopicPattern(".")).names(lambda: listing) == ["b"]
