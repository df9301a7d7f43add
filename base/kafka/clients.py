"""How to reach a cluster, in the words of each client: librdkafka, kafka-python; from one set of dotted options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from trident.base.kafka.known import JAVA
from trident.base.kafka.words import HOSTNAME_CHECK
from trident.base.secrets import Secret, keep_secret

AUTHORITIES: Final = "ssl.ca.location"
OF_THE_SYSTEM: Final = "probe"
"""librdkafka's word for the authorities that the system trusts, which the other clients take without a word."""
_JVM_ONLY: Final = ("sasl.jaas.config", "ssl.truststore.", "ssl.keystore.", "sasl.login.", "ssl.endpoint.")
LEFT_OUT: Final = frozenset(name for name in JAVA if name.startswith(_JVM_ONLY))
"""What may stand in options that are shared with a reader in Java: librdkafka is not told."""
_PYTHON_NAMES: Final = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "ssl.crl.location": "ssl_crlfile",
}


def hidden(options: Mapping[str, str]) -> Secret | None:
    """Return the name under which options may be pickled and shown; None for no options.

    Which of them say how to log in nobody can tell, so all that a user gave hide: a denied list of names would miss
    the next secret option of one of three clients.
    """
    return keep_secret(json.dumps(dict(options), sort_keys=True)) if options else None


def told(secret: Secret | None) -> dict[str, str]:
    """Return hidden options; raises FatalError in a process that was not told."""
    return {} if secret is None else dict(json.loads(secret.text))


def for_librdkafka(options: Mapping[str, str]) -> dict[str, str]:
    """Return the user's options without those that only a JVM understands."""
    return {name: value for name, value in options.items() if name == HOSTNAME_CHECK or not name.startswith(_JVM_ONLY)}


def for_kafka_python(bootstrap_servers: str, options: Mapping[str, str]) -> dict[str, object]:
    """Return how to reach a cluster and log in; the other options do not concern that client."""
    given: dict[str, object] = {
        _PYTHON_NAMES[name]: value
        for name, value in options.items()
        if name in _PYTHON_NAMES and (name, value) != (AUTHORITIES, OF_THE_SYSTEM)
    }
    if options.get(HOSTNAME_CHECK) == "none":
        given["ssl_check_hostname"] = False
    return {**given, "bootstrap_servers": [part.strip() for part in bootstrap_servers.split(",")]}
