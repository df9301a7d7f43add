"""Records to Kafka and rows to PostgreSQL beside what is written by hand: `make bench-outputs`.

The payments are produced once, with a text that makes them 100 to 200 bytes; each system reads them on an empty output.
What came out is compared with the generator's records: every payment above zero once. Speed is printed, never judged.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.json as pj
from confluent_kafka import Consumer, Producer, TopicPartition
from psycopg import sql
from rich.table import Table

from benchmarks.measure import deadline_seconds
from benchmarks.processes import ROOT, running
from benchmarks.report import wide_console
from benchmarks.servers import Servers, local_servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.workloads import PARTITIONS, SEED, USUAL, WORKLOADS, Workload
from examples.payments_data import payments

_TEXT = b',"text":"paid in by a customer of a branch, as its teller says"}'
_APPEND_TIMES = {"message.timestamp.type": "LogAppendTime"}
_CHUNK = 50_000
RESULTS = Path(__file__).with_name("results") / "outputs.jsonl"


@dataclass(frozen=True, slots=True)
class Seen:
    """What came out: from when to when, in milliseconds, and which payments."""

    first_ms: float
    last_ms: float
    ids: np.ndarray


@dataclass(frozen=True, slots=True)
class Job:
    """Systems that do the same; the last one is what the others are compared with."""

    systems: tuple[str, ...]
    look: Callable[[Servers, str, str], Seen]


def in_topic(servers: Servers, _: str, output: str) -> Seen:
    """Read a topic as read_committed readers do."""
    options = {"bootstrap.servers": servers.bootstrap_servers, "group.id": uuid.uuid4().hex}
    options |= {"isolation.level": "read_committed", "enable.partition.eof": "true", "enable.auto.commit": "false"}
    consumer = Consumer(options)
    consumer.assign([TopicPartition(output, number, 0) for number in range(PARTITIONS)])
    times: list[int] = []
    found: list[np.ndarray] = []
    ended = 0
    while ended < PARTITIONS:
        messages = consumer.consume(_CHUNK, 1.0)
        ended += sum(message.error() is not None for message in messages)
        values = [message.value() or b"" for message in messages if message.error() is None]
        if values:
            some = [message.timestamp()[1] for message in messages if message.error() is None]
            times += [min(some), max(some)]
            lines = pa.BufferReader(b"\n".join(values))
            read = pj.read_json(lines, pj.ReadOptions(block_size=4 << 20))  # type: ignore[arg-type]
            found.append(read.column("id").to_numpy())
    consumer.close()
    return Seen(min(times, default=0), max(times, default=0), np.concatenate(found or [np.empty(0, np.int64)]))


def in_table(_: Servers, dsn: str, output: str) -> Seen:
    """Read a table, and when the transactions that wrote it were committed."""
    times = "extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000"
    with psycopg.connect(dsn) as connection:
        query = sql.SQL("SELECT min({0})::float8, max({0})::float8 FROM {1}")
        row = connection.execute(query.format(sql.SQL(times), sql.Identifier(output))).fetchone()
        ids = connection.execute(sql.SQL("SELECT id FROM {}").format(sql.Identifier(output))).fetchall()
    return Seen(row[0] if row else 0, row[1] if row else 0, np.fromiter((each[0] for each in ids), np.int64))


JOBS = {
    "kafka": Job(("trident_to_kafka", "trident_to_kafka_bulk", "streaming_to_kafka"), in_topic),
    "append": Job(("trident_append", "copy_by_hand"), in_table),
}


def produce(servers: Servers, workload: Workload) -> np.ndarray:
    """Produce the payments; returns the ids of those above zero."""
    producer = Producer({"bootstrap.servers": servers.bootstrap_servers, "linger.ms": 20, "batch.size": 1_000_000})
    above, number = [], 0
    for chunk in payments(workload.records, SEED):
        for value in chunk:
            producer.produce(workload.topic, value[:-1] + _TEXT, partition=number % PARTITIONS)
            number += 1
        producer.flush(120)
        read = pj.read_json(pa.BufferReader(b"\n".join(chunk)), pj.ReadOptions(block_size=4 << 20))  # type: ignore[arg-type]
        above.append(read.column("id").to_numpy()[read.column("amount").to_numpy() > 0])
    return np.concatenate(above)


def measure(name: str, job: Job, workload: Workload, servers: Servers, logs: Path) -> Seen:
    """Run one system on an empty output."""
    output = f"out_{uuid.uuid4().hex[:12]}"
    servers.make_topic(output, _APPEND_TIMES)
    words = [sys.executable, "-m", f"benchmarks.systems.{name}", "--bootstrap-servers", servers.bootstrap_servers]
    words += ["--topic", workload.topic, "--max-records", str(workload.batch), "--output", output]
    words += ["--expected-records", str(workload.records)]
    with servers.database() as dsn:
        with running(words, ROOT, logs / f"{name}-{workload.name}.log", {DSN_VARIABLE: dsn}) as process:
            process.wait(deadline_seconds(workload.records))
        return job.look(servers, dsn, output)


@dataclass(frozen=True, slots=True)
class Result:
    """How fast one run of one system was."""

    system: str
    workload: Workload
    records_per_s: float
    gap_ms: float
    exact: bool

    def line(self) -> str:
        """Return a line of the results file; the names of the fields are an interface."""
        given = self.workload
        fields = {"system": self.system, "workload": given.name, "records": given.records, "batch": given.batch}
        rates = {"records_per_s": round(self.records_per_s, 1), "gap_ms": round(self.gap_ms, 1), "exact": self.exact}
        return json.dumps({**fields, **rates}) + "\n"


def result_of(system: str, workload: Workload, seen: Seen, expected: np.ndarray) -> Result:
    """Return what a run comes to."""
    seconds = max(seen.last_ms - seen.first_ms, 1.0) / 1000
    gaps = max(workload.records / workload.batch - 1, 1)
    is_exact = np.array_equal(np.sort(seen.ids), expected)
    return Result(system, workload, workload.records / seconds, 1000 * seconds / gaps, is_exact)


def median_of(results: Sequence[Result]) -> Result:
    """Return the run with the median rate, the lower one of two; one that was not exact comes first."""
    wrong = [result for result in results if not result.exact]
    ordered = sorted(results, key=lambda result: result.records_per_s)
    return wrong[0] if wrong else ordered[(len(ordered) - 1) // 2]


def show(results: Sequence[Result]) -> None:
    """Print one line per system of a job: its rate, the time between batches, and both against the last one's."""
    table = Table("system", "workload", "records/s", "ratio", "ms between batches", "ratio", "exact")
    reference = results[-1]
    for each in results:
        rate = [f"{each.records_per_s:,.0f}", f"{each.records_per_s / reference.records_per_s:.2f}"]
        gap = [f"{each.gap_ms:,.0f}", f"{each.gap_ms / reference.gap_ms:.2f}"]
        table.add_row(each.system, each.workload.name, *rate, *gap, "yes" if each.exact else "NO")
    wide_console().print(table)


def run_job(
    job: Job, workload: Workload, rounds: int, expected: np.ndarray, servers: Servers, logs: Path
) -> list[Result]:
    """Run a job's systems turn by turn, then show and return their median rounds."""
    done: dict[str, list[Result]] = {system: [] for system in job.systems}
    for _ in range(rounds):
        for system, results in done.items():
            seen = measure(system, job, workload, servers, logs)
            results.append(result_of(system, workload, seen, expected))
    medians = [median_of(results) for results in done.values()]
    show(medians)
    return medians


def main() -> int:
    """Run the jobs that are asked for; returns 1 where something was not exact."""
    parser = argparse.ArgumentParser(description="Records to Kafka and rows to PostgreSQL beside hand-written systems")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--workloads", nargs="+", choices=USUAL, default=USUAL)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    logs = Path(tempfile.mkdtemp(prefix="trident-outputs-"))
    results: list[Result] = []
    with local_servers() as servers:
        for workload in (each.scaled(given.scale) for each in WORKLOADS if each.name in given.workloads):
            servers.make_topic(workload.topic)
            expected = np.sort(produce(servers, workload))
            for name in given.jobs:
                results += run_job(JOBS[name], workload, given.rounds, expected, servers, logs)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("".join(result.line() for result in results))
    return 0 if all(result.exact for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
