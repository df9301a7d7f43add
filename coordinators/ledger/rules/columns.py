"""The columns of a state as its description names them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trident.state.layout import Merge

_OPEN: Final = "([<"
_CLOSED: Final = ")]>"
_MERGES: Final = frozenset(merge.value for merge in Merge)


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its name, and all that is said of it: its type, of a value how it is merged too."""

    name: str
    said: str

    @property
    def merge(self) -> Merge:
        """How a value is merged."""
        return Merge(self.said.rpartition(" ")[2])


def keys_in(text: str) -> tuple[Column, ...] | None:
    """Return the key columns; None where the text can't be told apart for sure, as with a comma in a name."""
    return _columns_in(text, 1)


def values_in(text: str) -> tuple[Column, ...] | None:
    """Return the value columns; None where the text can't be told apart for sure."""
    found = _columns_in(text, 2)
    return found if found and all(each.said.rpartition(" ")[2] in _MERGES for each in found) else None


def text_of(columns: Sequence[Column]) -> str:
    """Return what a description says of these columns."""
    return ", ".join(column.said for column in columns)


def _columns_in(text: str, behind: int) -> tuple[Column, ...] | None:
    """Return the columns, each of which ends in so many words without a blank outside of brackets."""
    if not text:
        return ()
    pieces = _apart(text, ", ")
    words = [_apart(piece, " ") for piece in pieces or ()]
    if pieces is None or not all(each is not None and len(each) > behind for each in words):
        return None
    columns = tuple(
        Column(" ".join(each[:-behind]), piece) for piece, each in zip(pieces, words, strict=True) if each is not None
    )
    return columns if len({column.name for column in columns}) == len(columns) else None


def _apart(text: str, by: str) -> list[str] | None:
    """Split outside of brackets; None where these are not balanced."""
    parts, depth, first, place = [], 0, 0, 0
    while place < len(text):
        depth += (text[place] in _OPEN) - (text[place] in _CLOSED)
        if depth < 0:
            return None
        if depth == 0 and text.startswith(by, place):
            parts.append(text[first:place])
            place = first = place + len(by)
            continue
        place += 1
    return None if depth else [*parts, text[first:]]
