"""What is noted beside a group's position, as its metadata: of which topic it is, and what its stream had; pure."""

from __future__ import annotations

import re
from typing import Final

from trident.spouts.queue.acking import StreamProgress

_OF_TOPIC: Final = "topic id "
"""Before the id of the topic that a position is of: the brokers know it by the topic's name alone."""
_NOTE: Final = re.compile(
    r"(?:horizon (?P<horizon>[0-9]{1,18})(?:, |$))?"
    r"(?:done (?P<done>[0-9]{1,18}) after (?P<birth>[0-9]{1,18}) of (?P<life>[0-9a-f]{16})(?:, |$))?"
    r"(?:txid (?P<txid>[0-9]{1,18})(?:, |$))?"
)
"""What stands before that: an earlier version of the library takes nothing that ends with a topic's id for another."""


def note_of(topic_id: str, horizon: int, progress: StreamProgress | None = None) -> str:
    """Return what is noted; `horizon` 0 where nothing is done above the positions that an earlier process has left."""
    parts = [f"horizon {horizon}"] if horizon else []
    if progress is not None:
        parts += [f"done {progress.done} after {progress.birth} of {progress.life}", f"txid {progress.txid}"]
    return ", ".join([*parts, *([f"{_OF_TOPIC}{topic_id}"] if topic_id else [])])


def is_of_another_topic(note: str, topic_id: str) -> bool:
    """Tell whether a position is in another topic of the name; what somebody else has noted, as tools do, says no."""
    noted = note[_found(note).end() :]
    return bool(topic_id) and noted.startswith(_OF_TOPIC) and noted != f"{_OF_TOPIC}{topic_id}"


def horizon_in(note: str) -> int:
    """Return how many done records were remembered when a position was committed; 0 where none may be done above it."""
    return int(_found(note)["horizon"] or 0)


def progress_in(note: str) -> StreamProgress | None:
    """Return how far its stream was when a position was committed; None where nobody has noted it."""
    found = _found(note)
    if not found["life"]:
        return None
    return StreamProgress(found["life"], int(found["birth"]), int(found["done"]), int(found["txid"] or 0))


def _found(note: str) -> re.Match[str]:
    found = _NOTE.match(note)
    assert found is not None, "all of it may be missing"
    return found
