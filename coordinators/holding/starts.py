"""Where an incarnation starts to read: start policies, resolved to numbers once per incarnation and spout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import MappingProxyType

from trident.coordinators.decided import ResetStart
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.spouts.base import NamesMessages, Source, Start, StartAt
from trident.spouts.offsets import StartOffsets

OpenSources = Callable[[Sequence[str]], AbstractContextManager[Mapping[str, Source]]]
"""Opens the streams of these names, for a block."""


def start_policy(text: str | None) -> Start | None:
    """Return the policy that a person named: "earliest", "latest", an ISO time or offsets; None for none.

    Raises ValueError for anything else.

    Where a reset resumes, what there is to resume is stored: what is asked begins as its spout says.
    """
    if text is None or text == ResetStart.RESUME:
        return None
    if text in tuple(StartAt):
        return StartAt(text)
    if "=" in text:
        return StartOffsets.parse(text)
    return datetime.fromisoformat(text)


def starts_to_store(
    snapshot: Snapshot,
    sources: Mapping[str, Source],
    repeater: Repeater,
    topics: Mapping[str, Sequence[str]] = MappingProxyType({}),
    line: str = "",
) -> tuple[StartPosition, ...] | None:
    """Ask the sources that have no start yet; returns all starts, None when the ledger has them already.

    `topics` are those that streams read by name: one that came with this version begins as its spout says. `line` is
    that of the run's epoch: a queue is opened to be asked, and compares what it finds with what its stream has done. So
    it is not asked while a reset is open, which changes that; behind it, it is.
    """
    if snapshot.open_reset is not None:
        sources = {name: source for name, source in sources.items() if not isinstance(source, NamesMessages)}
    for source in sources.values():
        if line and isinstance(source, NamesMessages):
            source.belong_to(line, snapshot.birth_txid)
    known = [item for item in snapshot.starts or () if item.id.topic in (topics.get(item.spout) or (item.id.topic,))]
    missing = [name for name in sources if not any(item.spout == name for item in known)]
    begun = {(item.spout, item.id.topic) for item in known}
    came = {name: {topic for topic in topics.get(name, ()) if (name, topic) not in begun} for name in sources}
    grown = [name for name in sources if name not in missing and came[name]]
    if snapshot.starts is not None and not missing and not grown:
        return None
    found = [_begin(name, sources[name], snapshot, repeater) for name in missing]
    for name in grown:
        starts = _resolve(name, sources[name], None, repeater)
        found.append([item for item in starts if item.id.topic in came[name]])
    return (*known, *(start for starts in found for start in starts))


def require_begins(
    seen: Snapshot, open_sources: OpenSources, start: str | None, check: Callable[[], None], repeater: Repeater
) -> None:
    """Raise why a version could not begin that adds something, with a reset from that start, to what is stored.

    What it has stored could neither be corrected nor, without ever having run, be taken out. Only streams that are
    new are opened and asked; nothing of it is kept. A topology that the ledger does not know replaces nothing.
    """
    if seen.added.topology or not seen.added.is_something:
        return
    with open_sources(seen.added.asked) as sources:
        for name, source in sources.items():
            _resolve(name, source, start_policy(start), repeater)
    check()


def nothing_wrong() -> None:
    """Stand for a look that finds nothing."""


def _begin(name: str, source: Source, snapshot: Snapshot, repeater: Repeater) -> list[StartPosition]:
    """Ask where a stream begins; a topic that it was given after a reset begins as its spout says, whatever that said.

    As a stream does that was added after it: the person who named the start has not meant it.
    """
    policy = start_policy(snapshot.start_of(name))
    starts = _resolve(name, source, policy, repeater)
    came = {topic for stream, topic in snapshot.added.topics if stream == name}
    if policy is None or not came:
        return starts
    others = _resolve(name, source, None, repeater)
    return [
        *(item for item in starts if item.id.topic not in came),
        *(item for item in others if item.id.topic in came),
    ]


def _resolve(name: str, source: Source, policy: Start | None, repeater: Repeater) -> list[StartPosition]:
    bounds = repeater.call(f"asking where stream {name!r} starts", lambda: source.starts(policy))
    return [StartPosition(name, item.id, item.topic_id, item.earliest, item.epoch) for item in bounds]
