"""Client options in dotted style, translated for the three clients: kafka-python, librdkafka, Spark's JVM connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trident.base.checks import check_text, refused
from trident.base.errors import ConfigurationError
from trident.base.kafka.clients import AUTHORITIES, OF_THE_SYSTEM, for_kafka_python, for_librdkafka, hidden, told
from trident.base.kafka.known import JAVA
from trident.base.kafka.words import HOSTNAME_CHECK, checked_options
from trident.base.secrets import Secret
from trident.spouts.kafka.hiding import ConsumerOptions

_RESERVED: Final = {
    "bootstrap.servers": "bootstrap_servers=",
    "metadata.broker.list": "bootstrap_servers=",
    "isolation.level": "read_committed=",
    "auto.offset.reset": "on_lost_offsets=",
    "enable.auto.commit": "nothing: positions are kept in the ledger",
    "enable.auto.offset.store": "nothing: positions are kept in the ledger",
    "enable.partition.eof": "nothing: the reader needs it",
    "topic.blacklist": "topics=: what the client is to leave out is never read to its end",
}
_BROKERS: Final = "host:port of at least one broker"
_GROUP: Final = "trident-reader"
_LIBRDKAFKA: Final = {
    "group.id": _GROUP,
    "auto.offset.reset": "error",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "fetch.wait.max.ms": "10",
    "fetch.error.backoff.ms": "20",
    "fetch.queue.backoff.ms": "5",
    "max.partition.fetch.bytes": str(2 << 20),
    "queued.min.messages": "60000",
    "queued.max.messages.kbytes": str(64 << 10),
    "socket.nagle.disable": "true",
}
_SMALL: Final = {
    "max.partition.fetch.bytes": str(256 << 10),
    "queued.min.messages": "2000",
    "queued.max.messages.kbytes": str(4 << 10),
}
"""For batches of which each is assigned anew: what was fetched beyond its end is thrown away."""
_JVM: Final = {
    "kafka.group.id": _GROUP,
    "kafka.max.poll.records": "50000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
    "kafka.fetch.max.wait.ms": "10",
}
_LOGIN_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """How to reach a cluster; neither its repr nor its pickled bytes show a value of `client_options`.

    `client_options` are librdkafka's (or the Java client's) dotted names, such as
    `security.protocol`, `sasl.mechanism`, `sasl.username`, `sasl.password`, `ssl.ca.location`; one that neither
    client has is refused by its name.
    """

    bootstrap_servers: str
    read_committed: bool = True
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _check_ports(check_text("bootstrap_servers", self.bootstrap_servers, allowed=_BROKERS))
        object.__setattr__(self, "client_options", checked_options(self.client_options, _RESERVED, JAVA))

    @property
    def isolation_level(self) -> str:
        """Kafka's own word for what is read."""
        return "read_committed" if self.read_committed else "read_uncommitted"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without what the user gave, which may say how to log in."""
        return _restored, (self.bootstrap_servers, self.read_committed, hidden(self.client_options))

    def for_librdkafka(self, *, small: bool = False) -> ConsumerOptions:
        """Return the configuration of a reading consumer, as tasks are told it; a small one fetches little ahead."""
        fixed = {"bootstrap.servers": self.bootstrap_servers, "isolation.level": self.isolation_level}
        defaults = _LIBRDKAFKA | _SMALL if small else _LIBRDKAFKA
        return ConsumerOptions(fixed, defaults, hidden(for_librdkafka(self.client_options)))

    def for_kafka_python(self) -> dict[str, object]:
        """Return the configuration of an admin client: how to reach and log in; other options do not concern it."""
        return for_kafka_python(self.bootstrap_servers, self.client_options)

    def for_spark(self) -> dict[str, str]:
        """Return the options of Spark's JVM connector; raises ConfigurationError for what Java can't be told."""
        given = {name: value for name, value in self.client_options.items() if name not in _FOR_JAVA}
        for translate in (_jaas, _trust, _mechanism, _hostname_check):
            given |= translate(self.client_options)
        fixed = {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            "kafka.isolation.level": self.isolation_level,
        }
        return {**_JVM, **{f"kafka.{name}": value for name, value in given.items()}, **fixed}


def _check_ports(brokers: str) -> None:
    """Refuse a broker without its port: librdkafka would take 9092, and Java none."""
    for broker in brokers.split(","):
        if broker.strip() and not broker.strip().rpartition(":")[2].isdecimal():
            raise refused("bootstrap_servers", _BROKERS, brokers)


def _restored(bootstrap_servers: str, read_committed: bool, given: Secret | None) -> KafkaOptions:
    return KafkaOptions(bootstrap_servers, read_committed, told(given))


def _jaas(options: Mapping[str, str]) -> dict[str, str]:
    if "sasl.username" not in options or "sasl.jaas.config" in options:
        return {}
    mechanism = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or ""
    module = _LOGIN_MODULES.get(mechanism)
    if module is None:
        raise ConfigurationError(
            f"give sasl.jaas.config for the Java client: mechanism {mechanism!r} is not translated"
        )
    user, password = _quoted(options["sasl.username"]), _quoted(options.get("sasl.password", ""))
    return {"sasl.jaas.config": f"{module} required username={user} password={password};"}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _trust(options: Mapping[str, str]) -> dict[str, str]:
    if "ssl.certificate.location" in options and "ssl.keystore.location" not in options:
        raise ConfigurationError(
            "give ssl.keystore.location and ssl.keystore.type for the Java client, or use ArrowReader"
        )
    if options.get(AUTHORITIES, OF_THE_SYSTEM) == OF_THE_SYSTEM or "ssl.truststore.location" in options:
        return {}
    return {"ssl.truststore.location": options[AUTHORITIES], "ssl.truststore.type": "PEM"}


def _mechanism(options: Mapping[str, str]) -> dict[str, str]:
    return {"sasl.mechanism": options["sasl.mechanisms"]} if "sasl.mechanisms" in options else {}


def _hostname_check(options: Mapping[str, str]) -> dict[str, str]:
    return {HOSTNAME_CHECK: ""} if options.get(HOSTNAME_CHECK) == "none" else {}


_FOR_JAVA: Final = frozenset(
    {
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.crl.location",
    }
)
