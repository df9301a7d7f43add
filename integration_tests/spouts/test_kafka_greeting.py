"""A wrong login, a certificate nobody trusts and the wrong protocol stop a stream at once, by the option's name."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from integration_tests.fix_servers import or_skip
from integration_tests.spouts.sasl import KafkaWithLogin, login
from trident.base.errors import FatalError, RetryableError
from trident.local.processes import free_ports
from trident.spouts import OpaqueKafkaSpout
from trident.state.kafka.clients.python_cluster import PythonCluster

PASSWORD = "of-ann-only"
WRONG = "hush-hush"


class KafkaWithTls(KafkaWithLogin):
    """A broker with a listener that speaks TLS, beside the one that asks for a password, and the open one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(PASSWORD)
        self.authority = folder / "cert.pem"
        self._keys = folder / "keys.pem"
        (self._tls_port,) = free_ports(1)
        key = folder / "key.pem"
        names = "subjectAltName=IP:127.0.0.1"
        told = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext", names]
        made = ["openssl", *told, "-keyout", str(key), "-out", str(self.authority)]
        subprocess.run(made, check=True, capture_output=True)
        self._keys.write_text(key.read_text() + self.authority.read_text())

    @property
    def encrypted(self) -> str:
        return f"127.0.0.1:{self._tls_port}"

    def _format(self, base: list[str], properties: Path) -> None:
        super()._format(base, properties)
        text = properties.read_text()
        for name in ("listeners", "advertised.listeners", "listener.security.protocol.map"):
            more = ",TLS:SSL" if name.endswith("map") else f",TLS://{self.encrypted}"
            text = "\n".join(line + more if line.startswith(f"{name}=") else line for line in text.splitlines()) + "\n"
        of = "listener.name.tls.ssl.keystore"
        properties.write_text(f"{text}{of}.type=PEM\n{of}.location={self._keys}\n")


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaWithTls]:
    with or_skip(pytestconfig, lambda: KafkaWithTls(tmp_path_factory.mktemp("keys"))) as kafka:
        kafka.create_topic("t")
        yield kafka


def looked(servers: str, options: Mapping[str, str]) -> None:
    spout = OpaqueKafkaSpout("t", bootstrap_servers=servers, client_options=options)
    source = spout.open("clicks")
    try:
        assert source.bounds()
    finally:
        source.close()


def refused(servers: str, options: Mapping[str, str], *said: str) -> None:
    """Both who read and who send hear it, long before their patience ends."""
    began = time.monotonic()
    for ask in (looked, told_of):
        with pytest.raises(FatalError) as caught:
            ask(servers, options)
        for word in (*said, "Nothing was read or sent"):
            assert word in str(caught.value)
        assert WRONG not in str(caught.value)
    assert time.monotonic() - began < 10


def told_of(servers: str, options: Mapping[str, str]) -> None:
    PythonCluster("alerts", servers, options, 60.0).id()


def test_what_is_right_is_let_in(broker: KafkaWithTls) -> None:
    looked(broker.bootstrap_servers, {})
    looked(broker.secured, login(PASSWORD))
    looked(broker.encrypted, {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority)})


def test_a_wrong_password_is_the_logins_fault(broker: KafkaWithTls) -> None:
    refused(broker.secured, login(WRONG), "refuses the login (PLAIN)", "'sasl.password'")


def test_no_login_where_one_is_asked_for(broker: KafkaWithTls) -> None:
    refused(broker.secured, {}, "asks for a login", "'security.protocol' (SASL_PLAINTEXT)")


def test_a_login_in_another_way_than_the_listener_has(broker: KafkaWithTls) -> None:
    other = {**login(WRONG), "sasl.mechanism": "SCRAM-SHA-256"}
    refused(broker.secured, other, "does not take the mechanism SCRAM-SHA-256", "'sasl.mechanism'")
    refused(broker.bootstrap_servers, login(WRONG), "takes no login", "'security.protocol'")
    refused(broker.secured, {k: v for k, v in login(WRONG).items() if k != "sasl.password"}, "'sasl.password'")


def test_an_authority_that_is_not_there_or_is_none(broker: KafkaWithTls, tmp_path: Path) -> None:
    tls = {"security.protocol": "SSL"}
    refused(broker.encrypted, tls | {"ssl.ca.location": "/no"}, "'ssl.ca.location' names a file that is not there")
    refused(broker.encrypted, tls, "is not trusted", "'ssl.ca.location'")
    (tmp_path / "empty.pem").write_text(WRONG)
    refused(
        broker.encrypted, {**tls, "ssl.ca.location": str(tmp_path / "empty.pem")}, "'ssl.ca.location' can't be used"
    )


def test_a_protocol_that_is_not_the_listeners(broker: KafkaWithTls) -> None:
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority)}
    refused(broker.encrypted, {}, "speaks TLS", "'security.protocol' (SSL or SASL_SSL)")
    refused(broker.bootstrap_servers, tls, "does not speak TLS", "'security.protocol' (PLAINTEXT or")
    refused(broker.encrypted, login(WRONG), "speaks TLS")


def test_a_broker_that_is_away_is_asked_again() -> None:
    with pytest.raises(RetryableError, match="no Kafka broker answers"):
        looked("127.0.0.1:1", login(WRONG))
