"""A stream of a real broker is given another topic, of which retention has taken a part, and goes back."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaAdminClient, TopicPartition
from pyspark.sql import SparkSession

from integration_tests.conftest import Kafka, Postgres
from integration_tests.kafka_traps.jobs import OPTIONS, count_of, each_spout, payments, totals
from integration_tests.spouts.logs import produce
from trident import Count, PostgresLedger, Sum, Topology
from trident.base.errors import ConfigurationError, MismatchError
from trident.spouts import Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state import PostgresState


def run(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    spout: type[OpaqueKafkaSpout | TransactionalKafkaSpout],
    *topics: str,
    **options: str,
) -> None:
    topology = Topology("traps")
    source = spout(
        topics,
        bootstrap_servers=kafka.bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=7,
        **options,  # type: ignore[arg-type]  # policies by their names
    )
    grouped = topology.stream("payments", source).group_by("account")
    grouped.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=OPTIONS)


@each_spout
def test_a_topic_that_comes_begins_where_it_is_and_stays_once_it_is_read(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    spout: type[OpaqueKafkaSpout | TransactionalKafkaSpout],
) -> None:
    one, two = kafka.create_topic(partitions=2), kafka.create_topic(partitions=3)
    for partition in range(2):
        produce(kafka.bootstrap_servers, one, payments(*range(10)), partition)
    for partition in range(3):
        produce(kafka.bootstrap_servers, two, payments(*range(100, 110)), partition)
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.delete_records({TopicPartition(two, 1): 4})
    run(spark, kafka, postgres, spout, one)
    with pytest.raises(ConfigurationError, match=r"no topic .* create it, or correct the name"):
        run(spark, kafka, postgres, spout, one, f"{two}-misspelt")
    run(spark, kafka, postgres, spout, two, one)
    both = [*range(10), *range(10), *range(100, 110), *range(104, 110), *range(100, 110)]
    assert totals(postgres) == count_of(both)
    with pytest.raises(MismatchError, match=f"reads topic '{two}' no more"):
        run(spark, kafka, postgres, spout, one)
    produce(kafka.bootstrap_servers, one, payments(7), 1)
    produce(kafka.bootstrap_servers, two, payments(109), 2)
    run(spark, kafka, postgres, spout, one, two)
    assert totals(postgres) == count_of([*both, 7, 109])


@each_spout
def test_a_topic_that_comes_may_begin_at_its_end(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    spout: type[OpaqueKafkaSpout | TransactionalKafkaSpout],
) -> None:
    one, two = kafka.create_topic(), kafka.create_topic()
    produce(kafka.bootstrap_servers, one, payments(*range(10)))
    produce(kafka.bootstrap_servers, two, payments(*range(100, 110)))
    run(spark, kafka, postgres, spout, one)
    produce(kafka.bootstrap_servers, one, payments(10))
    run(spark, kafka, postgres, spout, one, two, start="latest")
    produce(kafka.bootstrap_servers, two, payments(110))
    run(spark, kafka, postgres, spout, one, two, start="latest")
    assert totals(postgres) == count_of([*range(11), 110])
