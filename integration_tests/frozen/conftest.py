"""The line on which the tests of this folder keep things back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from integration_tests.fix_postgres import Postgres
from trident.testing.postgres_proxy import PostgresProxy

SECONDS = 120


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[PostgresProxy]:
    """Yield a proxy that cuts every connection where a test would wait for ever, which fails it."""
    with PostgresProxy(postgres.dsn) as found:
        has_expired = threading.Event()

        def expire() -> None:
            has_expired.set()
            found.cut()

        watchdog = threading.Timer(SECONDS, expire)
        watchdog.start()
        try:
            yield found
        finally:
            watchdog.cancel()
        assert not has_expired.is_set(), f"it has waited for {SECONDS} s"
