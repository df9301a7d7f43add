"""What is said of rows that end with the process that received them, where a text says how a txid goes on; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from trident.coordinators.planned import SpoutRange


@dataclass(frozen=True, slots=True)
class Gone:
    """The streams of which an attempt had rows that can't be read again; `beside` are its others, of which it had some.

    Of an attempt that is pinned nothing is gone: it is finished from what was staged, unless it is undone.
    """

    streams: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, received: Collection[str], ranges: Iterable[SpoutRange] | None) -> Self | None:
        """Return what is gone of an attempt with these ranges; None for nothing. Without ranges it may be of each."""
        if ranges is None:
            return cls(tuple(sorted(received))) if received else None
        read = {item.spout for item in ranges if item.range.width}
        gone = tuple(sorted(read.intersection(received)))
        return cls(gone, tuple(sorted(read.difference(received)))) if gone else None

    @property
    def rows(self) -> str:
        """Whose rows they are."""
        return f"its rows of stream {', '.join(map(repr, self.streams))}"

    @property
    def fate(self) -> str:
        """What becomes of them, as a sentence without its end."""
        again = f"; what it had of stream {', '.join(map(repr, self.beside))} is read again" if self.beside else ""
        return (
            "these ended with the process that had received them, and can't be read again: the next start records them "
            f"as lost, or stops where the stream's on_lost_offsets says so{again}"
        )
