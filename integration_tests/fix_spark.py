"""The fixture `spark`: one session for the whole run, with the Kafka connector on its class path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from integration_tests.fix_servers import or_skip
from trident.local.session import local_session


@contextmanager
def _session() -> Iterator[SparkSession]:
    session = local_session("integration-tests", cores=2, connector=True)
    try:
        yield session
    finally:
        session.stop()
        _end_java()


def _end_java() -> None:
    """`stop()` leaves the Java process to the interpreter's end; the tests want to see it go."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            process.wait(timeout=30)
        SparkContext._gateway = None
        SparkContext._jvm = None


@pytest.fixture(scope="session")
def spark(pytestconfig: pytest.Config) -> Iterator[SparkSession]:
    with or_skip(pytestconfig, _session) as session:
        yield session
