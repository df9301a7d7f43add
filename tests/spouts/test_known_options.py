"""A client option that no client has is refused by its name when the object is made, and the nearest one is named."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from trident.base.errors import ConfigurationError
from trident.base.kafka.clients import LEFT_OUT
from trident.base.kafka.known import JAVA, LIBRDKAFKA, check_known
from trident.spouts import AckingKafkaSpout, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state import KafkaSink


def opaque(options: dict[str, str]) -> object:
    return OpaqueKafkaSpout("t", bootstrap_servers="h:1", client_options=options)


def transactional(options: dict[str, str]) -> object:
    return TransactionalKafkaSpout("t", bootstrap_servers="h:1", client_options=options)


def acking(options: dict[str, str]) -> object:
    return AckingKafkaSpout("t", group="g", bootstrap_servers="h:1", client_options=options)


def sink(options: dict[str, str]) -> object:
    return KafkaSink("t", bootstrap_servers="h:1", client_options=options)


@pytest.mark.parametrize("make", [opaque, transactional, acking, sink])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sasl.mecanism", "sasl.mechanism"),
        ("security.protocl", "security.protocol"),
        ("ssl.ca.locaton", "ssl.ca.location"),
        ("sasl_username", "sasl.username"),
        ("session.timeout", "session.timeout.ms"),
        ("ssl.truststore.pasword", "ssl.truststore.password"),
    ],
)
def test_a_misspelled_option_is_refused_where_it_is_given(make: object, name: str, meant: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigurationError) as caught:
        make({name: "hush"})
    assert f"client option {name!r} is none of the Kafka client's; did you mean {meant!r}?" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_what_is_like_nothing_may_be_of_a_plug_in_of_java_and_is_refused_elsewhere_without_a_guess() -> None:
    opaque({"colour": "red"})
    with pytest.raises(ConfigurationError, match="'colour' is none of the Kafka client's\\. Options have"):
        sink({"colour": "red"})


@pytest.mark.parametrize("make", [acking, sink])
def test_what_only_java_reads_with_is_no_option_where_java_does_not_read(make: object) -> None:
    assert callable(make)
    opaque({"default.api.timeout.ms": "5"})
    with pytest.raises(ConfigurationError, match=r"default\.api\.timeout\.ms"):
        make({"default.api.timeout.ms": "5"})
    make({"ssl.truststore.location": "/t"})  # shared with a reader that needs it


def test_every_option_of_the_list_is_one_of_the_client() -> None:
    """One that an older client has not is a newer one's."""
    assert sorted(name for name in LIBRDKAFKA if is_strange(name)) == []


def is_strange(name: str) -> bool:
    with pytest.raises((KafkaException, TypeError)) as caught:  # of another type than a text: known
        Producer({name: "no value of any option", "no.such.option": "0"})
    said = str(caught.value)
    return "No such configuration property" in said and "no.such.option" not in said


@pytest.mark.parametrize("name", ["test.mock.num.brokers", "builtin.features"])
def test_an_option_that_the_list_has_not_is_asked_of_the_client(name: str) -> None:
    assert name not in LIBRDKAFKA
    check_known([name], frozenset())


@pytest.mark.parametrize("name", ["error_cb", "no.such.option", ""])
def test_a_name_that_no_text_can_set_is_known_to_nobody(name: str) -> None:
    with pytest.raises(ConfigurationError, match="none of the Kafka client's"):
        check_known([name], frozenset())


def test_what_is_left_out_of_the_clients_options_is_javas() -> None:
    assert LEFT_OUT <= JAVA
    assert "sasl.jaas.config" in LEFT_OUT
