"""What must hold after a death and at the end: recounted from the plans in the ledger and from the log itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from integration_tests.crash_matrix.ends import End, StateEnd, Taken
from integration_tests.crash_matrix.lives import Life
from integration_tests.crash_matrix.looks import NO_ROWS, Rows, Seen
from integration_tests.crash_matrix.places import Place
from integration_tests.crash_matrix.sites import TARGET, Site
from tests.coordinators.fakes import Topic
from trident.coordinators.ledger.sql import codec
from trident.coordinators.planned import Plan

NOTHING_EARLIER: Mapping[str, Rows] = {}


@dataclass(frozen=True, slots=True)
class Decided:
    """A plan that was pinned, and in which incarnation."""

    incarnation: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is durable of a topology; `done` before and after the ends were looked at."""

    done_before: int
    seen: tuple[Seen, ...]
    done: int
    incarnation: str
    decided: tuple[Decided, ...]
    """In the order of their txids."""
    births: Mapping[str, int | None]
    """Since when the ledger says that the topology has each end."""


def facts_of(life: Life) -> Facts:
    """Read ledger and ends on connections of their own; a dead process's COMMIT may still arrive meanwhile."""
    place = life.place
    before, _, _ = _ledger_of(place)
    seen = tuple(end.seen() for end in life.ends)
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
    return ordered, tuple(end.seen() for end in place.ends())


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
    added = life.place.added().name if life.version == "added" else ""
    for end, seen in zip(life.ends, facts.seen, strict=True):
        if end.name == added and seen.txid is None and not seen.rows:
            continue  # it is not born yet
        birth = (facts.births.get(end.name) or 0) if end.name == added else 0
        if seen.txid is None and end.is_sink:
            yield from _problems_of_what_left(life, facts, end, seen, birth)
            continue
        txid = seen.txid or 0
        expected = end.expected(_taken(life.topic, facts.decided, birth, txid))
        if seen.rows != expected:
            yield f"a reader of {end.name} sees {seen.rows} at txid {txid}, not {expected}"
        if not facts.done_before <= txid <= facts.done + 1:
            yield f"{end.name} stands at txid {txid} while {facts.done} is done"


def _problems_of_what_left(life: Life, facts: Facts, end: End, seen: Seen, birth: int = 0) -> Iterator[str]:
    """Yield unless it is the whole of a prefix that may have left; what waits beside the ledger leaves once done."""
    first = birth if end.sends_later else facts.done_before
    last = facts.done if end.sends_later else facts.done + 1
    allowed = [end.expected(_taken(life.topic, facts.decided, birth, txid)) for txid in range(first, last + 1)]
    if seen.rows not in allowed:
        yield f"a reader of {end.name} sees {seen.rows} while {facts.done} is done, none of {allowed}"


def problems_of_a_cleared(life: Life, at_death: Facts, facts: Facts) -> Iterator[str]:
    """Yield unless each sink has kept what it had when the topology was reset, and sent what was done before that."""
    for end, seen in zip(life.ends, facts.seen, strict=True):
        if not end.is_sink:
            continue
        last = at_death.done if end.sends_later else at_death.done + 1
        allowed = [
            end.expected(_taken(life.topic, at_death.decided, 0, txid)) for txid in range(at_death.done, last + 1)
        ]
        if seen.rows not in allowed:
            yield f"after a reset {end.name} has {seen.rows}, none of {allowed}"


def problems_at_the_end(
    life: Life,
    facts: Facts,
    counted: Iterable[Decided],
    *,
    covers_the_log: bool,
    diverted_from: str = "",
    born: int = 0,
    earlier: Mapping[str, Rows] = NOTHING_EARLIER,
) -> Iterator[str]:
    """Yield what is lost, doubled or out of order; `counted` are the plans that the rows stand for.

    The end of the name `diverted_from` has nothing of that txid, and the ledger has its rows. Where one was added, it
    holds what came after the txid `born`. Sinks have kept what they had `earlier`, in a life that a reset ended.
    """
    counted = tuple(counted)
    if covers_the_log:
        yield from _problems_of_coverage(life.topic, [each.plan for each in counted])
    for incarnation in {each.incarnation for each in facts.decided}:
        txids = [each.plan.txid for each in facts.decided if each.incarnation == incarnation]
        if txids != list(range(txids[0], txids[0] + len(txids))):
            yield f"the decided txids of one incarnation are {txids}"
    for number, (end, seen) in enumerate(zip(life.ends, facts.seen, strict=True), 1):
        since = born if number == len(facts.seen) else 0
        own = [each for each in counted if each.plan.txid > since]
        if end.name == diverted_from:
            target = [each for each in own if each.plan.txid == TARGET]
            yield from _problems_of_diverting(life, end, target)
            own = [each for each in own if each not in target]
        expected = end.expected(_taken(life.topic, own), earlier.get(end.name, NO_ROWS))
        if seen.rows != expected:
            yield f"{end.name} holds {seen.rows} instead of {expected}"
        if seen.txid != facts.done and not (end.is_sink and seen.txid is None):
            yield f"{end.name} stands at {seen.txid}, {facts.done} is done"


def _problems_of_diverting(life: Life, end: End, target: Sequence[Decided]) -> Iterator[str]:
    """Yield what the ledger's dead letters have too much or too little: one by one, of a state by account and count."""
    (rows,) = life.place.ledger_rows("SELECT staged_row FROM trident_diverted")
    records = [record for of_txid in _taken(life.topic, target) for record in of_txid]
    if not isinstance(end, StateEnd):
        if len(rows) != len(records):
            yield f"the ledger holds {len(rows)} diverted rows, the target had {len(records)} records"
        return
    found = Counter((row["account"], row["n"]) for row in (json.loads(str(row[0])) for row in rows))
    expected = Counter((account, values[0]) for account, values in end.expected([records]).items())
    if found != expected:
        yield f"the ledger holds {found} diverted rows, the target had {expected}"


def _problems_of_coverage(topic: Topic, plans: Iterable[Plan]) -> Iterator[str]:
    counts = Counter(where for plan in plans for where in _offsets(plan))
    everything = {(number, n) for number, records in enumerate(topic.partitions) for n in range(len(records))}
    if lost := everything - counts.keys():
        yield f"{len(lost)} records are in no txid, {min(lost)} first"
    if twice := [where for where, count in counts.items() if count > 1]:
        yield f"{len(twice)} records are in two txids, {min(twice)} first"


def _offsets(plan: Plan) -> Iterator[tuple[int, int]]:
    for item in plan.ranges:
        yield from ((item.range.id.partition, offset) for offset in range(item.range.start, item.range.stop))


def _taken(topic: Topic, decided: Iterable[Decided], birth: int = 0, last: int | None = None) -> list[list[Taken]]:
    """Return the records of the decided txids behind one and up to another, txid by txid."""
    plans = [each.plan for each in decided if birth < each.plan.txid and (last is None or each.plan.txid <= last)]
    return [[Taken(part, n, *topic.partitions[part][n]) for part, n in _offsets(plan)] for plan in plans]
