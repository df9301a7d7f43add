"""Plans, pins and commits for the ledger's tests, made short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import inspect, text, update

from trident.base.digest import Digest
from trident.base.identity import Epoch, Owner
from trident.base.ranges import BadRecordRow, OffsetRange, PartitionId, RangeManifest
from trident.base.writes import WriteManifest
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.tables import HEARTBEAT
from trident.coordinators.pinned import Commit, DeadLetter, Pin, StatePin
from trident.coordinators.planned import Loss, Plan, ReceivedIds, SpoutRange, StartPosition
from trident.coordinators.registered import Lease, Snapshot, TopologySpec
from trident.state.databases.base import SqlTransaction
from trident.state.memory.database import MemoryTransaction

BATCH_TIME = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
SPEC = TopologySpec("payments", {"in": {"kind": "opaque", "topic": "t"}}, {"balances": {"kind": "opaque"}})
LONG = timedelta(seconds=60)


def run_out(ledger: SqlLedger) -> None:
    """Have all leases run out by the database's clock, as when it is set, or its server has stood still."""
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(update(HEARTBEAT).values(beat_at=datetime.now(UTC) - 2 * LONG))


def partition(number: int) -> PartitionId:
    return PartitionId("t", number)


def range_of(number: int, start: int, stop: int, topic_id: str = "id-t") -> SpoutRange:
    return SpoutRange("in", OffsetRange(partition(number), topic_id, start, stop))


def start_of(number: int, start: int, spout: str = "in") -> StartPosition:
    return StartPosition(spout, partition(number), "id-t", start)


def plan_of(
    txid: int, attempt: int, predecessor: int, *ranges: SpoutRange, losses: Sequence[Loss] = (), tries: int = 1
) -> Plan:
    return Plan(txid, attempt, tries, predecessor, BATCH_TIME, ranges, tuple(losses))


def loss_of(number: int, start: int, stop: int) -> Loss:
    return Loss("in", partition(number), start, stop, "gone")


def received_of(*ids: str, spout: str = "queue") -> ReceivedIds:
    return ReceivedIds(spout, ids, Digest(len(ids), 1, 2, -3))


def with_messages(plan: Plan, start: int, *ids: str, spout: str = "queue") -> Plan:
    """Return a plan with messages of one more stream, from a position on."""
    span = OffsetRange(PartitionId(spout, 0), "messages", start, start + len(ids))
    received = (received_of(*ids, spout=spout),) if ids else ()
    ranges = sorted((*plan.ranges, SpoutRange(spout, span)), key=lambda item: (item.spout, item.range.id))
    return replace(plan, ranges=tuple(ranges), received=(*plan.received, *received))


def pin_of(plan: Plan, *dead_letters: DeadLetter) -> Pin:
    manifests = tuple(
        ("in", RangeManifest(edge + 1, item.range.id, item.range.stop, Digest(item.range.width, 1, 2, -3), 9, 1))
        for edge, item in enumerate(plan.ranges)
    )
    write = WriteManifest("balances", f"w{plan.attempt}", Digest(2, 3, 4, -5))
    return Pin(plan, manifests, (StatePin("balances", 2, (write,)),), dead_letters)


def commit_of(plan: Plan) -> Commit:
    return Commit(plan.txid, plan.attempt, plan.tries, 10, 0, 2, 1, 2, 3)


def dead_letter_of(offset: int, value: bytes | None = b"\x00secret") -> DeadLetter:
    return DeadLetter("in", BadRecordRow(partition(0), offset, 1_700_000_000_000, "no JSON", None, value))


@dataclass
class Run:
    """A coordinator's view of a ledger: who it is, and the last attempt it planned."""

    ledger: Ledger
    epoch: Epoch
    owner: Owner
    last: Plan | None = None
    positions: dict[int, int] = field(default_factory=lambda: {0: 5, 1: 7})
    attempts: int = 0

    def next_plan(self, width: int = 10) -> Plan:
        self.attempts += 1
        ranges = [range_of(number, start, start + width) for number, start in self.positions.items()]
        txid, predecessor = (self.last.txid + 1, self.last.attempt) if self.last else (1, 0)
        return plan_of(txid, self.attempts, predecessor, *ranges)

    def plan(self, width: int = 10) -> Plan:
        plan = self.next_plan(width)
        self.ledger.plan(self.owner, self.epoch, plan)
        self.follow(plan)
        return plan

    def follow(self, plan: Plan) -> None:
        self.last = plan
        self.positions = {item.range.id.partition: item.range.stop for item in plan.ranges if item.spout == "in"}
        self.attempts = max(self.attempts, plan.attempt)

    def pin(self, plan: Plan) -> None:
        self.ledger.pin(self.owner, self.epoch, pin_of(plan))

    def done(self, plan: Plan) -> None:
        self.ledger.done(self.owner, self.epoch, commit_of(plan))

    def together(self, plan: Plan) -> None:
        self.ledger.commit_together(self.owner, self.epoch, pin_of(plan), commit_of(plan), (), ())

    def finish(self, count: int) -> None:
        for _ in range(count):
            self.together(self.plan())

    def snapshot(self) -> Snapshot:
        return self.ledger.register(self.epoch, SPEC)


def started(ledger: Ledger, holder: str = "one") -> Run:
    """Return a run of a new topology with its start positions stored."""
    run = taken_over(ledger, holder)
    ledger.set_starts(run.owner, run.epoch, [start_of(0, 5), start_of(1, 7)])
    return run


def taken_over(ledger: Ledger, holder: str, spec: TopologySpec = SPEC) -> Run:
    """Return a run that holds the topology; the one before must have let it go."""
    epoch = ledger.acquire("payments", Lease(holder, LONG)).epoch
    snapshot = ledger.register(epoch, spec)
    run = Run(ledger, epoch, snapshot.owner)
    last = snapshot.pin.plan if snapshot.pin else snapshot.done_plan
    if last is not None:
        run.follow(last)
    run.attempts = snapshot.last_attempt
    return run


def successor(run: Run, spec: TopologySpec = SPEC) -> Run:
    """Take the topology over while the old run still believes to hold it."""
    run.ledger.release("payments", run.epoch)
    return taken_over(run.ledger, "two", spec)


def mark(transaction: object) -> None:
    """Write a row into the ledger's database, as a state beside it does."""
    if isinstance(transaction, MemoryTransaction):
        table = transaction.table("mark")
        table[len(table)] = 1
        return
    assert isinstance(transaction, SqlTransaction)
    transaction.connection.execute(text("CREATE TABLE IF NOT EXISTS mark (n BIGINT)"))
    transaction.connection.execute(text("INSERT INTO mark VALUES (1)"))


def marks_in(ledger: MemoryLedger | SqlLedger) -> int:
    """Return how many marks are in the ledger's database."""
    if isinstance(ledger, MemoryLedger):
        with ledger.database.transaction() as transaction:
            return len(transaction.table("mark"))
    with ledger.database.transaction() as transaction:
        if not inspect(transaction.connection).has_table("mark"):
            return 0
        return int(transaction.connection.execute(text("SELECT count(*) FROM mark")).scalar_one())
