"""What is noted beside a group's position, as its metadata: of which topic it is, how much is remembered; pure."""

from __future__ import annotations

import re
from typing import Final

_OF_TOPIC: Final = "topic id "
"""Before the id of the topic that a position is of: the brokers know it by the topic's name alone."""
_HORIZON: Final = re.compile(r"horizon ([0-9]{1,18})(?:, |$)")


def note_of(topic_id: str, horizon: int) -> str:
    """Return what is noted; `horizon` 0 where nothing is done above the positions that an earlier process has left."""
    parts = [f"horizon {horizon}"] if horizon else []
    return ", ".join([*parts, *([f"{_OF_TOPIC}{topic_id}"] if topic_id else [])])


def is_of_another_topic(note: str, topic_id: str) -> bool:
    """Tell whether a position is in another topic of the name; what somebody else has noted, as tools do, says no."""
    noted = _HORIZON.sub("", note, count=1) if _HORIZON.match(note) else note
    return bool(topic_id) and noted.startswith(_OF_TOPIC) and noted != f"{_OF_TOPIC}{topic_id}"


def horizon_in(note: str) -> int:
    """Return how many done records were remembered when a position was committed; 0 where none may be done above it."""
    found = _HORIZON.match(note)
    return int(found[1]) if found else 0
