"""A real Redis server for local use, from the system's package `redis-server`."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
from typing import Final

from trident.base.errors import ConfigurationError
from trident.local.processes import ServerCommand, free_ports
from trident.local.server import LocalServer

_PROGRAM: Final = "redis-server"


class LocalRedis(LocalServer):
    """A real server with its data in a temporary folder; use it as a context manager.

    It listens on 127.0.0.1 only and asks for a password made for this server. What it has answered is in its log
    file before the answer: `kill()` loses nothing of it. `stop()` and `kill()` keep the data and the port, so that
    `start()` brings the same server back; leaving the block deletes the data.
    """

    stop_signal = signal.SIGTERM
    start_seconds = 30

    def __init__(self) -> None:
        super().__init__("redis")
        self._password = secrets.token_urlsafe(16)
        (self._port,) = free_ports(1)

    def __repr__(self) -> str:
        return f"LocalRedis('127.0.0.1:{self._port}')"

    @property
    def url(self) -> str:
        """Address of the first database for the user who may do everything; it holds the password."""
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    @property
    def address(self) -> str:
        """host:port alone, for who logs in as somebody else."""
        return f"127.0.0.1:{self._port}"

    def _command(self) -> ServerCommand:
        program = shutil.which(_PROGRAM)
        if program is None:
            raise ConfigurationError(
                "Redis' server is not installed: install the system's package redis-server (Debian, as root: "
                "`sh docker/queues`)"
            )
        settings = self._folder / "redis.conf"
        if not settings.exists():
            lines = [
                "bind 127.0.0.1",
                f"port {self._port}",
                f"dir {self._folder}",
                "daemonize no",
                "appendonly yes",
                "appendfsync always",
                'save ""',
                f"requirepass {self._password}",
            ]
            settings.write_text("\n".join(lines) + "\n")
            settings.chmod(0o600)
        return ServerCommand([program, str(settings)], self._folder / "server.log", signal.SIGKILL)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as probe:
                probe.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                said = b""
                while b"PONG" not in said and (more := probe.recv(200)):
                    said += more
                return b"PONG" in said  # while it loads its data it says LOADING
        except OSError:
            return False
