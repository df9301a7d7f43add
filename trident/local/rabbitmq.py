"""A real RabbitMQ server for local use, from the system's package `rabbitmq-server`."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trident.base.checks import check_text, refused
from trident.base.errors import ConfigurationError
from trident.local.processes import ServerCommand, ServerProcess, free_ports
from trident.local.server import LocalServer

_PROGRAM: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The program itself: the one on the path changes to a user of its own, whose folders are the system's."""
_USER: Final = "trident"
_MAY_ALL: Final = (".*", ".*", ".*")


class LocalRabbit(LocalServer):
    """A real server with its data in a temporary folder; use it as a context manager.

    It listens on 127.0.0.1 only, and so does the name server of its Erlang, which is its own and ends with it. One
    user may do everything in the vhost `/`, with a password made for this server; `rights` adds users: to a name what
    it may configure, write and read there (regular expressions for names). `stop()` and `kill()` keep the data and
    the ports, so that `start()` brings the same server back; leaving the block deletes the data.
    """

    stop_signal = signal.SIGTERM
    start_seconds = 120

    def __init__(self, rights: Mapping[str, tuple[str, str, str]] | None = None) -> None:
        self._rights = {_USER: _MAY_ALL, **_checked(rights)}
        super().__init__("rabbitmq")
        self._password = secrets.token_urlsafe(16)
        self._port, self._between_nodes, self._names = free_ports(3)
        self._name_server: ServerProcess | None = None

    def __repr__(self) -> str:
        return f"LocalRabbit('127.0.0.1:{self._port}')"

    @property
    def url(self) -> str:
        """Address of the vhost `/` for the user who may do everything; it holds the password."""
        return self.url_of(_USER)

    def url_of(self, user: str, *, vhost: str = "%2F") -> str:
        """Return the address for one of the users; it holds the password, which all of them share."""
        check_text("user", user)
        check_text("vhost", vhost)
        return f"amqp://{user}:{self._password}@127.0.0.1:{self._port}/{vhost}"

    def launch(self) -> None:
        """Start the server and the name server that it needs, without waiting; a no-op while they run."""
        if self._name_server is None or not self._name_server.is_alive:
            words = ["epmd", "-port", str(self._names), "-address", "127.0.0.1"]
            log = self._folder / "epmd.log"
            self._name_server = ServerProcess(ServerCommand([_found(words[0]), *words[1:]], log, signal.SIGKILL))
        super().launch()

    def close(self) -> None:
        """End both and delete the data; may be called again."""
        if self._process is not None:
            self._process.kill()
        if self._name_server is not None:
            self._name_server.kill()
        super().close()

    def _command(self) -> ServerCommand:
        program = _found(str(_PROGRAM))
        if not (self._folder / "rabbitmq.conf").exists():
            self._configure()
        return ServerCommand(
            # the program runs in the place of the script only if it may read: else a shell would be between us and it
            [program, "-noinput"],
            self._folder / "server.log",
            signal.SIGKILL,
            environment=self._environment() | {"RABBITMQ_ALLOW_INPUT": "1"},
            folder=self._folder,
        )

    def _environment(self) -> dict[str, str]:
        folder = self._folder
        # nothing of a server that the system may have: neither its settings nor its folders nor its cookie
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"{folder.name}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(self._between_nodes),
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_CONF_ENV_FILE": str(folder / "no-settings"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"
            ),
        }

    def _configure(self) -> None:
        (self._folder / "enabled_plugins").write_text("[].\n")
        definitions = self._folder / "definitions.json"
        definitions.write_text(json.dumps(self._definitions()))
        definitions.chmod(0o600)
        settings = [
            f"load_definitions = {definitions}",
            "loopback_users = none",
            "log.console.level = warning",
            "disk_free_limit.absolute = 50MB",
            "vm_memory_high_watermark.absolute = 512MB",
        ]
        (self._folder / "rabbitmq.conf").write_text("\n".join(settings) + "\n")

    def _definitions(self) -> dict[str, object]:
        users = [
            {"name": name, "password": self._password, "tags": "administrator" if name == _USER else ""}
            for name in self._rights
        ]
        permissions = [
            {"user": name, "vhost": "/", "configure": configure, "write": write, "read": read}
            for name, (configure, write, read) in self._rights.items()
        ]
        return {"vhosts": [{"name": "/"}], "users": users, "permissions": permissions}

    def _answers(self) -> bool:
        # a server that takes connections before its users are known answers nobody yet: it greets when it serves
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as probe:
                probe.sendall(b"AMQP\x00\x00\x09\x01")
                return probe.recv(1) == b"\x01"
        except OSError:
            return False


def _checked(rights: Mapping[str, tuple[str, str, str]] | None) -> dict[str, tuple[str, str, str]]:
    allowed = "a mapping of users to what each may configure, write and read, as in {'ann': ('^$', '^$', '.*')}"
    found = {} if rights is None else rights
    if not isinstance(found, Mapping):
        raise refused("rights", allowed, rights)
    for name, may in found.items():
        check_text("a name in rights", name)
        if not isinstance(may, tuple) or len(may) != len(_MAY_ALL) or not all(isinstance(each, str) for each in may):
            raise refused("rights", allowed, may)
    return dict(found)


def _found(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise ConfigurationError(
            "RabbitMQ's server is not installed: install the system's package rabbitmq-server (Debian, as root: "
            "`sh docker/queues`)"
        )
    return found
