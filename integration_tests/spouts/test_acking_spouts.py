"""Queues whose messages have ids, on Spark: each message once, whoever is killed, and acked when it is done."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from integration_tests.conftest import Postgres
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout, Misbehaviour
from trident import Count, SqliteLedger, Topology
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, FatalError
from trident.spouts import AckingSpout, Message
from trident.state import SqliteState, SqliteTable

ROOT = Path(__file__).parents[2]
IDS = [f"m{n}" for n in range(23)]


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(IDS)
    return queue


def topology(spout: AckingSpout) -> Topology:
    made = Topology("acking")
    stream = made.stream("messages", spout)
    stream.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    stream.to_table(SqliteTable("accounts"))
    return made


def run(spark: SparkSession, folder: Path, spout: AckingSpout) -> Counter[str]:
    """Run until all is there; returns how often each message was applied, in the state and in the table alike."""
    file = folder / "ledger.sqlite"
    topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        state = dict(connection.execute("SELECT account, n FROM counts").fetchall())
        table = Counter(account for (account,) in connection.execute("SELECT account FROM accounts"))
    assert state == table
    return table


def test_each_message_counts_once_over_runs_lost_acks_and_a_process_that_dies(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    assert run(spark, tmp_path, FileQueueSpout(queue.path, loses_acks=True)) == Counter(IDS)
    queue.put(["new"])
    assert run(spark, tmp_path, FileQueueSpout(queue.path, Misbehaviour(7, "next dies"))) == Counter([*IDS, "new"])
    run(spark, tmp_path, FileQueueSpout(queue.path))
    assert queue.left() == []
    attempts = SqliteLedger(tmp_path / "ledger.sqlite").view().txid("acking", 1).attempts
    (received,) = attempts[-1].received
    assert received.ids == tuple(IDS[: len(received.ids)])


def test_a_large_batch_travels_to_tasks(spark: SparkSession, tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(map(str, range(6_000)))
    spout = FileQueueSpout(queue.path)
    spout.max_batch_size = 5_000
    made = Topology("acking")
    made.stream("messages", spout).each_row(lambda row: str(row["account"]) + "!", "loud string").to_table(
        SqliteTable("accounts")
    )
    made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        found = connection.execute("SELECT count(*), count(DISTINCT loud) FROM accounts").fetchone()
    assert (found, queue.left()) == ((6_000, 6_000), [])


class Unfit(FileQueueSpout):
    def __init__(self, path: Path, unfit: str) -> None:
        super().__init__(path)
        self.unfit = unfit

    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and (Message((4711,), "odd") if message.id == self.unfit else message)


def test_values_that_do_not_fit_stop_the_topology_and_name_their_message(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    text = r"next_tuple\(\) gave the message 'odd' that does not fit the schema: a value of the type int for the field"
    with pytest.raises(FatalError, match=text) as raised:
        run(spark, tmp_path, Unfit(queue.path, "m7"))
    assert "4711" not in str(raised.value)
    assert "m7" in queue.left()
    assert run(spark, tmp_path, Unfit(queue.path, "none")) == Counter(IDS)


def test_explain_says_how_its_messages_are_known(spark: SparkSession, queue: FileQueue) -> None:
    assert "FileQueueSpout), messages known by their ids" in topology(FileQueueSpout(queue.path)).explain()


class Holding(FileQueueSpout):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.connection = sqlite3.connect(path)


class Endless(FileQueueSpout):
    max_pending = 0


class Bare(FileQueueSpout):
    schema = 5  # type: ignore[assignment]  # what a user may say


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Holding, "can't be sent to its process, because of 'connection'"),
        (Endless, "Endless.max_pending must be a whole number above zero"),
        (Bare, "must set schema"),
    ],
)
def test_what_can_not_run_is_refused_when_it_is_built(
    spark: SparkSession, queue: FileQueue, kind: type[FileQueueSpout], text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        topology(kind(queue.path))
    assert queue.pids() == []


class Delivery:
    def __init__(self, message: Message) -> None:
        self.message_id = self.tag = message.id
        self.body = json.dumps({"account": message.id, "amount": "1.50"})


class Channel(FileQueueSpout):
    """Stands for a client of a queue's server."""

    def get(self) -> Delivery | None:
        message = self.next_tuple()
        return None if message is None else Delivery(message)

    def nack(self, tag: str) -> None:
        self.fail(tag)


def connect(url: Path) -> Channel:
    from trident.spouts import SpoutContext

    channel = Channel(url)
    channel.open(SpoutContext("shown", 1))
    return channel


def test_the_spout_that_the_docs_show_takes_a_queue_to_its_end(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    text = (ROOT / "docs" / "language.md").read_text()
    code = next(each.split("```")[0] for each in text.split("```python\n") if "(AckingSpout)" in each.split("```")[0])
    shown: dict[str, object] = {
        "AckingSpout": AckingSpout, "Message": Message, "connect": connect, "__name__": "__main__",
        "json": __import__("json"), "Decimal": __import__("decimal").Decimal,
    }  # fmt: skip
    exec(code, shown)
    make: Callable[[Path], AckingSpout] = shown["Orders"]  # type: ignore[assignment]
    made = Topology("orders")
    made.stream("orders", make(queue.path)).to_table(SqliteTable("orders"))
    made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert connection.execute("SELECT count(DISTINCT account) FROM orders").fetchone() == (23,)
    assert queue.left() == []


def killed(dsn: str, queue: FileQueue, *words: str) -> int:
    command = [sys.executable, "-m", "integration_tests.spouts.acking_job", dsn, str(queue.path), *words]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    return done.returncode


@pytest.mark.verify
@pytest.mark.parametrize("point", [CrashPoint.IN_PIN_TRANSACTION, CrashPoint.AFTER_DONE])
def test_a_process_is_killed_and_each_message_is_applied_once(
    postgres: Postgres, queue: FileQueue, point: CrashPoint
) -> None:
    assert killed(postgres.dsn, queue, point.value) == -signal.SIGKILL
    assert queue.left()
    assert killed(postgres.dsn, queue) == 0
    with psycopg.connect(postgres.dsn) as connection:
        state = connection.execute("SELECT account, n FROM counts").fetchall()
        table = [account for (account,) in connection.execute("SELECT account FROM accounts")]
    assert sorted(state) == sorted((id_, 1) for id_ in IDS)
    assert sorted(table) == sorted(IDS)
    assert queue.left() == []
