"""The last done txid is undone over a real Kafka and a real PostgreSQL: beside the ledger and apart from it."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
import pytest
from confluent_kafka import Producer
from kafka import TopicPartition
from pyspark.sql import SparkSession

import trident
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.kafka_traps.jobs import OPTIONS, Totals, count_of, payments
from integration_tests.spouts.logs import admin_of, produce
from tests.coordinators.test_decisions import dying_at
from trident import Count, MismatchError, PostgresLedger, Sum, Topology
from trident.base.crash_points import CrashPoint
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState


@dataclass
class Job:
    """A topology over one topic, with `balances` beside the ledger and `totals` there or in another database."""

    spark: SparkSession
    kafka: Kafka
    postgres: Postgres
    apart: str | None
    topic: str

    def topology(self) -> Topology:
        topology = Topology("payments")
        source = OpaqueKafkaSpout(
            self.topic,
            bootstrap_servers=self.kafka.bootstrap_servers,
            value=Json("account string, amount bigint"),
        )
        grouped = topology.stream("payments", source).group_by("account")
        for state in (PostgresState("balances"), PostgresState("totals", dsn=self.apart)):
            grouped.persistent_aggregate(state, n=Count(), total=Sum("amount"))
        return topology

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.postgres.dsn)

    def come(self, *numbers: int) -> None:
        """Let records come, and be done in a txid of their own."""
        produce(self.kafka.bootstrap_servers, self.topic, payments(*numbers))
        self.go_on()

    def go_on(self) -> None:
        self.topology().run(self.spark, ledger=self.ledger(), until="caught_up", options=OPTIONS)

    def undo(self) -> None:
        trident.undo(self.topology(), self.ledger(), txid=3)

    def rows(self) -> list[Totals]:
        found: list[Totals] = []
        for state, dsn in (("balances", self.postgres.dsn), ("totals", self.apart or self.postgres.dsn)):
            with psycopg.connect(dsn) as connection:
                rows = connection.execute(f"SELECT account, n, total FROM {state}").fetchall()
            found.append({account: (n, int(total)) for account, n, total in rows})
        return found


def job_of(spark: SparkSession, kafka: Kafka, postgres: Postgres, apart: bool) -> Job:
    """Return a job with two txids done, which know nothing of the accounts `a3` and `a4`, and a third with all five."""
    job = Job(spark, kafka, postgres, postgres.new_dsn() if apart else None, kafka.create_topic(2))
    job.come(0, 1, 2, 5, 6)
    job.come(7, 10)
    job.come(11, 13, 14, 15)
    return job


BEFORE = (0, 1, 2, 5, 6, 7, 10)
ALL = (*BEFORE, 11, 13, 14, 15)


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
def test_a_done_txid_is_taken_back_and_read_again(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, apart: bool
) -> None:
    job = job_of(spark, kafka, postgres, apart)
    assert job.rows() == [count_of(ALL)] * 2
    if apart:
        with dying_at(CrashPoint.AFTER_UNDOING_STATE):
            job.undo()
        assert job.rows()[0] != job.rows()[1]
    job.undo()
    assert job.rows() == [count_of(BEFORE)] * 2
    job.come(20, 21)
    assert job.rows() == [count_of([*ALL, 20, 21])] * 2


def test_what_the_brokers_have_no_more_stays_done(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> None:
    job = job_of(spark, kafka, postgres, apart=False)
    with admin_of(kafka.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(job.topic, 0): len(ALL)})
    with pytest.raises(MismatchError, match="no undo of txid 3: it is done, and stream 'payments' can't read it again"):
        job.undo()
    assert job.rows() == [count_of(ALL)] * 2
    job.come(20)
    assert job.rows() == [count_of([*ALL, 20])] * 2


def test_a_compacted_topic_is_refused(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> None:
    """Its records have keys here, as such a topic wants them; none of them was compacted away yet."""
    job = Job(spark, kafka, postgres, None, kafka.create_topic(1, {"cleanup.policy": "compact,delete"}))
    for number in range(3):
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        (payment,) = payments(number)
        producer.produce(job.topic, value=payment, key=b"%d" % number)
        assert producer.flush(30) == 0
        job.go_on()
    with pytest.raises(MismatchError, match="is compacted"):
        job.undo()
    assert job.rows() == [count_of(range(3))] * 2
