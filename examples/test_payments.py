"""Tests of the payments job as its team would write them: no Kafka, no Postgres, no waiting.

    pytest examples/test_payments.py

The topology is the one that runs in production; its topic and its table are exchanged by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

# run as a file or as a module, it finds what lies beside it
sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.payments import payments_topology
from trident import ConfigurationError, local_session
from trident.testing import CrashPoint, TopologyTest, check_exactly_once


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Return one session for all tests: it is what takes long."""
    session = local_session("payments-test", cores=2)
    yield session
    session.stop()


def payments_test(spark: SparkSession) -> TopologyTest:
    """Return the production topology, ready to be given batches."""
    return TopologyTest(payments_topology("broker:9092", "payments", 1_000), spark)


def test_payments_are_counted_and_summed(spark: SparkSession) -> None:
    """Over batches, with what is not above zero left out."""
    with payments_test(spark) as test:
        test.batch({"payments": [{"account": "ann", "amount": 5}, {"account": "bob", "amount": 7}]})
        test.batch({"payments": [("ann", 10), ("ann", -3), (None, 1)]})
        assert test.rows("balances") == [
            {"account": None, "n": 1, "total": 1},
            {"account": "ann", "n": 2, "total": 15},
            {"account": "bob", "n": 1, "total": 7},
        ]


def test_a_payment_is_counted_once_wherever_the_job_dies(spark: SparkSession) -> None:
    """Every border between two effects is died at once."""
    topology = payments_topology("broker:9092", "payments", 1_000)
    deaths = check_exactly_once(topology, spark, [{"payments": [("ann", 5), ("bob", 7)]}])
    assert len(deaths) >= 8


def test_what_comes_in_while_the_job_is_down_is_counted_once(spark: SparkSession) -> None:
    """An opaque batch that was not decided holds more when it is tried again."""
    with payments_test(spark) as test:
        before, meanwhile = [("ann", 5)], [("ann", 100)]
        test.batch(
            {"payments": before}, dies_at=CrashPoint.AFTER_PROCESSING, retried_with={"payments": before + meanwhile}
        )
        assert test.rows("balances") == [{"account": "ann", "n": 2, "total": 105}]


def test_a_field_that_the_job_does_not_read_is_told(spark: SparkSession) -> None:
    """A misspelt field is no null."""
    with payments_test(spark) as test, pytest.raises(ConfigurationError, match="names 'amont', no field of it"):
        test.batch({"payments": [{"account": "ann", "amont": 5}]})
