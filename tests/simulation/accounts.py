"""What a monitor writes down about records and values, and how one plan has to follow another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.simulation.data import amount_of, is_bad, key_of
from tests.simulation.since_birth import Life
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.planned import Plan
from trident.state.positions import Standing

TOPOLOGY = "sim"
Rows = dict[tuple[object, ...], tuple[int, int]]
Records = frozenset[tuple[int, int, int]]
"""Partition, first offset, and the one behind the last."""
Read = tuple[Records, frozenset[str]]
"""Those, and the ids of messages."""


class ViolationError(Exception):
    """Something that may never happen has happened."""


def require(holds: bool, what: str, *details: object) -> None:
    if not holds:
        raise ViolationError(what + "".join(f"; {detail}" for detail in details))


@dataclass(frozen=True)
class Batch:
    """The monitor's own account of a decided txid."""

    txid: int
    attempt: int
    delta: Rows
    bad: frozenset[tuple[int, int]]
    diverted: frozenset[str] = frozenset()
    """States that have none of it: their rows are in the ledger, as a person decided."""
    read: Records = frozenset()
    """All that it has read, also what does not decode."""


@dataclass(frozen=True)
class LedgerAccount:
    """What the ledger has said so far."""

    entry: Entry | None = None
    done: int = 0
    covered: Mapping[int, int] = field(default_factory=dict)
    """For each partition of this incarnation: all below is applied, a dead letter, a recorded loss or excluded."""
    decided: Batch | None = None
    last: Batch | None = None
    losses: frozenset[tuple[int, int, int]] = frozenset()
    records: int = 0
    """How many records of this incarnation are in done txids, dead letters included."""
    refused: Mapping[int, Read] = field(default_factory=dict)
    """What each attempt was to read that a coordinator stopped at."""
    rows: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Of a stream that can't be read again: which row was ever planned at which position; of messages: what is done."""

    def with_rows(self, rows: Mapping[tuple[int, int], int]) -> LedgerAccount:
        """Return it with what was planned."""
        return replace(self, rows=rows)


@dataclass(frozen=True)
class StateAccount:
    """What a state must hold."""

    expected: Mapping[tuple[object, ...], tuple[int, int]] = field(default_factory=dict)
    before: Mapping[tuple[object, ...], tuple[int, int]] | None = field(default_factory=dict)
    """What it held before its last txid; None after an undo, which has lost that."""
    standing: Standing | None = None
    life: Life | None = None
    """What was done since its birth; None before that."""


def check_live(old: Entry, entry: Entry) -> None:
    """Plans chain: the newest follows the one before it in txid and in every partition."""
    if not entry.live or (old.live and entry.live[-1] is old.live[-1]):
        return
    newest = entry.live[-1].plan
    if any(stored.plan.attempt == newest.attempt for stored in old.live):
        return
    before = entry.live[-2].plan if len(entry.live) > 1 else entry.done_plan.plan if entry.done_plan else None
    last = before.txid if before is not None else entry.progress.done
    require(newest.txid == last + 1, f"txid {newest.txid} was planned after {last}")
    require(newest.attempt > old.progress.last_attempt, f"attempt {newest.attempt} was used before")
    starts = {item.id.partition: item.start for item in entry.starts or ()}
    stops = {item.range.id.partition: item.range.stop for item in before.ranges} if before is not None else starts
    check_chain(newest, {**starts, **stops})


def check_chain(plan: Plan, stops: Mapping[int, int]) -> dict[int, int]:
    """Require that the plan goes on where the stops are, without gap or overlap; returns its own stops."""
    reached = dict(stops)
    for loss in sorted(plan.losses, key=lambda loss: loss.start):
        at = reached.get(loss.id.partition, 0)
        if loss.start != at:
            raise ViolationError(f"txid {plan.txid} records a loss from {loss.start}, not from {at}")
        reached[loss.id.partition] = loss.stop
    left_out = stops.keys() - {item.range.id.partition for item in plan.ranges}
    if left_out:
        raise ViolationError(f"txid {plan.txid} leaves out partitions {left_out}")
    for item in plan.ranges:
        span = item.range
        partition = span.id.partition
        at = reached.get(partition, 0)
        if span.start != at or span.stop < at:
            raise ViolationError(
                f"txid {plan.txid} attempt {plan.attempt} reads partition {partition} from {span.start}, not {at}"
            )
        reached[partition] = span.stop
    return reached


def records_of(plan: Plan) -> Records:
    ranges = (item.range for item in plan.ranges)
    return frozenset((span.id.partition, span.start, span.stop) for span in ranges if span.stop > span.start)


def read_by(plan: Plan) -> Read:
    """Return what a plan reads; what stands at a position is another message in another process."""
    return records_of(plan), frozenset(id_ for item in plan.received for id_ in item.ids)


def batch_of(plan: Plan) -> Batch:
    delta: Rows = {}
    bad = set()
    for item in plan.ranges:
        partition = item.range.id.partition
        for offset in range(item.range.start, item.range.stop):
            if is_bad(partition, offset):
                bad.add((partition, offset))
                continue
            key = key_of(partition, offset)
            n, total = delta.get(key, (0, 0))
            delta[key] = (n + 1, total + amount_of(partition, offset))
    return Batch(plan.txid, plan.attempt, delta, frozenset(bad), read=records_of(plan))
