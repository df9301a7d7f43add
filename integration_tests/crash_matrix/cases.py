"""Every case of the crash matrix: where a coordinator dies, with what around it, and what comes after."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from trident.base.crash_points import CrashPoint as P
from trident.spouts.base import SpoutKind
from trident.state import StateKind

STATE_KINDS = (StateKind.OPAQUE, StateKind.TRANSACTIONAL)
TARGET = 2
"""The txid that is in flight when the coordinator dies."""


class Site(StrEnum):
    """Where ledger and states live."""

    SQLITE = "sqlite"
    """One file: the shortcut."""
    POSTGRES = "postgres"
    """One database: the shortcut."""
    APART = "apart"
    """The state in a database of its own."""
    TWO_DATABASES = "two databases"
    """Two states in two databases, none of them the ledger's."""
    BESIDE_AND_APART = "beside and apart"
    """One state beside the ledger, applied with the pin, and one in a database of its own, applied after it."""
    PER_KEY = "per key"
    """A per-key backing map with a conditional put."""


class Script(StrEnum):
    """What happens around the death."""

    BATCH = "batch"
    """The coordinator dies with the target txid in flight; the next one runs to the end."""
    BIRTH = "birth"
    """The first coordinators ever die while they take over."""
    TAKE_OVER = "take-over"
    """One dies with the target in flight, then its successors while they take over."""
    RESET = "reset"
    """One dies with the target in flight, then those who reset the topology."""
    RETRY = "retry"
    """A state refuses the target, nothing of it is pinned, and a person has it tried again."""
    UNDO = "undo"
    """The target is pinned and in part applied, and a person undoes it."""
    DIVERT = "divert"
    """A state refuses the target, and a person diverts its rows."""
    ADDED = "a state is added"
    """One dies with the target in flight, then one with a version that has one more state, while it takes over."""
    WRONG_VERSION = "a wrong version"
    """One dies with the target in flight, then a version that has to be refused dies, and is refused."""


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
    it, and not the person who asks again. For an added state: whether the version before is started again in between.
    For a wrong version: whether it is what lives at the new state's place that is wrong, not its description.
    """

    @property
    def name(self) -> str:
        """What the case is called in reports, and how one is run alone."""
        kinds = f"{self.spout} spout, {self.state} state"
        return f"{self.site} / {self.script} / {self.point.name} / {kinds} / {self.tries} / {self._contents}"

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


DECISIONS = (Script.RETRY, Script.UNDO, Script.DIVERT)
_EVERYWHERE = (
    P.BEFORE_PLAN,
    P.AFTER_PLAN,
    P.READING,
    P.AFTER_PROCESSING,
    P.AFTER_STAGING,
    P.AFTER_ACK,
    P.IN_TURN,
    P.AFTER_DONE,
)
_TOGETHER = (P.IN_PIN_TRANSACTION,)
_STEP_BY_STEP = (P.BEFORE_PIN, P.AFTER_PIN, P.AFTER_APPLY, P.BEFORE_DONE)
_BATCH_POINTS = {
    Site.SQLITE: (*_EVERYWHERE, *_TOGETHER),
    Site.POSTGRES: (*_EVERYWHERE, *_TOGETHER, P.AFTER_COPY),
    Site.APART: (*_EVERYWHERE, *_STEP_BY_STEP, P.IN_APPLY, P.AFTER_COPY),
    Site.TWO_DATABASES: (*_EVERYWHERE, *_STEP_BY_STEP, P.IN_APPLY, P.AFTER_COPY),
    Site.BESIDE_AND_APART: (*_EVERYWHERE, *_STEP_BY_STEP, *_TOGETHER, P.IN_APPLY, P.AFTER_COPY),
    Site.PER_KEY: (*_EVERYWHERE, *_STEP_BY_STEP, P.BETWEEN_CHUNKS, P.BEFORE_POSITION),
}
_UPKEEP_POINTS = (P.BEFORE_CLEAN_UP, P.BETWEEN_CLEAN_UPS, P.BEFORE_RENEWAL, P.AFTER_RENEWAL)
_TAKE_OVER_POINTS = (
    P.AFTER_LEASE,
    P.AFTER_LOOKING,
    P.AFTER_PREPARATION,
    P.AFTER_FENCE,
    P.AFTER_READING_LEDGER,
    P.AFTER_CHECKING,
    P.AFTER_REGISTRATION,
)
_RESET_POINTS = (P.AFTER_DECIDING_RESET, P.AFTER_RESETTING_STATE, P.AFTER_RESET)
_RETRY_POINTS = {Site.SQLITE: (P.AFTER_REFUSING, P.AFTER_DECIDING_RETRY)}
_RETRY_POINTS[Site.POSTGRES] = _RETRY_POINTS[Site.SQLITE]
_UNDO_POINTS = {
    Site.APART: (P.AFTER_REFUSING, P.AFTER_DECIDING_UNDO, P.IN_UNDO, P.AFTER_UNDOING_STATE, P.AFTER_UNPINNING),
    Site.PER_KEY: (P.AFTER_DECIDING_UNDO, P.BETWEEN_UNDONE_CHUNKS, P.AFTER_UNDOING_STATE, P.AFTER_UNPINNING),
}
_UNDO_POINTS[Site.TWO_DATABASES] = _UNDO_POINTS[Site.APART]
_UNDO_POINTS[Site.BESIDE_AND_APART] = _UNDO_POINTS[Site.APART]
_DIVERT_POINTS = {
    site: (P.AFTER_DECIDING_DIVERT,)
    if site in (Site.SQLITE, Site.POSTGRES)
    else (P.AFTER_DECIDING_DIVERT, P.AFTER_DIVERTING)
    for site in Site
}
_PAIRS = (
    (SpoutKind.OPAQUE, StateKind.OPAQUE),
    (SpoutKind.TRANSACTIONAL, StateKind.TRANSACTIONAL),
)


def cases_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    """Yield all cases of one place and one pair of kinds."""
    for point in _BATCH_POINTS[site]:
        for tries in (1, 3):
            for other in (False, True) if spout is SpoutKind.OPAQUE else (False,):
                yield Case(site, Script.BATCH, point, spout, state, tries, other)
    if (spout, state) in _PAIRS:
        for script, points in (
            (Script.BATCH, _UPKEEP_POINTS),
            (Script.BIRTH, _TAKE_OVER_POINTS),
            (Script.TAKE_OVER, _TAKE_OVER_POINTS),
        ):
            for point in points:
                yield from (Case(site, script, point, spout, state, tries, False) for tries in (1, 3))
        # stored once: whoever comes after finds it done
        for point in (P.AFTER_RECORDING_BIRTHS, P.AFTER_BIRTH, P.AFTER_STARTS):
            yield Case(site, Script.BIRTH, point, spout, state, 1, False)
        for point in _RESET_POINTS:
            yield from (Case(site, Script.RESET, point, spout, state, 1, other) for other in (False, True))
        yield from _versions_of(site, spout, state)
        yield from _decisions_of(site, spout, state)


def _versions_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    """Of one pair of kinds: they decide nothing while another version takes over."""
    if (spout, state) != (SpoutKind.OPAQUE, StateKind.OPAQUE):
        return
    for point in (*_TAKE_OVER_POINTS, P.AFTER_RECORDING_BIRTHS, P.AFTER_BIRTH):
        yield from (Case(site, Script.ADDED, point, spout, state, 1, other) for other in (False, True))
    # a refused version gets no further
    yield from (Case(site, Script.WRONG_VERSION, P.AFTER_LEASE, spout, state, 1, other) for other in (False, True))


def _decisions_of(site: Site, spout: SpoutKind, state: StateKind) -> Iterator[Case]:
    for point in _RETRY_POINTS.get(site, ()):
        yield Case(site, Script.RETRY, point, spout, state, 1, other=True)
    for point in _UNDO_POINTS.get(site, ()) if state is StateKind.OPAQUE else ():
        # once it is unpinned there is nothing left to ask for
        for other in (True,) if point in (P.AFTER_UNPINNING, P.AFTER_REFUSING) else (False, True):
            yield Case(site, Script.UNDO, point, spout, state, 1, other)
    for point in _DIVERT_POINTS[site]:
        for other in (True,) if point is P.AFTER_DIVERTING else (False, True):
            yield Case(site, Script.DIVERT, point, spout, state, 1, other)


def all_cases() -> tuple[Case, ...]:
    """Return the whole matrix."""
    return tuple(
        case for site in Site for spout in SpoutKind for state in STATE_KINDS for case in cases_of(site, spout, state)
    )


def drawn_cases(seed: int, share: float = 0.0) -> frozenset[Case]:
    """Return each border of a batch once at each place, every other border at one place, in a variant that is drawn.

    The variants of a border differ in kinds, tries and contents, most of which are decided far from it; a take-over
    and a decision go the same way wherever the states live. Of all cases that share is drawn besides.
    """
    variants: dict[tuple[Script, P, Site | None], list[Case]] = defaultdict(list)
    for case in all_cases():
        site = case.site if case.script is Script.BATCH else None
        variants[case.script, case.point, site].append(case)
    rng = random.Random(seed)
    borders = frozenset(rng.choice(cases) for cases in variants.values())
    return borders | frozenset(rng.sample(all_cases(), round(share * len(all_cases()))))
