"""Where an incarnation starts to read: start policies, resolved to numbers once per incarnation and spout."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from trident.coordinators.registered import Snapshot, StartPosition
from trident.coordinators.retrying import Repeater
from trident.spouts.base import Source, Start, StartAt


def start_policy(text: str | None) -> Start | None:
    """Return the policy that a person named: "earliest", "latest" or an ISO time, None for none; else ValueError."""
    if text is None or text in tuple(StartAt):
        return None if text is None else StartAt(text)
    return datetime.fromisoformat(text)


def starts_to_store(
    snapshot: Snapshot, sources: Mapping[str, Source], repeater: Repeater
) -> tuple[StartPosition, ...] | None:
    """Ask the sources that have no start yet; returns all starts, None when the ledger has them already."""
    known = snapshot.starts or ()
    missing = [name for name in sources if not any(item.spout == name for item in known)]
    if snapshot.starts is not None and not missing:
        return None
    policy = start_policy(snapshot.start)
    return (*known, *(start for name in missing for start in _resolve(name, sources[name], policy, repeater)))


def _resolve(name: str, source: Source, policy: Start | None, repeater: Repeater) -> list[StartPosition]:
    bounds = repeater.call(f"asking where stream {name!r} starts", lambda: source.starts(policy))
    return [StartPosition(name, item.id, item.topic_id, item.earliest) for item in bounds]
