"""Every case of the crash matrix: where a coordinator dies, with what around it, and what comes after."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from integration_tests.crash_matrix import borders
from integration_tests.crash_matrix.sites import DECISIONS, OF_SESSIONS, WITH_KAFKA, WITH_SINKS, Script, Site
from trident.base.crash_points import CrashPoint as P
from trident.spouts.base import SpoutKind
from trident.state import StateKind

STATE_KINDS = (StateKind.OPAQUE, StateKind.TRANSACTIONAL)


@dataclass(frozen=True, slots=True)
class Case:
    """`tries`: a batch dies at its first or third try, of coordinators so many die in a row."""

    site: Site
    script: Script
    point: P
    spout: SpoutKind
    state: StateKind
    tries: int
    other: bool
    """Whether the successor finds other limits and a longer topic.

    For a reset: whether rows are kept. For a decision that was cut off: whether the next start finishes
    it, and not the person who asks again. For an added end: whether the version before is started again in between.
    For a wrong version: whether it is what lives at the new state's place that is wrong, not its description.
    """
    visit: int = 1
    """Which session of a take-over it dies in: the first one raises a fence, those after it register or reset."""

    @property
    def name(self) -> str:
        """What the case is called in reports, and how one is run alone."""
        kinds = f"{self.spout} spout, {self.state} state"
        visit = f" ({self.visit})" if self.visit > 1 else ""
        return f"{self.site} / {self.script} / {self.point.name}{visit} / {kinds} / {self.tries} / {self._contents}"

    @property
    def _contents(self) -> str:
        if self.script is Script.RESET:
            return "adopt" if self.other else "clear"
        if self.script in DECISIONS:
            return "the next start goes on" if self.other else "asked again"
        if self.script is Script.ADDED:
            return "the old version in between" if self.other else "the new version again"
        if self.script is Script.WRONG_VERSION:
            return "another's table" if self.other else "a state renamed"
        return "other contents" if self.other else "same contents"


_PAIRS = (
    (SpoutKind.OPAQUE, StateKind.OPAQUE),
    (SpoutKind.TRANSACTIONAL, StateKind.TRANSACTIONAL),
)


def cases_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    """Yield all cases of one place and one pair of kinds."""
    is_pair = (spout, state) in _PAIRS
    if site in WITH_SINKS and not is_pair:
        return  # what leaves has no kind of its own
    for point in borders.BATCH_POINTS[site]:
        for tries in (1, 3):
            for other in (False, True) if spout is SpoutKind.OPAQUE else (False,):
                yield Case(site, Script.BATCH, point, spout, state, tries, other)
    if is_pair:
        for script, points in (
            (Script.BATCH, borders.CLEAN_UP_POINTS if site in WITH_KAFKA else borders.UPKEEP_POINTS),
            (Script.BIRTH, borders.TAKE_OVER_POINTS),
            (Script.TAKE_OVER, borders.TAKE_OVER_POINTS),
        ):
            for point in points:
                yield from (Case(site, script, point, spout, state, tries, False) for tries in (1, 3))
        # stored once: whoever comes after finds it done
        for point in (*borders.BIRTH_POINTS, P.AFTER_STARTS):
            yield Case(site, Script.BIRTH, point, spout, state, 1, False)
        for point in borders.RESET_POINTS:
            yield from (Case(site, Script.RESET, point, spout, state, 1, other) for other in (False, True))
        yield from _versions_of(site, spout, state)
        yield from _decisions_of(site, spout, state)
        if site in WITH_KAFKA:
            yield from _sessions_of(site, spout, state)


def _versions_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    """Of one pair of kinds: they decide nothing while another version takes over."""
    if (spout, state) != (SpoutKind.OPAQUE, StateKind.OPAQUE):
        return
    for point in (*borders.TAKE_OVER_POINTS, *borders.BIRTH_POINTS):
        yield from (Case(site, Script.ADDED, point, spout, state, 1, other) for other in (False, True))
    # a refused version gets no further
    for other in (False,) if site in WITH_SINKS else (False, True):
        yield Case(site, Script.WRONG_VERSION, P.AFTER_LEASE, spout, state, 1, other)


def _decisions_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    for point in borders.RETRY_POINTS.get(site, ()):
        yield Case(site, Script.RETRY, point, spout, state, 1, other=True)
    for point in borders.UNDO_POINTS.get(site, ()) if state is StateKind.OPAQUE else ():
        # once it is unpinned there is nothing left to ask for
        for other in (True,) if point in (P.AFTER_UNPINNING, P.AFTER_REFUSING) else (False, True):
            yield Case(site, Script.UNDO, point, spout, state, 1, other)
    for point in borders.DIVERT_POINTS[site]:
        for other in (True,) if point is P.AFTER_DIVERTING else (False, True):
            yield Case(site, Script.DIVERT, point, spout, state, 1, other)
    for point in borders.DIVERT_WAITING_POINTS.get(site, ()):
        # what was cut off is nowhere on record
        for other in (False,) if point is P.IN_DIVERTING_WAITING else (False, True):
            yield Case(site, Script.DIVERT_WAITING, point, spout, state, 1, other)


def _sessions_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    """Yield those that die in a session which sends nothing: one that fences, one that registers, one that resets."""
    for point in borders.OWN_SESSION_POINTS:
        for tries in (1, 3):
            yield Case(site, Script.BIRTH, point, spout, state, tries, False)
            yield Case(site, Script.TAKE_OVER, point, spout, state, tries, False)
        yield Case(site, Script.BIRTH, point, spout, state, 1, False, visit=2)
        for visit in (1, 2):
            yield from (Case(site, Script.RESET, point, spout, state, 1, other, visit) for other in (False, True))
    if site is not Site.KAFKA:
        yield Case(site, Script.BIRTH, P.BETWEEN_BIRTHS, spout, state, 1, False)
    if (spout, state) == (SpoutKind.OPAQUE, StateKind.OPAQUE):
        own = () if site is Site.KAFKA else ((P.BETWEEN_BIRTHS, 1),)
        for point, visit in ((P.AFTER_END_OF_TRANSACTION, 2), (P.AFTER_END_OF_TRANSACTION, 3), *own):
            yield from (Case(site, Script.ADDED, point, spout, state, 1, other, visit) for other in (False, True))


def all_cases() -> tuple[Case, ...]:
    """Return the whole matrix."""
    return tuple(
        case for site in Site for spout in SpoutKind for state in STATE_KINDS for case in cases_of(site, spout, state)
    )


def drawn_cases(seed: int, share: float = 0.0, of_kafka: float = 0.0) -> frozenset[Case]:
    """Return each border of a batch once at each place, every other border at one place, in a variant that is drawn.

    The variants of a border differ in kinds, tries and contents, most of which are decided far from it; a take-over
    and a decision go the same way wherever the states live, beside rows and beside a sink in Kafka; the sessions of
    such a sink are met at each place. Of all cases that share is drawn besides, of those with Kafka one of their own.
    """
    variants: dict[tuple[Script, P, Site | str, int], list[Case]] = defaultdict(list)
    for case in all_cases():
        variants[_border(case)].append(case)
    rng = random.Random(seed)
    drawn = frozenset(rng.choice(cases) for cases in variants.values())
    with_kafka = [case for case in all_cases() if case.site in WITH_KAFKA]
    others = [case for case in all_cases() if case.site not in WITH_KAFKA]
    besides = [(others, share), (with_kafka, of_kafka)]
    return drawn.union(*(rng.sample(cases, round(part * len(cases))) for cases, part in besides))


def _border(case: Case) -> tuple[Script, P, Site | str, int]:
    if case.script is Script.BATCH or case.point in OF_SESSIONS:
        return case.script, case.point, case.site, case.visit
    kind = "kafka" if case.site in WITH_KAFKA else "rows" if case.site in WITH_SINKS else ""
    return case.script, case.point, kind, case.visit
