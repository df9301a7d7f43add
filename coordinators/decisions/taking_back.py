"""An undo of the last txid that is done: what must hold for it, what would be read again, and how it is carried out.

It is made the pinned txid again, in one transaction of the ledger with the decision. From there on it is an undo like
any other, finished by whoever comes next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import BatchId
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.carrying_out import PinnedBatch, check_undo, has_open
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.holding.trying import try_with_patience
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.rules.taking_back import check_taken_back, not_taken_back
from trident.coordinators.pinned import Pin
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.spouts.base import KeepsRecords, Source
from trident.state.layout import Merge, StateKind
from trident.state.positions import Position
from trident.state.target import Target
from trident.state.undoing import undoes_done

_REPLACES = re.compile(rf"\b{Merge.REPLACE}\b")


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """What would be read again of one partition."""

    stream: str
    range: OffsetRange
    records: int | None
    """How many there were of them; None where its readers have told that of the whole stream only."""


@dataclass(frozen=True, slots=True)
class UndoProspect:
    """What the undo of a done txid is about to do, told before anything is changed."""

    txid: int
    ranges: tuple[ReadAgain, ...]
    records: tuple[tuple[str, int], ...]
    """How many records each stream had in it."""
    keys: tuple[tuple[str, int], ...]
    """How many keys of each state go back."""


AgreeToUndo = Callable[[UndoProspect], None]
"""Hears what an undo is about to do while nothing is changed yet; it ends there if this raises."""


def agree_to_undo(_: UndoProspect) -> None:
    """Let it pass."""


@dataclass(frozen=True, slots=True)
class WaysBack:
    """What an undo of a done txid needs beside the states: the streams, and a person's word."""

    open_sources: Callable[[Sequence[str]], AbstractContextManager[Mapping[str, Source]]]
    agree: AgreeToUndo = agree_to_undo


def is_of_last_done(seen: Snapshot, wanted: WantedDecision) -> bool:
    """Tell whether it is about the txid that is done, and nothing is to be finished first that was decided before."""
    is_done = wanted.kind is DecisionKind.UNDO and wanted.txid == seen.done and seen.done_attempt > 0
    return is_done and not has_open(seen)


def take_back(taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], ways: WaysBack) -> Decision:
    """Undo the txid that is done; returns the decision.

    Raises MismatchError or CannotUndoError, nothing changed, where one of its states, streams or traces keeps it from
    that.
    """
    decision = Decision(DecisionKind.UNDO, seen.done, seen.done_attempt, decided_by=holder_name())
    found = taking.unless_fenced(partial(_checked, taking, seen, positions, decision))
    _require_records(taking, decision, found.pin, ways)
    ways.agree(prospect_of_undo(found.pin))
    taking.settle(seen)
    taking.where_states_stand()
    batch = BatchId(seen.owner, taking.epoch, decision.txid, decision.attempt)
    pinned = PinnedBatch(batch, found.pin, found.pin.plan.predecessor)
    try_with_patience(taking.repeater, str(decision), partial(check_undo, taking.stores, pinned))
    _require_records(taking, decision, found.pin, ways)  # they may have gone while a person thought about it
    record = partial(taking.ledger.take_back, seen.owner, taking.epoch, decision)
    taking.repeater.call("recording a decision", record)
    reached(CrashPoint.AFTER_DECIDING_UNDO, decision.txid)
    taking.read()
    taking.finish_decisions()
    return decision


def prospect_of_undo(pin: Pin) -> UndoProspect:
    """Return what the undo of what was pinned so is about to do."""
    counted, records = dict[tuple[str, PartitionId], int](), dict[str, int]()
    for stream, manifest in pin.manifests:
        records[stream] = records.get(stream, 0) + manifest.count
        if manifest.id is not None:
            key = stream, manifest.id
            counted[key] = counted.get(key, 0) + manifest.count
    read = [item for item in pin.plan.ranges if item.range.width]
    return UndoProspect(
        pin.txid,
        tuple(ReadAgain(item.spout, item.range, counted.get((item.spout, item.range.id))) for item in read),
        tuple(sorted(records.items())),
        tuple(sorted((item.state, item.updates.count) for item in pin.states)),
    )


def why_not_these(spec: TopologySpec, targets: Mapping[str, Target], pin: Pin) -> str | None:
    """Return which end of the topology keeps a done txid from being taken back, and why; None where none does."""
    if spec.sinks:
        return f"what sink {spec.sinks[0]!r} was given can't be taken back"
    others = sorted({*targets} ^ {item.state for item in pin.states})
    if others:
        return f"state {others[0]!r} has not been in the topology all the time"
    for name, target in sorted(targets.items()):
        described = spec.states[name]
        if described.get("kind") != StateKind.OPAQUE:
            return f"state {name!r} is {described.get('kind')}: only an opaque one knows the values before"
        if target.capabilities.expiring is not None:
            return f"keys of state {name!r} expire: those that have gone with it don't come back"
        if _REPLACES.search(described.get("values", "")):
            return f"state {name!r} is kept by an updater: only what is aggregated is taken back"
        if not undoes_done(target):
            return (
                f"state {name!r} is in a store that takes back only what is pinned: a late put of its owner could "
                "come behind it"
            )
    return None


def _checked(
    taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], decision: Decision
) -> LastDone:
    """Return what is left of the txid; refuse, before anything is changed, what ledger and states have against it."""
    if seen.added.is_something:
        raise not_taken_back(decision, "this version of the topology adds something that has never run: use the former")
    found = taking.repeater.call("reading the last txid", lambda: taking.ledger.last_done(seen.owner, taking.epoch))
    done = seen.done, seen.done_attempt
    check_taken_back(done, seen.pinned, decision, found, seen.refusal, seen.decisions)
    assert found is not None
    problem = why_not_these(taking.spec, taking.stores, found.pin)
    if problem is not None:
        raise not_taken_back(decision, problem)
    taking.held_against(seen, positions)
    return found


def _require_records(taking: TakeOver, decision: Decision, pin: Pin, ways: WaysBack) -> None:
    """Refuse unless every stream that the txid has read of still has what it read."""
    ranges: dict[str, list[OffsetRange]] = {}
    for item in pin.plan.ranges:
        ranges.setdefault(item.spout, []).append(item.range)
    with ways.open_sources(sorted({*ranges, *taking.spec.spouts})) as sources:
        for stream in sorted({*ranges, *taking.spec.spouts}):
            source = sources.get(stream)
            if not isinstance(source, KeepsRecords):
                raise not_taken_back(
                    decision,
                    f"what stream {stream!r} has read can't be read again by its word: only topics of Kafka "
                    "that keep their records can",
                )
            ask = partial(source.why_gone, ranges.get(stream, []))
            gone = taking.repeater.call(f"asking stream {stream!r} for what it has read", ask)
            if gone is not None:
                raise not_taken_back(decision, f"stream {stream!r} can't read it again: {gone}")
