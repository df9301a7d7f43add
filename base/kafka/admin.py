"""Asking a cluster by kafka-python's admin client: who can be reached at all, and which topics there are."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka.admin import KafkaAdminClient

from trident.base.errors import ConfigurationError
from trident.base.kafka.clients import for_kafka_python
from trident.base.kafka.greeting import check_greeting
from trident.base.kafka.logs import keep_secrets_out_of_logs

UNKNOWN_TOPIC: Final = 3
"""Kafka's number for a topic that is not there."""
_PATIENCE: Final = 1.0
"""Seconds in which a topic that was created just now becomes known to the broker that is asked."""
_PAUSE: Final = 0.1


def is_reachable(servers: str, timeout: float) -> bool:
    """Tell whether a broker accepts a connection; raises ConfigurationError for what is not host:port.

    Clients of kafka-python keep a thread when they can't bootstrap, so one is made only when a broker is there.
    """
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout).close()
        except OSError:
            continue
        except ValueError as error:
            raise ConfigurationError(f"bootstrap_servers: {server.strip()!r} is not host:port") from error
        return True
    return False


def admin_of(servers: str, options: Mapping[str, str], timeout_ms: int) -> KafkaAdminClient:
    """Return a client of a cluster that can be reached; raises FatalError where it does not take the options."""
    keep_secrets_out_of_logs()
    check_greeting(servers, options, timeout_ms / 1000)
    return KafkaAdminClient(
        **for_kafka_python(servers, options), request_timeout_ms=timeout_ms, bootstrap_timeout_ms=timeout_ms
    )


def described(admin: KafkaAdminClient, topics: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the brokers say of each topic; of one that they do not know once they were given a little time."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        found: list[dict[str, Any]] = admin.describe_topics(list(topics))
        if time.monotonic() > deadline or all(topic["error_code"] != UNKNOWN_TOPIC for topic in found):
            return found
        time.sleep(_PAUSE)
