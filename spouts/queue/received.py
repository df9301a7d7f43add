"""One message as a queue's client gives it, before it is decoded; and the rules that its id has to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trident.base.errors import FatalError
from trident.spouts.queue.message import LONGEST_ID

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Received:
    """A message as its source has it; its repr shows nothing that a sender wrote but its id."""

    id: str
    source: str
    """The queue, stream or topic, or the path of a request."""
    body: bytes | None = field(repr=False)
    """None where the source has none, which is not an empty one: a tombstone, or an entry without the field."""
    key: bytes | None = field(default=None, repr=False)
    """A routing key, or a record's key."""
    attributes: Mapping[str, bytes | None] = field(default_factory=dict, repr=False)
    """Headers, or an entry's fields, by name."""


class UnreadableError(ValueError):
    """A message can't be made into values; the text says why and names fields and types, no value."""


def id_problem(id_: str) -> str | None:
    """Return what is wrong with a message's id, None for one that may be remembered."""
    if not id_.strip():
        return "is empty"
    if len(id_) > LONGEST_ID:
        return f"has {len(id_):,} characters, more than {LONGEST_ID}"
    if not is_plain(id_):
        return "is no text that every store holds (a NUL, or half of a character)"
    return None


def shown_id(id_: str) -> str:
    """Return an id as errors show it."""
    return repr(id_ if len(id_) <= _SHOWN else f"{id_[:_SHOWN]}…")


def unreadable(where: str, id_: str, why: str, way_on: str) -> FatalError:
    """Return the error for a message that can't be decoded; `way_on` says how the message is taken out of the way."""
    return FatalError(
        f"{where}: the message with the id {shown_id(id_)} can't be read: {why}. Nothing of it was applied, and its "
        f"source still has it. {way_on}"
    )


def other_message(where: str, id_: str, way_on: str) -> FatalError:
    """Return the error for a message that has the id of another one; `way_on` says how both can be kept."""
    return FatalError(
        f"{where}: a message with the id {shown_id(id_)} is not the one that is done, or under way, with this id: its "
        f"body is another one. Nothing of it was applied, it was not acked, and its source still has it. {way_on}"
    )


def is_plain(text: str) -> bool:
    """Whether every store holds it: not with a NUL, nor with half of a character."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
