"""The broker dies while a task reads, and comes back: the run goes on, and every record counts once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from integration_tests.conftest import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.fix_servers import or_skip
from integration_tests.kafka_traps.jobs import OPTIONS, totals
from integration_tests.spouts.logs import produce
from trident import Count, PostgresLedger, Sum, Topology
from trident.local.kafka import LocalKafka
from trident.spouts import Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.decoders.base import Decoder, RawRecords, TaskDecoder
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.state import PostgresState

RECORDS = 200
PADDING = b"x" * 20_000
SMALL_FETCHES = {"queued.max.messages.kbytes": "200", "queued.min.messages": "5", "max.partition.fetch.bytes": "50000"}
"""So that a task has read only a part when the broker dies: the rest is not fetched ahead."""


@dataclass(frozen=True)
class Waiting:
    """Waits in the reading task, after its first chunk, until the broker is dead; once."""

    inner: Decoder
    folder: str

    def describe(self) -> str:
        return self.inner.describe()

    def compile(self, spark: SparkSession) -> WaitingTask:
        return WaitingTask(self.inner.compile(spark), self.folder)


@dataclass(frozen=True)
class WaitingTask:
    inner: TaskDecoder
    folder: str

    @property
    def schema(self) -> StructType:
        return self.inner.schema

    @property
    def task_schema(self) -> StructType:
        return self.inner.task_schema

    @property
    def wants_headers(self) -> bool:
        return self.inner.wants_headers

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        yield from self.inner.decode(records)
        folder = Path(self.folder)
        (folder / "reading").touch()
        if (folder / "alive again").exists():
            (folder / "read on").touch()
        deadline = time.monotonic() + 30
        while not (folder / "dead").exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def quick(self) -> WaitingTask:
        return WaitingTask(self.inner.quick(), self.folder)

    def finish(self, frame: DataFrame) -> DataFrame:
        return self.inner.finish(frame)


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config) -> Iterator[LocalKafka]:
    """A broker of these tests' own: the shared one must live."""
    with or_skip(pytestconfig, LocalKafka) as local:
        yield local


@pytest.mark.verify
@pytest.mark.parametrize(
    ("spout", "stall_seconds"),
    [(OpaqueKafkaSpout, 60), (TransactionalKafkaSpout, 1)],
    ids=["opaque, the task waits", "transactional, the task gives up"],
)
def test_a_broker_that_dies_in_mid_read(
    spark: SparkSession,
    broker: Any,
    postgres: Postgres,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    spout: Any,
    stall_seconds: Any,
) -> None:
    topic = Kafka(broker.bootstrap_servers).create_topic()
    values = [b'{"account": "a%d", "amount": %d, "padding": "%s"}' % (n % 3, n, PADDING) for n in range(RECORDS)]
    produce(broker.bootstrap_servers, topic, values)
    topology = Topology("traps")
    source = spout(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        value=Waiting(Json("account string, amount bigint"), str(tmp_path)),
        reader=ArrowReader(chunk_records=10, stall_seconds=stall_seconds),
        client_options=SMALL_FETCHES,
        max_records_per_batch=RECORDS - 20,
        connect_timeout=2.0,
    )
    grouped = topology.stream("payments", source).group_by("account")
    grouped.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    summary: list[object] = []

    def work() -> None:
        ledger = PostgresLedger(postgres.dsn)
        summary.append(topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_for(tmp_path / "reading")
        broker.kill()
        (tmp_path / "dead").touch()
        time.sleep(1.5)
    finally:
        (tmp_path / "alive again").touch()
        broker.start()
        thread.join(90)
    assert not thread.is_alive()
    assert summary
    assert (tmp_path / "read on").exists()
    assert ("Kafka sent nothing for 1 s" in caplog.text) is (stall_seconds == 1)
    numbers = [range(first, RECORDS, 3) for first in range(3)]
    assert totals(postgres) == {f"a{first}": (len(part), sum(part)) for first, part in enumerate(numbers)}


@pytest.mark.verify
def test_a_broker_that_is_silent_is_named_once_and_so_is_its_end(
    spark: SparkSession, broker: Any, postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Kafka(broker.bootstrap_servers).create_topic()
    produce(broker.bootstrap_servers, topic, [b'{"account": "a", "amount": 1}'])
    topology = Topology("traps")
    source = OpaqueKafkaSpout(
        topic, bootstrap_servers=broker.bootstrap_servers, value=Json("account string, amount bigint")
    )
    grouped = topology.stream("payments", source).group_by("account")
    grouped.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            topology.run(spark, ledger=PostgresLedger(postgres.dsn), options=OPTIONS)
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_until(lambda: totals(postgres) == {"a": (1, 1)})
        os.kill(broker.pid, signal.SIGSTOP)
        wait_until(lambda: f"Kafka at {broker.bootstrap_servers} has not answered for 5 s" in caplog.text)
        wait_until(lambda: "It is tried again for up to 120 s" in caplog.text)  # by the second try it is silent still
        time.sleep(6)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    produce(broker.bootstrap_servers, topic, [b'{"account": "a", "amount": 2}'])
    wait_until(lambda: totals(postgres) == {"a": (2, 3)})
    topology.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert not failed
    warned = [each.message for each in caplog.records if each.levelname == "WARNING" and "Kafka at" in each.message]
    assert [("has not answered" in each, "answers again" in each) for each in warned if "failed" not in each] == [
        (True, False),
        (False, True),
    ]


def wait_until(is_there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
