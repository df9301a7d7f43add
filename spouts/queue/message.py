"""What a queue gives: a message with its id, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

Values = Mapping[str, object] | Sequence[object]
LONGEST_ID: Final = 500
"""Characters of a message's id: each is kept in the ledger for as long as the horizon remembers it."""
LONGEST_DIGEST: Final = 64
"""Characters of the digest beside it."""
_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its values by field, and the id that it has each time its source gives it.

    The id is text, the same at each delivery and in each process: a number that a connection counts (a delivery tag)
    is none. None is refused where ids are remembered.
    """

    values: Values = field(repr=False)
    id: str | None = None
    is_redelivered: bool | None = None
    """Whether the source says that it has given it before; None where it says neither.

    What the message was then is remembered within the horizon only.
    """
    digest: str = field(default="", repr=False)
    """A short text that another message with the same id has not, such as a hash of the body; empty where none is.

    It is remembered beside the id: what comes with the id and another digest is another message, and is refused. A
    source needs none whose ids no other message ever has, also where the source was made again or put back.
    """


def body_digest(body: bytes) -> str:
    """Return the digest of a message's body, 16 characters of text.

    Eight bytes are enough: it tells bodies apart that have one id, and one pair of 2^64 would be taken for the same.
    """
    return blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()
