"""The job that is tormented: two streams of the same payments, an opaque and a transactional one, a state for each.

It may have a sink as well, to which the opaque stream's payments go, in PostgreSQL over an outbox, in SQLite directly.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from datetime import timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from chaos.databases import is_postgres
from chaos.words import ADDRESS, FUNCTION_FAILS, FUNCTION_HANGS, say
from trident import (
    Count,
    PostgresLedger,
    RunOptions,
    SqliteLedger,
    Staging,
    Sum,
    Topology,
    recommended_options,
)
from trident.coordinators.ledger import Ledger
from trident.local.spark_cluster import QUICK_JAVA
from trident.spouts import Json, OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.state import KafkaSink, PostgresState, SqliteState, StateKind
from trident.state.target import State

TOPOLOGY = "chaos"
OPAQUE, TRANSACTIONAL = "opaque_balances", "transactional_balances"
SINK = "sent"
LEASE_SECONDS = 6.0
HANG_SECONDS = 240
"""Far longer than any batch may take: only a speculative copy of the task can save it."""
_FAILS_FOR_SURE, _HANGS_FOR_SURE = 12, 24
"""These calls of all workers together; the first attempt of a task from the second on."""
_STUBBORN = 5
_QUIET_LOG = Path(__file__).parents[1] / "trident" / "executor" / "quiet-log4j2.properties"


class Sends(msgspec.Struct, frozen=True):
    """Where the sink sends."""

    bootstrap_servers: str
    topic: str
    markers: str

    @property
    def transactional_id(self) -> str:
        return f"{TOPOLOGY}.{SINK}"


class JobSettings(msgspec.Struct, frozen=True):
    """All that a driver needs to know; every driver of a run gets the same but for its proxies' addresses."""

    master: str
    bootstrap_servers: str
    topic: str
    ledger: str
    """An address in PostgreSQL, or the path of a SQLite file; states without another address are there too."""
    apart_dsn: str | None
    """Where the opaque state lives; None: beside the ledger, as the other one."""
    max_records: int
    by_executors: bool
    seed: int
    folder: str
    """Where a user function leaves marks, shared by all workers."""
    sends: Sends | None = None

    @property
    def staging(self) -> Staging:
        return Staging.EXECUTORS if self.by_executors else Staging.AUTO


class Misbehaves(msgspec.Struct, frozen=True):
    """A user's filter that now and then fails or hangs, drawn from the seed and the records that it is given.

    Two calls do so for sure, so that no run is too short for it.
    """

    seed: int
    folder: str

    def __call__(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Keep payments above zero, as `amount > 0` would."""
        first = batch.column("id")[0].as_py() if batch.num_rows else None
        context = TaskContext.get()
        if first is not None and context is not None:
            self._misbehave(int(first), context.attemptNumber())
        return pc.greater(batch.column("amount"), pa.scalar(0))

    def _misbehave(self, first: int, attempt: int) -> None:
        # Spark puts no copy of a task on a host that has had any attempt of it, a failed one included: with two
        # hosts only a first attempt may hang, and its copy must not fail.
        drawn = random.Random(f"{self.seed}/{first}").random()
        call = self._mark("calls")
        if attempt == 0 and (drawn < 0.03 or (call >= _FAILS_FOR_SURE and self._mark("fails-for-sure") <= 1)):
            say("worker", FUNCTION_FAILS)
            raise ValueError("this user function fails at a task's first attempt")
        if 0.03 <= drawn < 0.045 and attempt == 0 and self._mark(f"hang-{first}") <= 1:
            self._hang()
        if drawn >= 0.055 and call >= _HANGS_FOR_SURE and attempt == 0 and self._mark("hangs-for-sure") <= 1:
            self._hang()
        if 0.045 <= drawn < 0.055 and self._mark(f"stubborn-{first}") < _STUBBORN:
            say("worker", FUNCTION_FAILS)
            raise ValueError("this user function fails until Spark gives the job up")

    def _hang(self) -> None:
        """Hang, unless another task does: two of them would take every core, and leave none for a copy."""
        with Path(self.folder, "hanging").open("w") as alone:
            try:
                fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel lets go of it when the worker is ended
            except BlockingIOError:
                return
            say("worker", FUNCTION_HANGS)
            time.sleep(HANG_SECONDS)

    def _mark(self, name: str) -> int:
        """Count the calls, over all workers and attempts."""
        with Path(self.folder, name).open("a") as marks:
            marks.write("x")
            return marks.tell()


def topology_of(settings: JobSettings) -> Topology:
    """Return the topology; needs an active Spark session."""
    topology = Topology(TOPOLOGY)
    record = Json("id bigint, account string, amount bigint")
    spouts = {
        "opaque": OpaqueKafkaSpout(
            settings.topic,
            bootstrap_servers=settings.bootstrap_servers,
            value=record,
            max_records_per_batch=settings.max_records,
            reader=ArrowReader(here_records=0),  # by tasks, that can be killed; the other one by the driver
        ),
        "transactional": TransactionalKafkaSpout(
            settings.topic,
            bootstrap_servers=settings.bootstrap_servers,
            value=record,
            max_records_per_batch=settings.max_records,
        ),
    }
    states = _states(settings)
    positive: dict[str, Misbehaves | Column] = {
        "opaque": Misbehaves(settings.seed, settings.folder),
        "transactional": F.col("amount") > 0,  # no function of Python's: read by the driver, its plans run again
    }
    for name, spout in spouts.items():
        stream = topology.stream(name, spout).filter(positive[name])
        stream.group_by("account").persistent_aggregate(states[name], n=Count(), total=Sum("amount"), ids=Sum("id"))
        if settings.sends is not None and name == "opaque":
            stream.to_kafka(
                settings.sends.topic,
                key="account",
                value=F.to_json(F.struct("id", "amount")),
                sink=_sink(settings.sends),
            )
    return topology


def _states(settings: JobSettings) -> dict[str, State]:
    if is_postgres(settings.ledger):
        return {
            "opaque": PostgresState(OPAQUE, dsn=settings.apart_dsn),
            "transactional": PostgresState(TRANSACTIONAL, kind=StateKind.TRANSACTIONAL),
        }
    return {
        "opaque": SqliteState(OPAQUE),
        "transactional": SqliteState(TRANSACTIONAL, kind=StateKind.TRANSACTIONAL),
    }


def _sink(sends: Sends) -> KafkaSink:
    """Return a sink whose client asks again soon: what it has asked before may come in the meantime."""
    options = {"socket.timeout.ms": "2000"}
    return KafkaSink(
        SINK, bootstrap_servers=sends.bootstrap_servers, marker_topic=sends.markers, client_options=options
    )


def session_of(settings: JobSettings) -> SparkSession:
    """Start Spark's driver with retries and speculation on."""
    options: dict[str, bool | float | int | str | None] = {
        **recommended_options(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f'-Dlog4j2.configurationFile="{_QUIET_LOG}" {QUICK_JAVA}',
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.daemon.module": "chaos.daemon",
        f"spark.executorEnv.{ADDRESS}": os.environ[ADDRESS],
        "spark.task.maxFailures": "4",
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        # By default a task counts as slow after six times the median when its rows are not counted, as here.
        "spark.speculation.efficiency.enabled": "false",
        "spark.speculation.task.duration.threshold": "3s",
    }
    return SparkSession.builder.master(settings.master).appName(TOPOLOGY).config(map=options).getOrCreate()


def ledger_of(settings: JobSettings) -> Ledger:
    return PostgresLedger(settings.ledger) if is_postgres(settings.ledger) else SqliteLedger(settings.ledger)


def options_of() -> RunOptions:
    return RunOptions(lease=timedelta(seconds=LEASE_SECONDS), retry_pause=timedelta(milliseconds=50))
