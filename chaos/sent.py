"""The verdict on what a sink has sent: each txid whole, once, in order, at every moment that a reader saw.

Nothing of the library is imported here: records and markers are read as any program with `read_committed` reads them.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaos.checker import Planned
from chaos.recount import Topic, Totals

Place = tuple[int, int]
"""A partition and an offset."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Record:
    """One record as a reader got it, with what its headers say of where it came from."""

    place: Place
    key: str
    value: tuple[int, int]
    """What is in it: the amount and the id."""
    txid: int
    attempt: int
    source: Place


@dataclass(frozen=True, slots=True)
class Marker:
    """What the sink says of itself, in the same transaction as its records."""

    txid: int
    attempt: int
    epoch: int
    count: int


@dataclass(frozen=True, slots=True)
class Glance:
    """One moment: a transaction had been followed by another one, and all that could be read had been read."""

    closed: int
    """The newest txid of that transaction: it had ended, in all partitions."""
    positions: Mapping[int, int]
    """By partition of the sink's topic, up to where the reader had read."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """All that a reader saw of one sink, in its order."""

    records: Sequence[Record]
    markers: Sequence[Marker]
    glances: Sequence[Glance]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a committed txid has to bring."""

    txid: int
    attempt: int
    values: Mapping[Place, tuple[int, int]]
    """By the place of a record in the source."""


def expected_of(topic: Topic, plans: Iterable[Planned], stream: str) -> list[Expected]:
    """Return what every committed txid read of a stream and did not filter out."""
    found = []
    for plan in plans:
        values: dict[Place, tuple[int, int]] = {}
        for (name, partition), (start, stop) in plan.ranges.items():
            if name == stream:
                sums = topic.prefixes[partition][start : stop + 1]
                ones = sums[1:] - sums[:-1]
                rows = enumerate(ones.tolist(), start)
                values |= {(partition, offset): (amount, id_) for offset, (n, amount, id_) in rows if n}
        found.append(Expected(plan.txid, plan.attempt, values))
    return found


def totals_of(records: Iterable[Record]) -> Totals:
    """Return by key what was sent, in the form in which the topic was counted."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in records:
        for index, number in enumerate((1, *record.value)):
            totals[record.key][index] += number
    return {key: (n, total, ids) for key, (n, total, ids) in totals.items()}


def wrongs(expected: Sequence[Expected], seen: Sightings) -> list[str]:
    """Return what is wrong with what a sink has sent."""
    by_txid: dict[int, list[Record]] = defaultdict(list)
    for record in seen.records:
        by_txid[record.txid].append(record)
    wanted = {each.txid: each for each in expected}
    problems = [f"txid {txid} was never committed, and {len(by_txid[txid])} of its records were sent"
                for txid in sorted(by_txid.keys() - wanted.keys())]  # fmt: skip
    for each in expected:
        problems += _of_txid(each, by_txid.get(each.txid, []))
    problems += _out_of_order(seen.records)
    problems += _of_markers(seen.markers, by_txid)
    problems += _torn_moments(seen)
    return problems


def gone(seen: Sequence[Record], at_end: Sequence[Record]) -> list[str]:
    """Return where what a reader saw at some moment is not what is there at the end."""
    before, after = ({record.place: record for record in records} for records in (seen, at_end))
    lost = sorted(place for place, record in before.items() if after.get(place) != record)
    missed = sorted(after.keys() - before.keys())
    problems = []
    if lost:
        problems.append(f"{len(lost)} records were read and are not there any more, at {lost[:_SHOWN]}")
    if missed:
        problems.append(f"{len(missed)} records are there that a reader was never given, at {missed[:_SHOWN]}")
    return problems


def _of_txid(wanted: Expected, records: Sequence[Record]) -> list[str]:
    problems, where = [], f"txid {wanted.txid}"
    times = Counter(record.source for record in records)
    found = sum(source in times for source in wanted.values)
    if found < len(wanted.values):
        how = "is lost" if not found else "is torn"
        problems.append(f"{where} {how}: {found} of its {len(wanted.values)} records were sent")
    doubled = sum(count - 1 for count in times.values())
    if doubled:
        problems.append(f"{where}: {doubled} records were sent twice")
    strange = [source for source in times if source not in wanted.values]
    if strange:
        problems.append(f"{where}: {len(strange)} records are of others' offsets, the first at {min(strange)}")
    changed = sum(wanted.values.get(record.source, record.value) != record.value for record in records)
    if changed:
        problems.append(f"{where}: {changed} records have another content than what they were made of")
    attempts = {record.attempt for record in records} - {wanted.attempt}
    if attempts:
        problems.append(f"{where}: records of attempts {sorted(attempts)}, attempt {wanted.attempt} was committed")
    return problems


def _out_of_order(records: Iterable[Record]) -> list[str]:
    """Hold each key to one partition, and its records to the order of txids and of the source."""
    by_key: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_key[record.key].append(record)
    problems, turned = [], 0
    for key, mine in by_key.items():
        if len({record.place[0] for record in mine}) > 1:
            problems.append(f"records of key {key} are in several partitions")
        in_log = sorted(mine, key=lambda record: record.place)
        turned += any((b.txid, b.source) < (a.txid, a.source) for a, b in itertools.pairwise(in_log))
    if turned:
        problems.append(f"the records of {turned} keys are in another order than in the source")
    return problems


def _of_markers(markers: Sequence[Marker], by_txid: Mapping[int, Sequence[Record]]) -> list[str]:
    """Hold each transaction to what its marker says: so many records, of the txids that it steps over."""
    problems = []
    position = epoch = 0
    for marker in markers:
        where = f"the marker of txid {marker.txid}, epoch {marker.epoch},"
        if marker.txid < position or marker.epoch < epoch:
            problems.append(f"{where} comes after one of txid {position}, epoch {epoch}")
        if marker.txid == position and marker.epoch == epoch:
            problems.append(f"{where} was sent twice")
        if marker.txid > position:
            sent = sum(len(by_txid.get(txid, ())) for txid in range(position + 1, marker.txid + 1))
            if sent != marker.count:
                problems.append(f"{where} says {marker.count} records, and {sent} were sent with it")
            if any(record.attempt != marker.attempt for record in by_txid.get(marker.txid, ())):
                problems.append(f"{where} is of attempt {marker.attempt}, its records are of another one")
        position, epoch = max(position, marker.txid), max(epoch, marker.epoch)
    later = sum(len(records) for txid, records in by_txid.items() if txid > position)
    if later:
        problems.append(f"{later} records were sent without a marker")
    return problems


def _torn_moments(seen: Sightings) -> list[str]:
    """Return the moments at which a reader had not got all of a transaction that had ended."""
    problems = []
    ends: dict[int, dict[int, int]] = defaultdict(dict)  # by txid and partition, behind its last record
    for record in seen.records:
        partition, offset = record.place
        ends[record.txid][partition] = max(offset + 1, ends[record.txid].get(partition, 0))
    txids = sorted(ends)
    checked: dict[int, int] = {}  # behind the last record of all txids so far
    at = 0
    for glance in sorted(seen.glances, key=lambda glance: glance.closed):
        while at < len(txids) and txids[at] <= glance.closed:
            for partition, end in ends[txids[at]].items():
                checked[partition] = max(end, checked.get(partition, 0))
            at += 1
        late = [p for p, end in checked.items() if end > glance.positions.get(p, 0)]
        if late:
            problems.append(f"txid {glance.closed} had ended, and some of it could not be read in partitions {late}")
    return problems
