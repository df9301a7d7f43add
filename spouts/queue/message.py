"""What a queue gives: a message with its id, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Values = Mapping[str, object] | Sequence[object]
LONGEST_ID: Final = 500
"""Characters of a message's id: each is kept in the ledger for as long as the horizon remembers it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its values by field, and the id that it has each time its source gives it.

    The id is text, the same at each delivery and in each process: a number that a connection counts (a delivery tag)
    is none. None is refused where ids are remembered.
    """

    values: Values = field(repr=False)
    id: str | None = None
    is_redelivered: bool = False
    """Whether the source says that it has given it before; what it was then is remembered within the horizon only."""
