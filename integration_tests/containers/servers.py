"""The images of `docker/` as containers that can be killed and started: Kafka and PostgreSQL."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from docker.client import DockerClient
from docker.errors import DockerException, ImageNotFound
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.image import DockerImage

from trident.base.errors import ConfigurationError
from trident.local.processes import free_ports

ROOT = Path(__file__).parents[2]
BASE = "debian:bookworm-slim"
_START_SECONDS = 90
_BUILD_SECONDS = 900
_MISSING = (
    "{problem}. To run this: `apt-get install docker.io iptables debootstrap` and `sh docker/prepare` as root, "
    "which starts an engine and makes the base image"
)


@dataclass(frozen=True)
class Server:
    """One container that is killed and started as it is told."""

    container: DockerContainer
    answers: Callable[[], bool]

    def kill(self) -> None:
        """SIGKILL its first process, which ends all of them."""
        self.container.get_wrapped_container().kill()

    def start(self) -> None:
        """Start it again with its data, without waiting for it."""
        self.container.get_wrapped_container().start()

    def wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline:
                raise AssertionError(f"the container did not answer: {self.container.get_logs()}")
            time.sleep(0.2)


@dataclass(frozen=True)
class Containers:
    """A broker and a database server."""

    kafka: Server
    bootstrap_servers: str
    postgres: Server
    dsn: str

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        name = f"trident_{secrets.token_hex(6)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.dsn.rpartition("/")[0] + f"/{name}"


@contextmanager
def containers() -> Iterator[Containers]:
    """Build the images, start both; raises ConfigurationError, which says what to install, without an engine."""
    _check_engine()
    testcontainers_config.ryuk_disabled = True  # the image of its reaper is in a registry that may be out of reach
    (kafka_port, postgres_port), password = free_ports(2), secrets.token_urlsafe(12)
    bootstrap = f"127.0.0.1:{kafka_port}"
    dsn = f"postgresql://postgres:{password}@127.0.0.1:{postgres_port}/payments"
    kafka = _container("kafka", 9094, kafka_port).with_env("HOST_PORT", str(kafka_port)).with_kwargs(hostname="kafka")
    postgres = _container("postgres", 5432, postgres_port).with_env("POSTGRES_PASSWORD", password)
    with ExitStack() as stack:
        servers = [Server(kafka, lambda: _kafka_answers(bootstrap)), Server(postgres, lambda: _postgres_answers(dsn))]
        for server in servers:
            stack.enter_context(server.container)
        for server in servers:
            server.wait()
        yield Containers(servers[0], bootstrap, servers[1], dsn)


def _container(name: str, inside: int, outside: int) -> DockerContainer:
    image = DockerImage(
        path=ROOT,
        dockerfile_path=f"docker/{name}/Dockerfile",
        tag=f"trident-test-{name}",
        clean_up=False,
        docker_client_kw={"timeout": _BUILD_SECONDS},
    ).build()
    container = DockerContainer(str(image.tag))
    container.ports[f"{inside}/tcp"] = ("127.0.0.1", outside)  # type: ignore[assignment]  # the engine takes both
    return container


def _check_engine() -> None:
    try:
        engine = DockerClient.from_env()
    except DockerException as error:
        raise ConfigurationError(_MISSING.format(problem="no Docker engine answers")) from error
    try:
        engine.images.get(BASE)
    except ImageNotFound:
        _pull(engine)
    finally:
        engine.close()


def _pull(engine: DockerClient) -> None:
    try:
        engine.images.pull(BASE)
    except DockerException as error:
        raise ConfigurationError(_MISSING.format(problem=f"the image {BASE} can't be pulled")) from error


def _kafka_answers(bootstrap_servers: str) -> bool:
    try:
        KafkaAdminClient(bootstrap_servers=bootstrap_servers, bootstrap_timeout_ms=1000).close()
    except (KafkaError, OSError):
        return False
    return True


def _postgres_answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True
