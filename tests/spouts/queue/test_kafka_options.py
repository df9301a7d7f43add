"""Client options that `AckingKafkaSpout` sets by itself: refused with its own reasons."""

from __future__ import annotations

import pytest

from trident.base.errors import ConfigurationError
from trident.spouts.queue.kafka.spout import AckingKafkaSpout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("enable.auto.commit", "positions are kept in the group, and committed when their records are done"),
        ("enable.auto.offset.store", "positions are kept in the group"),
        ("auto.offset.reset", "use start=, which says where a group begins"),
        ("group.id", "use group="),
    ],
)
def test_an_option_is_refused_with_what_this_spout_has_in_its_place(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"client option '{name}' can't be set; .*{said}") as caught:
        AckingKafkaSpout("t", group="g", bootstrap_servers="h:1", client_options={name: "true"})
    assert "ledger" not in str(caught.value)


@pytest.mark.parametrize("brokers", ["localhost", "one:9092, two", "one:kafka", "[::1]"])
def test_a_broker_without_its_port_is_refused_when_the_spout_is_made(brokers: str) -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers must be host:port of at least one broker"):
        AckingKafkaSpout("t", group="g", bootstrap_servers=brokers)


def test_brokers_with_their_ports_are_taken() -> None:
    AckingKafkaSpout("t", group="g", bootstrap_servers="one:9092, [::1]:9093,")


@pytest.mark.parametrize(("other", "is_shared"), [("b:1, a:1", True), ("b:1", True), ("c:1", False), ("a:2", False)])
def test_a_group_is_shared_whichever_of_its_brokers_are_named(other: str, is_shared: bool) -> None:
    one, two = (AckingKafkaSpout("t", group="g", bootstrap_servers=each).shared_out() for each in ("a:1,b:1", other))
    assert bool(set(one) & set(two)) is is_shared
