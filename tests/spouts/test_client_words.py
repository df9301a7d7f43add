"""Options that are words of a fixed set: all three clients are told the same, or the spout is refused."""

from __future__ import annotations

import pytest

from trident.base.errors import ConfigurationError
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.kafka.options import KafkaOptions

LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "hush"}
HOSTNAME = "ssl.endpoint.identification.algorithm"


def told(options: dict[str, str]) -> tuple[dict[str, object], dict[str, str], dict[str, str]]:
    """Return what kafka-python, librdkafka and Java are told."""
    given = KafkaOptions("h:1", True, options)
    return given.for_kafka_python(), given.for_librdkafka().whole(), given.for_spark()


@pytest.mark.parametrize("spelling", ["SASL_SSL", "sasl_ssl", "Sasl_Ssl", " sasl_ssl "])
def test_the_coordinator_logs_in_as_its_tasks_do(spelling: str) -> None:
    """kafka-python talks without a login where it does not know the protocol."""
    python, rd, java = told({"security.protocol": spelling, **LOGIN})
    assert {python["security_protocol"], rd["security.protocol"], java["kafka.security.protocol"]} == {"SASL_SSL"}


@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
def test_a_mechanism_has_one_spelling(name: str) -> None:
    python, rd, java = told({"sasl.username": "me", "sasl.password": "hush", name: "scram-sha-256"})
    assert (python["sasl_mechanism"], rd[name], java["kafka.sasl.mechanism"]) == ("SCRAM-SHA-256",) * 3
    assert "ScramLoginModule" in java["kafka.sasl.jaas.config"]


@pytest.mark.parametrize("off", ["none", "None", "NONE", "", " "])
def test_no_client_checks_a_hostname_or_all_do(off: str) -> None:
    python, rd, java = told({HOSTNAME: off})
    assert (python["ssl_check_hostname"], rd[HOSTNAME], java[f"kafka.{HOSTNAME}"]) == (False, "none", "")
    python, rd, java = told({HOSTNAME: "HTTPS"})
    assert (python.get("ssl_check_hostname", True), rd[HOSTNAME], java[f"kafka.{HOSTNAME}"]) == (True, "https", "https")


def test_the_authorities_of_the_system_are_no_file() -> None:
    python, rd, java = told({"ssl.ca.location": "probe"})
    assert ("ssl_cafile" in python, rd["ssl.ca.location"]) == (False, "probe")
    assert not [name for name in java if "truststore" in name]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"security.protocol": "hush"}, "security.protocol"),
        ({"security.protocol": ""}, "security.protocol"),
        ({"sasl.mechanism": "hush"}, "sasl.mechanism"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism"),
        ({HOSTNAME: "hush"}, HOSTNAME),
        ({"Security.Protocol": "SSL"}, "Security.Protocol"),
        ({"security.protocol ": "SSL"}, "security.protocol "),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "GSSAPI"}, "sasl.mechanisms"),
    ],
)
def test_what_no_client_is_known_to_take_is_refused_by_its_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpaqueKafkaSpout("t", bootstrap_servers="h:1", client_options=options)
    assert repr(named) in str(caught.value)
    assert "hush" not in str(caught.value)
