"""The fixture `spark`: one session for the whole run; the Kafka connector is there only where a test wants it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from integration_tests.fix_servers import or_skip
from trident.base.errors import ConfigurationError
from trident.local.jars import connector_jars
from trident.local.session import local_session

connector = pytest.mark.connector
"""For tests of `SparkReader`: Spark's own Kafka connector must be in the session, or they are skipped."""


@contextmanager
def _session(with_connector: bool) -> Iterator[SparkSession]:
    session = local_session("integration-tests", cores=2, connector=with_connector)
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
def missing_connector(request: pytest.FixtureRequest) -> ConfigurationError | None:
    """Why the connector can't be in the session; it is only looked for when a selected test is marked with it."""
    if not any(item.get_closest_marker("connector") for item in request.session.items):
        return ConfigurationError("no test of this run is marked with `connector`")
    try:
        connector_jars()
    except ConfigurationError as error:
        return error
    return None


@pytest.fixture(scope="session")
def spark(pytestconfig: pytest.Config, missing_connector: ConfigurationError | None) -> Iterator[SparkSession]:
    with or_skip(pytestconfig, lambda: _session(missing_connector is None)) as session:
        yield session


@pytest.fixture(autouse=True)
def connector_where_marked(request: pytest.FixtureRequest) -> None:
    """Skip a marked test where the connector can't be had; fail it under --require-servers."""
    if request.node.get_closest_marker("connector") is None:
        return
    missing: ConfigurationError | None = request.getfixturevalue("missing_connector")
    if missing is None:
        return
    if request.config.getoption("--require-servers"):
        raise missing
    pytest.skip(f"SparkReader's tests need Spark's Kafka connector: {missing}")
