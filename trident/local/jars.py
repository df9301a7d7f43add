"""Jars that PySpark does not ship, fetched once into a cache folder by the Ivy that it does ship."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from trident.base.errors import ConfigurationError, RetryableError
from trident.local.java import find_java

KAFKA_VERSION = "4.1.1"
"""The broker that is started for local use."""

_CONNECTOR_PARTS = ("spark-sql-kafka-0-10_", "spark-token-provider-kafka-0-10_", "kafka-clients-", "commons-pool2-")


def cache_folder() -> Path:
    """Return where jars are kept: `$TRIDENT_CACHE`, else `~/.cache/trident`."""
    given = os.environ.get("TRIDENT_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "trident"


def kafka_classpath(version: str = KAFKA_VERSION) -> tuple[Path, ...]:
    """Return the class path of a Kafka broker, logging included; fetches what is missing.

    May be called from several processes at once: one fetches, the others wait for it. Raises
    `ConfigurationError` when Java is missing or the jars can't be fetched; nothing is left half done.
    """
    jars = _fetched(f"kafka-{version}", "org.apache.kafka", "kafka_2.13", version)
    # Kafka's own dependencies name a logging interface and no implementation: PySpark ships one
    shipped = sorted(_pyspark_jars().glob("*.jar"))
    logging = [jar for jar in shipped if jar.name.startswith(("slf4j-api-", "log4j-slf4j2-impl-", "log4j-api-"))]
    return (*logging, *jars)


def connector_jars(version: str | None = None) -> tuple[Path, ...]:
    """Return Spark's Kafka connector and the jars it needs beyond PySpark's own, for `spark.jars`.

    The version is PySpark's own unless given. Same guarantees as `kafka_classpath`.
    """
    wanted = version or pyspark.__version__
    jars = _fetched(f"spark-kafka-{wanted}", "org.apache.spark", f"spark-sql-kafka-0-10_{_scala()}", wanted)
    return tuple(jar for jar in jars if jar.name.startswith(_CONNECTOR_PARTS))


def _pyspark_jars() -> Path:
    return Path(pyspark.__path__[0]) / "jars"


def _scala() -> str:
    core = next(_pyspark_jars().glob("spark-core_*.jar"))
    return core.name.removeprefix("spark-core_").split("-")[0]


def _fetched(folder_name: str, organisation: str, module: str, version: str) -> tuple[Path, ...]:
    folder = cache_folder() / folder_name
    if not folder.is_dir():
        with locked(folder):
            if not folder.is_dir():  # another process may have fetched it while this one waited
                _fetch(folder, organisation, module, version)
    return tuple(sorted(folder.glob("*.jar")))


@contextmanager
def locked(made: Path) -> Iterator[None]:
    """Let one process at a time make what is not there yet."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name(made.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go when the file is closed, also by a death
        yield


def _fetch(folder: Path, organisation: str, module: str, version: str) -> None:
    java = find_java()
    attempts = Retrying(
        retry=retry_if_exception_type(RetryableError),
        stop=stop_after_attempt(3),
        wait=wait_exponential(multiplier=2, max=10),
        reraise=True,
    )
    partial = folder.with_name(folder.name + ".partial")
    try:
        attempts(_retrieve, java, partial, (organisation, module, version))
    except RetryableError as error:
        raise ConfigurationError(
            f"{organisation}:{module}:{version} could not be fetched from the Maven repository, so nothing was "
            f"started. Check the network, or copy its jars to {folder}. Ivy said: {error}"
        ) from error
    partial.rename(folder)  # whole or not at all: a folder that is there is complete


def _retrieve(java: Path, partial: Path, module: tuple[str, str, str]) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    ivy = next(_pyspark_jars().glob("ivy-*.jar"))
    pattern = f"{partial}/[artifact]-[revision].[ext]"
    command = [str(java), "-jar", str(ivy), "-dependency", *module, "-confs", "default", "-retrieve", pattern]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if answer.returncode != 0 or not any(partial.glob("*.jar")):
        lines = [line.strip() for line in answer.stdout.splitlines() if "not found" in line or "ERROR" in line]
        raise RetryableError(" ".join(lines[-3:]) or f"exit code {answer.returncode}")
