"""The reliability study's path on a real broker and database, for a few of its runs and few numbers."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from reliability.cases import Case, Fault
from reliability.scene import Scene
from trident import Level

pytestmark = pytest.mark.verify
CASES = [
    Case(Level.AT_MOST_ONCE, Fault.NONE, 0, 4_000),
    # more than two batches: a run that has lost all that it had ends with an error
    Case(Level.AT_MOST_ONCE, Fault.WORKER, 1, 25_000),
    Case(Level.AT_LEAST_ONCE, Fault.AFTER_EMIT, 2, 4_000),
    Case(Level.EXACTLY_ONCE, Fault.ACKER, 1, 4_000),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.level}, {case.faults} times {case.fault}")
def test_each_level_keeps_its_word_on_the_study_s_path(
    case: Case, kafka: Kafka, postgres: Postgres, spark: SparkSession
) -> None:
    def make_topic(name: str, partitions: int) -> str:
        return kafka.create_topic(partitions, name=name)

    outcome = Scene(kafka.bootstrap_servers, make_topic, postgres.new_dsn, spark).play(case)
    assert outcome.problem is None
    assert outcome.struck == case.faults
