"""Who goes through a page, and the topics that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.pages.walking import Topics, Walk


@pytest.fixture
def topics(kafka: Kafka) -> Iterator[Topics]:
    with closing(Topics(kafka.bootstrap_servers)) as made:
        yield made


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Walk]:
    """Give somebody who goes through a page; which servers there are others say."""
    return lambda page: Walk(page, tmp_path, monkeypatch, capsys)


@pytest.fixture
def servers(topics: Topics, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Topics:
    """Say where both servers are, as `python -m trident.local` has them said; returns the cluster's topics."""
    monkeypatch.setenv("KAFKA", topics.servers)
    monkeypatch.setenv("TRIDENT_LEDGER", postgres.dsn)
    return topics
