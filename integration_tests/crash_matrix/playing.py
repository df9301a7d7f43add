"""One case from its first process to its last, and what was wrong with it."""

from __future__ import annotations

import hashlib
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

from integration_tests.crash_matrix.audit import (
    Facts,
    facts_of,
    problems_after_a_death,
    problems_at_the_end,
    problems_of_a_cleared,
    trace_of,
)
from integration_tests.crash_matrix.cases import Case
from integration_tests.crash_matrix.forking import Forker
from integration_tests.crash_matrix.lives import Life
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.sites import OF_SESSIONS, Script, Site
from trident.base.crash_points import CrashPoint

_IS_IN_FORCE = (
    CrashPoint.AFTER_REGISTRATION,
    CrashPoint.AFTER_RECORDING_BIRTHS,
    CrashPoint.BETWEEN_BIRTHS,
    CrashPoint.AFTER_BIRTH,
)
"""Where a newer version has stored its description, so that the old one is refused."""
_FENCES = 2
"""So many sessions of a version with two sinks raise fences; what comes after is in force."""
_LONGER = 21
_OTHER_LIMIT = 7
_LOOKS = 20
"""How often what may still be on its way is looked at: Kafka ends a transaction in each partition for itself."""


def play(case: Case, addresses: Addresses, forker: Forker) -> list[str]:
    """Return everything that was wrong, each with the case's name; nothing means that it holds."""
    key = hashlib.sha256(case.name.encode()).hexdigest()[:12]
    life = Life(case, addresses, key)
    life.place.make_ready()
    return [f"{case.name}: {problem}" for problem in _play(life, forker)]


def _play(life: Life, forker: Forker) -> Iterator[str]:
    case = life.case
    match case.script:
        case Script.BATCH:
            yield from _die_at_its_point(life, forker)
        case Script.BIRTH:
            yield from _die_in_a_row(life, forker)
        case Script.TAKE_OVER:
            yield from _die(replace(life, dies_at=_in_flight(life)), forker)
            yield from _die_in_a_row(life, forker)
        case Script.RESET:
            yield from _reset(life, forker)
            return
        case Script.RETRY | Script.UNDO:
            yield from _refuse_and_decide(life, forker)
        case Script.DIVERT | Script.DIVERT_WAITING:
            yield from _divert(life, forker)
            return
        case Script.ADDED:
            yield from _add(life, forker)
            return
        case Script.WRONG_VERSION:
            yield from _be_refused_as_a_version(life, forker)
    is_longer = case.other or case.script is Script.WRONG_VERSION
    last = replace(life, each=_LONGER, limit=_OTHER_LIMIT) if is_longer else life
    yield from _finish(last, forker)
    facts = facts_of(last)
    yield from problems_at_the_end(last, facts, facts.decided, covers_the_log=True)


def _in_flight(life: Life) -> CrashPoint:
    """Return where the first one dies so that its successor finds as much as possible half done."""
    match life.case.site:
        case Site.SQLITE | Site.POSTGRES | Site.SQLITE_ROWS | Site.ROWS_BESIDE | Site.TURN:
            return CrashPoint.IN_PIN_TRANSACTION
        case Site.PER_KEY:
            return CrashPoint.BETWEEN_CHUNKS
        case Site.APART | Site.BESIDE_AND_APART | Site.OUTBOX_APART | Site.ROWS_APART | Site.TURN_APART:
            return CrashPoint.AFTER_PIN
        case Site.TWO_DATABASES:
            return CrashPoint.AFTER_APPLY
        case Site.KAFKA | Site.OUTBOX:
            is_open = int(life.key, 16) % 2
            return CrashPoint.BEFORE_END_OF_TRANSACTION if is_open else CrashPoint.AFTER_END_OF_TRANSACTION


def _die_in_a_row(life: Life, forker: Forker) -> Iterator[str]:
    for _ in range(life.case.tries):
        yield from _die_at_its_point(life, forker)


def _die_at_its_point(life: Life, forker: Forker) -> Iterator[str]:
    """Die where the case is about: in its own session, where that is a session's point and no batch's."""
    takes_over = life.case.script not in (Script.BATCH, Script.UNDO) and life.case.point in OF_SESSIONS
    yield from _die(replace(life, dies_at=life.case.point, takes_over=takes_over), forker)


def _die(life: Life, forker: Forker) -> Iterator[str]:
    end = forker.end_of(life)
    if end != -signal.SIGKILL:
        yield f"it ended with {end} instead of dying at {life.dies_at}: {forker.said()}"
    if life.does == "run":
        yield from _problems_after_a_death(life)


def _problems_after_a_death(life: Life) -> list[str]:
    problems: list[str] = []
    for _ in range(_LOOKS):
        problems = list(problems_after_a_death(life, facts_of(life)))
        if not problems or not any(end.is_sink for end in life.ends):
            break
        time.sleep(0.1)
    return problems


def _finish(life: Life, forker: Forker) -> Iterator[str]:
    end = forker.end_of(life)
    if end:
        yield f"the one that was to {life.does} to the end ended with {end}: {forker.said()}"


def _refuse_and_decide(life: Life, forker: Forker) -> Iterator[str]:
    """Stop at the target, by a refusal where that is what the case is about, then decide and be cut off there."""
    case = life.case
    if case.point is CrashPoint.AFTER_REFUSING:
        yield from _die(replace(life, is_refused=True, dies_at=case.point), forker)
    elif case.site is Site.PER_KEY:
        yield from _die(replace(life, dies_at=CrashPoint.BETWEEN_CHUNKS), forker)
    elif case.site is Site.APART:
        yield from _die(replace(life, dies_at=CrashPoint.AFTER_APPLY), forker)
    else:
        yield from _be_refused(life, forker)
    decides = replace(life, does="retry" if case.script is Script.RETRY else "undo")
    if case.point is not CrashPoint.AFTER_REFUSING:
        yield from _die_at_its_point(decides, forker)
    if not case.other or case.point is CrashPoint.AFTER_REFUSING:
        yield from _finish(decides, forker)


def _be_refused(life: Life, forker: Forker) -> Iterator[str]:
    if forker.end_of(replace(life, is_refused=True)) != 1:
        yield f"nothing refused the target: {forker.said()}"
    yield from _problems_after_a_death(life)
    if forker.end_of(life) != 1:
        yield "the next start went on without a decision"


def _divert(life: Life, forker: Forker) -> Iterator[str]:
    yield from _be_refused(life, forker)
    decides = replace(life, does="divert")
    yield from _die_at_its_point(decides, forker)
    if not life.case.other:
        yield from _finish(decides, forker)
    # what refused it would refuse it still
    last = replace(life, is_refused=True)
    yield from _finish(last, forker)
    facts = facts_of(last)
    yield from problems_at_the_end(last, facts, facts.decided, covers_the_log=True, diverted_from=life.place.refuser())


def _add(life: Life, forker: Forker) -> Iterator[str]:
    """Let a version with a state more die at its border, and another one of it go on, or the old one before that."""
    point = life.case.point
    yield from _die(replace(life, dies_at=_in_flight(life)), forker)
    newer = replace(life, version="added")
    born = _last_decided(life)
    yield from _die_at_its_point(newer, forker)
    is_in_force = point in _IS_IN_FORCE or life.case.visit > _FENCES
    if life.case.other and not is_in_force:
        yield from _finish(life, forker)  # nothing of the newer version was stored
        born = _last_decided(life)
    elif life.case.other:
        before = trace_of(newer)
        if forker.end_of(life) != 1 or "is not the one in the ledger" not in forker.said():
            yield f"the old version was not refused: {forker.said()}"
        if trace_of(newer) != before:
            yield f"the old version, which was refused, has changed {before} to {trace_of(newer)}"
    last = replace(newer, each=_LONGER)
    yield from _finish(last, forker)
    facts = facts_of(last)
    if facts.births.get(life.place.added().name) != born:
        yield f"the recorded births are {facts.births}, the new state was born at {born}"
    if facts.done == born:
        yield "nothing was done since the birth"
    yield from problems_at_the_end(last, facts, facts.decided, covers_the_log=True, born=born)


def _last_decided(life: Life) -> int:
    """Return the txid behind which a state begins that is added now: what is pinned goes first."""
    return max((each.plan.txid for each in facts_of(life).decided), default=0)


def _be_refused_as_a_version(life: Life, forker: Forker) -> Iterator[str]:
    """Let a version that must be refused die before it is, and then be: the old one goes on as if nothing had been."""
    yield from _die(replace(life, dies_at=_in_flight(life)), forker)
    if life.case.other:
        life.place.occupy()
    wrong = replace(life, version="foreign" if life.case.other else "renamed")
    before = trace_of(life)
    text = "is not what the aggregation needs" if life.case.other else "is not the one in the ledger"
    for point in (life.case.point, None):
        end = forker.end_of(replace(wrong, dies_at=point))
        if end != (1 if point is None else -signal.SIGKILL) or (point is None and text not in forker.said()):
            yield f"the wrong version ended with {end}: {forker.said()}"
        if trace_of(life) != before:
            yield f"the wrong version has changed {before} to {trace_of(life)}"


def _reset(life: Life, forker: Forker) -> Iterator[str]:
    yield from _die(replace(life, dies_at=_in_flight(life)), forker)
    at_death = facts_of(life)
    resets, keeps = replace(life, does="reset"), life.case.other
    yield from _die_at_its_point(resets, forker)
    yield from _finish(resets, forker)
    before = facts_of(life)
    if not keeps:
        yield from problems_of_a_cleared(life, at_death, before)
    yield from _finish(life, forker)
    last = replace(life, each=_LONGER)
    yield from _finish(last, forker)
    facts = facts_of(last)
    counted = [each for each in facts.decided if keeps or each.incarnation == facts.incarnation]
    kept = {end.name: seen.rows for end, seen in zip(life.ends, before.seen, strict=True) if end.is_sink}
    earlier = {} if keeps else kept
    yield from problems_at_the_end(last, facts, counted, covers_the_log=not keeps, earlier=earlier)
    if keeps:
        yield from _problems_of_adoption(life, before, facts)


def _problems_of_adoption(life: Life, before: Facts, after: Facts) -> Iterator[str]:
    """Yield what is wrong with a life that was to start at the end of the log as it was after the reset."""
    own = [each.plan for each in after.decided if each.incarnation == after.incarnation]
    starts = {item.range.start for plan in own for item in plan.ranges}
    if any(start < life.each for start in starts):
        yield f"the adopted life reads from {starts}, before the end of the log at the reset"
    if after.incarnation != before.incarnation:
        yield "the incarnation changed without a reset"
