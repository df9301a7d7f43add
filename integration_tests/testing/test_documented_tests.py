"""The tests that README.md and docs/testing-topologies.md show pass as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.payments import payments_topology
from trident import Count, Stream, Topology
from trident.spouts import HttpPushSpout, JsonBody
from trident.state import SqliteState
from trident.testing import TopologyTest

ROOT = Path(__file__).parents[2]


def shown(file: str, word: str) -> str:
    """Return the one block of Python in a file that has the word."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if word in block)
    assert isinstance(found, str)
    return found


def test_the_readmes_test_passes_with_the_readmes_topology(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, object] = {"__name__": "job", "spark": spark}
    monkeypatch.setenv("KAFKA", "127.0.0.1:9")
    exec(shown("README.md", "def topology():"), names)
    exec(shown("README.md", "TopologyTest(topology(), spark)"), names)


def test_the_pages_test_passes_with_the_examples_topology(spark: SparkSession) -> None:
    names: dict[str, object] = {"payments_topology": payments_topology}
    exec(shown("docs/testing-topologies.md", "def test_a_payment_is_counted_once"), names)
    test = names["test_a_payment_is_counted_once"]
    assert callable(test)
    test(spark)


def test_the_pages_messages_fail_by_the_function_of_the_page_on_queues(spark: SparkSession) -> None:
    made = Topology("payments")
    spout = HttpPushSpout(port=0, body=JsonBody("account string, amount bigint"))
    names: dict[str, object] = {"topology": made, "spout": spout}
    exec(shown("docs/queues.md", "def check(record"), names)
    payments = names["payments"]
    assert isinstance(payments, Stream)
    payments.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    with TopologyTest(made, spark) as test:
        exec(shown("docs/testing-topologies.md", "FailedRecord("), {"test": test})
        assert test.rows("counts") == [{"account": "ann", "n": 1}]
