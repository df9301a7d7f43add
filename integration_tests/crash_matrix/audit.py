"""What must hold after a death and at the end: recounted from the plans in the ledger and from the log itself."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from integration_tests.crash_matrix.cases import TARGET, Site
from integration_tests.crash_matrix.lives import Life
from integration_tests.crash_matrix.places import Place, Rows, Seen
from tests.coordinators.fakes import Topic
from trident.coordinators.ledger.sql import codec
from trident.coordinators.planned import Plan


@dataclass(frozen=True, slots=True)
class Decided:
    """A plan that was pinned, and in which incarnation."""

    incarnation: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is durable of a topology; `done` before and after the states were looked at."""

    done_before: int
    seen: tuple[Seen, ...]
    done: int
    incarnation: str
    decided: tuple[Decided, ...]
    """In the order of their txids."""
    births: Mapping[str, int | None] = field(default_factory=dict)
    """Since when the ledger says that the topology has each state."""


def facts_of(life: Life) -> Facts:
    """Read ledger and states on connections of their own; a dead process's COMMIT may still arrive meanwhile."""
    place = life.place
    before, _, _ = _ledger_of(place)
    seen = tuple(place.seen(state) for state in life.states)
    done, incarnation, decided = _ledger_of(place)
    return Facts(before, seen, done, incarnation, decided, _births_of(place, incarnation))


def _births_of(place: Place, incarnation: str) -> dict[str, int | None]:
    (rows,) = place.ledger_rows("SELECT id, births FROM trident_incarnation")
    found = [codec.BIRTHS.decode(str(births)) for id_, births in rows if id_ == incarnation and births is not None]
    return {birth.state: birth.txid for births in found for birth in births}


def trace_of(life: Life) -> tuple[object, ...]:
    """Return all that a version which is refused must leave as it is, but for who has the lease."""
    place = life.place
    ledger = place.ledger_rows(
        "SELECT (SELECT spec FROM trident_topology WHERE name = topology), done, last_txid, last_attempt, incarnation "
        "FROM trident_progress",
        "SELECT id, births, starts FROM trident_incarnation",
        "SELECT attempt, status FROM trident_plan",
        "SELECT attempt FROM trident_pin",
    )
    ordered = [sorted(rows, key=str) for rows in ledger]
    return ordered, tuple(place.seen(state) for state in place.states())


def _ledger_of(place: Place) -> tuple[int, str, tuple[Decided, ...]]:
    """Return the last done txid, the incarnation and all that was decided, in one snapshot."""
    (progress, pins) = place.ledger_rows(
        "SELECT done, incarnation FROM trident_progress",
        "SELECT incarnation, txid, attempt, (SELECT ranges FROM trident_plan AS plan WHERE plan.topology = "
        "trident_pin.topology AND plan.attempt = trident_pin.attempt) FROM trident_pin",
    )
    plans = [Decided(str(pin[0]), _plan_of(pin)) for pin in pins]
    done, incarnation = progress[0] if progress else (0, "")
    return int(str(done)), str(incarnation), tuple(sorted(plans, key=lambda each: each.plan.txid))


def _plan_of(pin: Sequence[object]) -> Plan:
    """Return what counts of a pinned plan: its number, and what it reads."""
    txid, attempt, ranges = int(str(pin[1])), int(str(pin[2])), codec.RANGES.decode(str(pin[3]))
    return Plan(txid, attempt, 1, 0, datetime.min.replace(tzinfo=UTC), ranges)


def problems_after_a_death(life: Life, facts: Facts) -> Iterator[str]:
    """Yield what a reader may never see: anything but the whole of a prefix of the decided txids."""
    if life.case.site is Site.PER_KEY:
        return  # readers of a per-key store can see half a batch: it says so
    for state, seen in zip(life.states, facts.seen, strict=True):
        is_late = life.version == "added" and state == life.place.added()
        if is_late and seen.txid is None and not seen.rows:
            continue  # it is not born yet
        txid, birth = seen.txid or 0, (facts.births.get(state.name) or 0) if is_late else 0
        expected = _fold(life.topic, [each.plan for each in facts.decided if birth < each.plan.txid <= txid])
        if seen.rows != expected:
            yield f"a reader sees {seen.rows} at txid {txid}, not {expected}"
        if not facts.done_before <= txid <= facts.done + 1:
            yield f"a state stands at txid {txid} while {facts.done} is done"


def problems_at_the_end(
    life: Life,
    facts: Facts,
    counted: Iterable[Decided],
    *,
    covers_the_log: bool,
    diverts_target: bool = False,
    born: int = 0,
) -> Iterator[str]:
    """Yield what is lost, doubled or out of order; `counted` are the plans that the rows stand for.

    With `diverts_target` the last state has nothing of that txid, and the ledger has its rows. Where it was added, it
    holds what came after the txid `born`.
    """
    plans = [each.plan for each in counted]
    if covers_the_log:
        yield from _problems_of_coverage(life.topic, plans)
    for incarnation in {each.incarnation for each in facts.decided}:
        txids = [each.plan.txid for each in facts.decided if each.incarnation == incarnation]
        if txids != list(range(txids[0], txids[0] + len(txids))):
            yield f"the decided txids of one incarnation are {txids}"
    target = [plan for plan in plans if plan.txid == TARGET]
    if diverts_target:
        yield from _problems_of_diverting(life, _fold(life.topic, target))
    for number, seen in enumerate(facts.seen, 1):
        is_without = diverts_target and number == len(facts.seen)
        since = born if number == len(facts.seen) else 0
        expected = _fold(
            life.topic, [plan for plan in plans if plan.txid > since and not (is_without and plan in target)]
        )
        if seen.rows != expected:
            yield f"the state holds {seen.rows} instead of {expected}"
        if seen.txid != facts.done:
            yield f"the state stands at {seen.txid}, {facts.done} is done"


def _problems_of_diverting(life: Life, expected: Rows) -> Iterator[str]:
    """Yield what the ledger's dead letters have too much or too little, by account and count of its records."""
    (rows,) = life.place.ledger_rows("SELECT staged_row FROM trident_diverted")
    found = Counter((row["account"], row["n"]) for row in (json.loads(str(row[0])) for row in rows))
    if found != Counter((account, n) for account, (n, _) in expected.items()):
        yield f"the ledger holds {found} diverted rows, the target had {expected}"


def _problems_of_coverage(topic: Topic, plans: Iterable[Plan]) -> Iterator[str]:
    counts = Counter(_offsets(plans))
    everything = {(number, n) for number, records in enumerate(topic.partitions) for n in range(len(records))}
    if lost := everything - counts.keys():
        yield f"{len(lost)} records are in no txid, {min(lost)} first"
    if twice := [where for where, count in counts.items() if count > 1]:
        yield f"{len(twice)} records are in two txids, {min(twice)} first"


def _offsets(plans: Iterable[Plan]) -> Iterator[tuple[int, int]]:
    for plan in plans:
        for item in plan.ranges:
            yield from ((item.range.id.partition, offset) for offset in range(item.range.start, item.range.stop))


def _fold(topic: Topic, plans: Iterable[Plan]) -> Rows:
    sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for partition, offset in _offsets(plans):
        account, amount = topic.partitions[partition][offset]
        count, total = sums[account]
        sums[account] = (count + 1, total + amount)
    return dict(sums)
