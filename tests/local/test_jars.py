from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trident.base.errors import ConfigurationError, RetryableError
from trident.local import jars


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIDENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    monkeypatch.setattr(jars, "find_java", lambda: Path("java"))
    return tmp_path / "cache"


class Repository:
    """Stands for Ivy: counts calls and fails as often as told, leaving half of its files behind."""

    def __init__(self, failures: int = 0) -> None:
        self.calls = 0
        self.failures = failures

    def __call__(self, java: Path, partial: Path, module: tuple[str, str, str]) -> None:
        self.calls += 1
        partial.mkdir(parents=True, exist_ok=True)
        (partial / f"kafka-clients-{module[2]}.jar").touch()
        if self.calls <= self.failures:
            raise RetryableError("connection reset")
        for name in (
            "spark-sql-kafka-0-10_2.13",
            "scala-library",
            "commons-pool2",
            "spark-token-provider-kafka-0-10_2.13",
        ):
            (partial / f"{name}-{module[2]}.jar").touch()


def test_jars_are_fetched_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository()
    monkeypatch.setattr(jars, "_retrieve", repository)
    first = jars.connector_jars("9.9.9")
    assert jars.connector_jars("9.9.9") == first
    assert repository.calls == 1
    assert {jar.parent for jar in first} == {cache / "spark-kafka-9.9.9"}


def test_the_connector_brings_only_what_pyspark_lacks(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_retrieve", Repository())
    names = {jar.name.removesuffix("-9.9.9.jar") for jar in jars.connector_jars("9.9.9")}
    assert names == {
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
        "kafka-clients",
        "commons-pool2",
    }


def test_a_failed_fetch_is_tried_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(failures=2)
    monkeypatch.setattr(jars, "_retrieve", repository)
    assert jars.kafka_classpath("9.9.9")
    assert repository.calls == 3


def test_half_a_fetch_is_never_taken_for_a_whole_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_retrieve", Repository(failures=3))
    with pytest.raises(ConfigurationError, match=r"could not be fetched.*connection reset"):
        jars.kafka_classpath("9.9.9")
    assert not (cache / "kafka-9.9.9").exists()


def test_processes_at_once_fetch_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """flock holds between open files, so threads stand for processes here."""
    repository = Repository()
    monkeypatch.setattr(jars, "_retrieve", repository)
    threads = [threading.Thread(target=jars.kafka_classpath, args=("9.9.9",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert repository.calls == 1
