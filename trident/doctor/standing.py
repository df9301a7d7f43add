"""What the ledger says of a topology: whether it is known, what waits for a person, how far clean-up is behind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.base.levels import Level
from trident.coordinators.batches.backlogs import MOST_BEHIND
from trident.coordinators.ledger.rules.evolving import Evolved, described
from trident.coordinators.ledger.rules.specs import merged_spec
from trident.coordinators.ledger.rules.topics import follow_topics, new_topics
from trident.coordinators.ledger.sql.reads import known_births, read_progress, read_snapshot, read_spec
from trident.coordinators.ledger.sql.retention import MOST_ROWS, PINS_KEPT
from trident.coordinators.ledger.sql.tables import COMMIT, PIN, PLAN
from trident.coordinators.ledger.view import TopologyStatus
from trident.coordinators.refusals import refused_by_state
from trident.coordinators.registered import Keep, TopologySpec
from trident.doctor.clients import reading
from trident.doctor.findings import Finding, ok, problem, span, warning
from trident.doctor.subject import Subject
from trident.state.databases.base import SqlDatabase

LEDGER: Final = "ledger"
_CLEAN_UP: Final = "clean-up"
_OUTBOX: Final = "outbox"
_BEHIND: Final = 5 * MOST_ROWS
"""So many txids behind what it keeps a clean-up that runs as it should never falls."""
_LATE: Final = timedelta(days=1)


def standing_of(subject: Subject) -> TopologyStatus | None:
    """Return where the topology stands, None where the ledger does not know it."""
    view = subject.ledger.view()
    return view.status(subject.topology) if subject.topology in view.topologies() else None


def look_at_ledger(subject: Subject) -> Iterator[Finding]:
    """Say whether the ledger knows the topology, and what waits for a person."""
    standing = standing_of(subject)
    if standing is None:
        yield warning(
            LEDGER,
            f"it does not know the topology {subject.topology!r}",
            "it has never run with this ledger; with states that were filled it would be refused",
            "check the ledger's address and the topology's name, or start it",
        )
        return
    held = f"held by {standing.holder}" if standing.is_held else "nobody runs it"
    yield ok(LEDGER, f"txid {standing.done} is done, {standing.live} planned, epoch {standing.epoch}, {held}")
    yield from _of_another_version(subject)
    yield from _waiting_for_a_person(standing)
    yield from _waiting_to_be_sent(standing)


def _of_another_version(subject: Subject) -> Iterator[Finding]:
    database = subject.ledger.database
    if subject.spec is None or not isinstance(database, SqlDatabase):
        return
    try:
        with reading(database) as connection:
            stored = read_spec(connection, subject.topology)
            now = _registered(connection, stored, subject.spec)
    except MismatchError as error:
        found, _, ways = str(error).partition(". Nothing was changed. ")
        yield problem(LEDGER, found, "a start is refused, and changes nothing", ways)
        return
    for state, held in now.columns:
        if held.coming:
            names = ", ".join(map(repr, held.coming))
            yield ok(LEDGER, f"the next start adds {names} to state {state!r}: it holds what comes after that")
    for stream, topic in new_topics(stored, subject.spec):
        yield ok(LEDGER, f"the next start reads topic {topic!r} with stream {stream!r}, from where its spout begins")


def _registered(connection: Connection, stored: TopologySpec, given: TopologySpec) -> Evolved:
    """Return what a start would make of the stored description; raises MismatchError where that is refused."""
    progress = read_progress(connection, given.name)
    assert progress is not None, "the ledger knows the topology"
    births = known_births(connection, Owner(given.name, progress.incarnation))
    now = described(stored, births, progress, given)
    known, _ = follow_topics(now.stored, now.given, None, lambda: read_snapshot(connection, given.name, progress))
    merged_spec(known, now.given)
    return now


def look_at_queues(subject: Subject) -> Iterator[Finding]:
    """Say of which streams nothing is looked at."""
    for name in subject.queues:
        yield warning(
            f"stream {name!r}",
            "a queue is not looked at",
            "whoever opens it takes messages, or moves those of its other readers",
            "a start says what is wrong with it, at the first one before anything is stored",
        )


def look_at_clean_up(subject: Subject) -> Iterator[Finding]:
    """Say how much history lies there that clean-up lets go of in the default."""
    database, standing = subject.ledger.database, standing_of(subject)
    if standing is None or not isinstance(database, SqlDatabase):
        return
    with reading(database) as connection:
        oldest = {
            table.name: connection.execute(
                select(func.min(table.c.txid)).where(table.c.topology == subject.topology)
            ).scalar()
            for table in (COMMIT, PLAN, PIN)
        }
        first = select(COMMIT.c.done_at).where(COMMIT.c.topology == subject.topology).order_by(COMMIT.c.txid).limit(1)
        done_at = connection.execute(first).scalar()
    yield history_of(standing.done, oldest[COMMIT.name], oldest[PIN.name], done_at, subject.clock.now())
    plan, commit = oldest[PLAN.name], oldest[COMMIT.name]
    if plan is not None and commit is not None and commit - plan > _BEHIND:
        yield _behind(f"plans lie there since txid {plan}, commits since {commit}")


def history_of(done: int, commit: int | None, pin: int | None, done_at: datetime | None, now: datetime) -> Finding:
    """Return what the oldest txids in the ledger mean."""
    if commit is None or done_at is None:
        return ok(_CLEAN_UP, "there is no history yet")
    keep, age = Keep(), now - done_at
    kept = f"history since txid {commit}, {done - commit} behind what is done, {span(age.total_seconds())} old"
    if done - commit > keep.count + _BEHIND and age > keep.age + _LATE:
        return _behind(kept)
    if pin is not None and done - pin > PINS_KEPT + _BEHIND:
        return _behind(f"pins lie there since txid {pin}, {done - pin} behind what is done")
    return ok(_CLEAN_UP, kept)


def _behind(found: str) -> Finding:
    return warning(
        _CLEAN_UP,
        found,
        "no result depends on it; the ledger grows",
        "it goes while the topology runs, a thousand at a time, unless RunOptions(keep=…) keeps it: look for warnings "
        "in its log",
    )


def _waiting_for_a_person(standing: TopologyStatus) -> Iterator[Finding]:
    if standing.refusal is not None and standing.needs_decision:
        yield problem(
            LEDGER,
            refused_by_state(standing.name, standing.refusal),
            f"{_written_of(standing, f'behind txid {standing.done}')}, and nothing is lost",
            f"trident status {standing.name} names the commands that go on",
        )
    elif standing.refusal is not None:
        yield warning(
            LEDGER,
            refused_by_state(standing.name, standing.refusal),
            _written_of(standing, "of that txid"),
            f"the next start tries it again{_but_for(standing)}",
        )
    if standing.open_reset is not None:
        yield warning(
            LEDGER,
            f"a reset is recorded and not finished ({standing.open_reset})",
            "states may be of both lives until it is",
            "the next start finishes it",
        )
    for decision in standing.decisions:
        yield ok(LEDGER, f"decided and not finished: {decision}")


def _written_of(standing: TopologyStatus, which: str) -> str:
    """Return what became of what is not done, as the level has it."""
    if standing.level is Level.AT_LEAST_ONCE:
        return f"what is written {which} by now stays in the results, and is written again"
    return f"nothing {which} is in any result"


def _but_for(standing: TopologyStatus) -> str:
    if not standing.received:
        return ""
    streams = ", ".join(map(repr, standing.received))
    return f", without what it had of stream {streams}: that ended with the process that had received it"


def _waiting_to_be_sent(standing: TopologyStatus) -> Iterator[Finding]:
    for each in standing.waiting:
        found = (
            f"sink {each.sink!r}: {each.records:,} records of {each.txids} txids wait, since txid {each.oldest_txid}"
        )
        means = "they are done, durable in the ledger's database, and not yet sent; nothing is lost"
        if standing.is_held:
            behind = standing.done - each.oldest_txid
            yield (
                ok(_OUTBOX, f"{found}, {behind} behind what is done")
                if behind <= MOST_BEHIND
                else warning(_OUTBOX, found, means, "look at the cluster, and for warnings in the topology's log")
            )
        else:
            yield warning(_OUTBOX, found, means, "the next start of the topology sends them")
