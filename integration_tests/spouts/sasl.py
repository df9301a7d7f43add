"""A broker that asks for a password, at a port of its own beside the open one."""

from __future__ import annotations

from pathlib import Path

from trident.local.kafka import LocalKafka
from trident.local.processes import free_ports

USER = "ann-the-user"
_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def login(password: str) -> dict[str, str]:
    """Return the client options of the one user."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": password,
    }


class KafkaWithLogin(LocalKafka):
    """A broker with one user; `secured` is where that one logs in."""

    def __init__(self, password: str) -> None:
        super().__init__()
        self._password = password
        (self._port,) = free_ports(1)

    @property
    def secured(self) -> str:
        """Address of the listener that asks for a login."""
        return f"127.0.0.1:{self._port}"

    def _format(self, base: list[str], properties: Path) -> None:
        super()._format(base, properties)
        listener = f",LOGIN://{self.secured}"
        text = properties.read_text()
        for name in ("listeners", "advertised.listeners", "listener.security.protocol.map"):
            more = ",LOGIN:SASL_PLAINTEXT" if name.endswith("map") else listener
            lines = [line + more if line.startswith(f"{name}=") else line for line in text.splitlines()]
            text = "\n".join(lines) + "\n"
        text += "sasl.enabled.mechanisms=PLAIN\n"
        text += f'listener.name.login.plain.sasl.jaas.config={_LOGIN_MODULE} required user_{USER}="{self._password}";\n'
        properties.write_text(text)
