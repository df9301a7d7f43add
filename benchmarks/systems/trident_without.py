"""The payments example without what exactly-once adds: a ledger in memory, and values alone in the table.

There is no durable plan, pin or record of a commit, no position of the state, no txid and no previous value beside a
value; a transaction of the database is one COPY and the same merge. Whatever kills it between two commits loses or
repeats records. All else is the example's: the session, the spout, the coordinator and its threads, the batches.

Nothing in the database tells when a batch was committed. Its clock is the coordinator's own, read right behind the
answer to COMMIT: later than the server's own time, which the other systems have, by the flush of the commit record and
the way back, some milliseconds at most and alike for every batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import psycopg

from benchmarks.history import NOTED
from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.paid import paid
from benchmarks.systems.plain_state import PlainState
from benchmarks.systems.trident_run import run_on
from trident import Count, MemoryLedger, Sum, Topology
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.base import TransactionStep
from trident.coordinators.pinned import Commit, Pin

_TABLE = (
    f"CREATE TABLE {NOTED} (id bigint PRIMARY KEY, committed_at float8 NOT NULL, stretches jsonb NOT NULL, "
    "planned_at float8 NOT NULL, plan_ms int NOT NULL, process_ms int NOT NULL)"
)
_INSERT = f"INSERT INTO {NOTED} VALUES (%s, %s, %s, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class _Note:
    committed_at: float
    pin: Pin
    commit: Commit

    def row(self) -> tuple[object, ...]:
        plan, commit = self.pin.plan, self.commit
        ranges = (item.range for item in plan.ranges)
        stretches = [(each.id.partition, each.start, each.stop) for each in ranges if each.width]
        steps = (plan.batch_time.timestamp(), commit.plan_ms, commit.process_ms)
        return (plan.txid, self.committed_at, json.dumps(stretches), *steps)


class NotingLedger(MemoryLedger):
    """A ledger in memory that notes when each batch was committed, as this process saw it."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: list[_Note] = []
        self.records = 0
        """How many records are committed."""

    def commit_together(
        self,
        owner: Owner,
        epoch: Epoch,
        pin: Pin,
        commit: Commit,
        copies: Sequence[TransactionStep],
        applies: Sequence[TransactionStep],
        took_ms: Callable[[], int] | None = None,
    ) -> None:
        """See `MemoryLedger`; the state's own transaction is over when it returns."""
        super().commit_together(owner, epoch, pin, commit, copies, applies, took_ms)
        self._notes.append(_Note(time.time(), pin, commit.timed(took_ms)))
        self.records += commit.records

    def write_notes(self, dsn: str) -> None:
        """Leave the notes in the database, when nothing is measured any more."""
        with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
            cursor.execute(_TABLE)
            cursor.executemany(_INSERT, [note.row() for note in self._notes])


def without(dsn: str, bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology: that of `examples/payments.py` but for the state."""
    topology = Topology("payments")
    payments = paid(topology, bootstrap_servers, topic, max_records)
    payments.group_by("account").persistent_aggregate(PlainState("balances", dsn=dsn), n=Count(), total=Sum("amount"))
    return topology


def main(arguments: Arguments) -> None:
    """Run to the end, then leave the notes."""
    ledger = NotingLedger()
    run_on(ledger, lambda: ledger.records, partial(without, arguments.dsn), arguments)
    ledger.write_notes(arguments.dsn)


if __name__ == "__main__":
    main(parse("the payments example without what exactly-once adds"))
