"""The verdict, in the manner of Jepsen: what was expected, what is there, what is lost, doubled, or was never sent.

Nothing of the library is imported here: tables and topic are read as anybody could read them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaos.recount import Topic, Totals

Ranges = dict[tuple[str, int], tuple[int, int]]
"""By stream and partition: the half-open range of a plan."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the records in one state."""

    state: str
    expected: int
    applied: int
    lost: int
    duplicated: int
    unexpected: int
    """Keys that nobody sent, and keys whose sums differ although their count does not."""
    keys: int
    difference: int
    """How many keys differ in any way."""

    @property
    def is_good(self) -> bool:
        """Whether each record was applied exactly once."""
        return self.expected > 0 and not (self.lost or self.duplicated or self.unexpected or self.difference)


@dataclass(frozen=True, slots=True)
class Planned:
    """A committed plan as the ledger has it."""

    txid: int
    attempt: int
    epoch: int
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Seen:
    """One look of the reader: the txid that a state says it has, and what it sums up to, in one snapshot."""

    txid: int
    totals: tuple[int, int, int]


def judge(state: str, expected: Totals, stored: Totals) -> Verdict:
    """Compare every key of either side."""
    differing = [key for key in expected.keys() | stored.keys() if expected.get(key) != stored.get(key)]
    lost = duplicated = unexpected = 0
    for key in differing:
        wanted, found = expected.get(key), stored.get(key)
        if wanted is None:
            unexpected += 1
            continue
        missing = wanted[0] - (found[0] if found else 0)
        lost += max(0, missing)
        duplicated += max(0, -missing)
        unexpected += missing == 0
    count = sum(n for n, _, _ in expected.values())
    applied = sum(n for n, _, _ in stored.values())
    return Verdict(state, count, applied, lost, duplicated, unexpected, len(expected), len(differing))


def audit(topic: Topic, plans: Sequence[Planned], losses: Iterable[tuple[str, int, int, int]] = ()) -> list[str]:
    """Return what is wrong with the ledger: offsets must be covered once each, txids and epochs must only rise."""
    problems = []
    txids = [plan.txid for plan in plans]
    if txids != list(range(1, len(plans) + 1)):
        problems.append(f"the committed txids are not 1 to {len(plans)} once each")
    by_attempt = sorted(plans, key=lambda plan: plan.attempt)
    if [plan.txid for plan in by_attempt] != txids:
        problems.append("a later txid was committed with an earlier attempt")
    if any(after.epoch < before.epoch for before, after in itertools.pairwise(plans)):
        problems.append("an older epoch planned after a newer one")
    streams = {stream for plan in plans for stream, _ in plan.ranges}
    for stream in sorted(streams):
        for partition, prefix in topic.prefixes.items():
            pieces = [plan.ranges.get((stream, partition), (0, 0)) for plan in plans]
            pieces += [(start, stop) for name, p, start, stop in losses if (name, p) == (stream, partition)]
            problems += _uncovered(f"{stream}, partition {partition}", pieces, len(prefix) - 1)
    return problems


def violations(topic: Topic, plans: Sequence[Planned], stream: str, looks: Iterable[Seen]) -> list[str]:
    """Return the looks that saw anything but a prefix of committed txids, and steps back in time."""
    stops = {0: dict.fromkeys(topic.prefixes, 0)}
    for plan in plans:
        mine = {partition: stop for (name, partition), (_, stop) in plan.ranges.items() if name == stream}
        stops[plan.txid] = stops[plan.txid - 1] | mine
    found, newest = [], 0
    for look in looks:
        if look.txid not in stops:
            found.append(f"txid {look.txid} was seen and never committed")
        elif look.totals != topic.below(stops[look.txid]):
            found.append(f"txid {look.txid} came to {look.totals} instead of {topic.below(stops[look.txid])}")
        if look.txid < newest:
            found.append(f"txid {look.txid} was seen after {newest}")
        newest = max(newest, look.txid)
    return found


def parse_ranges(text: str) -> Ranges:
    """Read the ranges of a plan from the ledger's own text: those that it changes, others stand where they stood."""
    found = {}
    for spout, _topic, _topic_id, _epoch, parts in json.loads(text)["changed"]:
        for partition, start, stop in parts:
            found[str(spout), int(partition)] = (int(start), int(stop))
    return found


def _uncovered(where: str, pieces: Iterable[tuple[int, int]], end: int) -> list[str]:
    position, problems = 0, []
    for start, stop in sorted(piece for piece in pieces if piece[1] > piece[0]):
        if start > position:
            problems.append(f"{where}: offsets {position} to {start} are in no committed batch")
        if start < position:
            problems.append(f"{where}: offsets {start} to {min(position, stop)} are in two committed batches")
        position = max(position, stop)
    if position != end:
        problems.append(f"{where}: the committed batches end at {position}, the topic at {end}")
    return problems
