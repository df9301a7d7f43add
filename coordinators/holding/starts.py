"""Where an incarnation starts to read: start policies, resolved to numbers once per incarnation and spout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from trident.coordinators.decided import ResetStart
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.spouts.base import Source, Start, StartAt


def start_policy(text: str | None) -> Start | None:
    """Return the policy that a person named: "earliest", "latest" or an ISO time, None for none; else ValueError.

    Where a reset resumes, what there is to resume is stored: what is asked begins as its spout says.
    """
    if text is None or text == ResetStart.RESUME:
        return None
    if text in tuple(StartAt):
        return StartAt(text)
    return datetime.fromisoformat(text)


def starts_to_store(
    snapshot: Snapshot, sources: Mapping[str, Source], repeater: Repeater
) -> tuple[StartPosition, ...] | None:
    """Ask the sources that have no start yet; returns all starts, None when the ledger has them already."""
    known = snapshot.starts or ()
    missing = [name for name in sources if not any(item.spout == name for item in known)]
    if snapshot.starts is not None and not missing:
        return None
    found = [_resolve(name, sources[name], start_policy(snapshot.start_of(name)), repeater) for name in missing]
    return (*known, *(start for starts in found for start in starts))


def require_startable(
    seen: Snapshot, sources: Mapping[str, Source], check: Callable[[], None], repeater: Repeater
) -> None:
    """Raise what is wrong with a version that brings something new, before it is stored.

    What it is called by then could neither be corrected nor, without ever having run, be taken out. Streams that have
    no start yet are asked for one; nothing of it is kept.
    """
    if seen.added.is_something:
        starts_to_store(seen, sources, repeater)
        check()


def nothing_wrong() -> None:
    """Stand for a look that finds nothing."""


def _resolve(name: str, source: Source, policy: Start | None, repeater: Repeater) -> list[StartPosition]:
    bounds = repeater.call(f"asking where stream {name!r} starts", lambda: source.starts(policy))
    return [StartPosition(name, item.id, item.topic_id, item.earliest, item.epoch) for item in bounds]
