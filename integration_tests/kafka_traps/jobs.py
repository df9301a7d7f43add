"""Topologies that count a Kafka topic into Postgres, and what a plain count of the same records gives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast
from zlib import crc32

import psycopg
import pytest
from _pytest.mark.structures import ParameterSet
from pyspark.sql import SparkSession

from integration_tests.conftest import Kafka, Postgres
from integration_tests.fix_spark import connector
from tests.effort import base_seed, effort
from trident import Count, PostgresLedger, RunOptions, RunSummary, Sum, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import RetryableError
from trident.spouts import Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.spark import SparkReader
from trident.state import PostgresState

Test = TypeVar("Test", bound=Callable[..., object])
Totals = dict[str | None, tuple[int, int | None]]
OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10), max_pending=1, max_tries=4)
"""One batch at a time, so that a test knows what is done when it meddles with the next one."""

_PAIRS = {
    "opaque-arrow": pytest.param(OpaqueKafkaSpout, ArrowReader(chunk_records=3, here_records=0), id="opaque-arrow"),
    "opaque-spark": pytest.param(OpaqueKafkaSpout, SparkReader(), marks=connector, id="opaque-spark"),
    "transactional-arrow": pytest.param(TransactionalKafkaSpout, ArrowReader(), id="transactional-arrow"),
    "transactional-spark": pytest.param(
        TransactionalKafkaSpout, SparkReader(), marks=connector, id="transactional-spark"
    ),
}
_READERS = {
    "arrow": pytest.param(ArrowReader(), id="arrow"),
    "spark": pytest.param(SparkReader(), marks=connector, id="spark"),
}


def _long_or_drawn(names: str | tuple[str, ...], parameters: Sequence[ParameterSet]) -> Callable[[Test], Test]:
    """Set a trap once, drawn by the base seed and the test's name, or in the long form for all of them."""

    def decorate(test: Test) -> Test:
        drawn = (crc32(test.__name__.encode()) + base_seed()) % len(parameters)
        chosen = parameters if effort().every_pair else (parameters[drawn],)
        test = pytest.mark.parametrize(names, chosen)(test)
        return cast("Test", pytest.mark.verify(short=True)(test))

    return decorate


every_pair = _long_or_drawn(("spout", "reader"), tuple(_PAIRS.values()))
crosswise = _long_or_drawn(("spout", "reader"), (_PAIRS["opaque-spark"], _PAIRS["transactional-arrow"]))
each_reader = _long_or_drawn("reader", tuple(_READERS.values()))
each_spout = pytest.mark.parametrize("spout", [OpaqueKafkaSpout, TransactionalKafkaSpout], ids=["opaque", "transact"])


def payments(*numbers: int, account: str | None = None) -> list[bytes]:
    """Return a payment per number: five accounts, the number as its amount."""
    return [b'{"account": "%s", "amount": %d}' % ((account or f"a{n % 5}").encode(), n) for n in numbers]


def count_of(numbers: Iterable[int]) -> Totals:
    totals: Totals = {}
    for number in numbers:
        n, total = totals.get(f"a{number % 5}", (0, 0))
        totals[f"a{number % 5}"] = (n + 1, (total or 0) + number)
    return totals


def totals(postgres: Postgres) -> Totals:
    """Return what a user's query sees; nothing before the first run."""
    with psycopg.connect(postgres.dsn) as connection:
        if connection.execute("SELECT to_regclass('balances')").fetchone() == (None,):
            return {}
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    return {account: (n, None if total is None else int(total)) for account, n, total in rows}


def query(postgres: Postgres, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(postgres.dsn) as connection:
        return connection.execute(statement).fetchall()


def losses(postgres: Postgres) -> list[tuple[Any, ...]]:
    """Return (txid, partition, start, stop, status) of every recorded loss."""
    return query(postgres, "SELECT txid, partition, start_offset, stop_offset, status FROM trident_loss ORDER BY 1, 2")


def counting(
    kafka: Kafka, topic: str | Sequence[str], spout: type = OpaqueKafkaSpout, limit: int | None = 10, **options: Any
) -> Topology:
    """Return the topology that counts and sums payments per account into the table `balances`."""
    topology = Topology("traps")
    source = spout(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=limit,
        **options,
    )
    grouped = topology.stream("payments", source).group_by("account")
    grouped.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    return topology


def run(topology: Topology, spark: SparkSession, postgres: Postgres, options: RunOptions = OPTIONS) -> RunSummary:
    return topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up", options=options)


@dataclass(frozen=True)
class Meddling:
    """What happens the first time that the coordinator comes to a point with each of the txids."""

    point: CrashPoint
    txids: tuple[int, ...]
    action: Callable[[int], None]


@contextmanager
def meddling(*given: Meddling) -> Iterator[None]:
    """Meddle with a run inside the block; all that was given must have happened by its end."""
    left = {(item.point, txid): item.action for item in given for txid in item.txids}
    lock = threading.Lock()

    def reached(point: CrashPoint, txid: int) -> None:
        with lock:
            action = left.pop((point, txid), None)
        if action is not None:
            action(txid)

    with armed(reached):
        yield
    assert not left, f"the run never came to {sorted((str(point), txid) for point, txid in left)}"


def _fail(txid: int) -> None:
    raise RetryableError(f"a test lets the first attempt at txid {txid} fail")


def first_attempts_fail(*txids: int) -> Meddling:
    """Let the first attempt at each of the txids fail after it was read to its end."""
    return Meddling(CrashPoint.AFTER_PROCESSING, txids, _fail)


def when_planned(*txids: int, then: Callable[[int], None]) -> Meddling:
    """Do something to the topic while a batch that is planned waits to be read."""
    return Meddling(CrashPoint.AFTER_PLAN, txids, then)
