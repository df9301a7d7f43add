"""Which rows of a batch a target refuses, found by halving; the search is pure, trying is the target's affair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from trident.base.errors import RefusedError

if TYPE_CHECKING:
    from trident.base.identity import BatchId
    from trident.state.capabilities import Transaction

Refuses: TypeAlias = Callable[[Sequence[int]], bool]
"""Whether the rows of these numbers are refused, alone and as if nothing else of the batch were there."""


class Verdict(StrEnum):
    """What a search has come to."""

    FITS = "fits"
    """Nothing is refused."""
    SOME = "some"
    """Just these are refused, each by itself and with all others, which fit together."""
    NO_ROW = "no row"
    """It is refused without any row as well: no row is the cause, and none leaves for it."""
    ALL = "all"
    """Every row is refused by itself."""
    TOGETHER = "together"
    """Rows are refused with others, and fit without them: nobody can say which are to go."""
    UNTOLD = "untold"
    """Which ones they are was not found: there are too many, or a function has refused before any was tried."""


@dataclass(frozen=True, slots=True)
class Sifted:
    """What was found of `count` rows; without `SOME` or `ALL` the rows that are named are not all that matter."""

    verdict: Verdict
    count: int
    refused: tuple[int, ...] = ()
    """The numbers of the rows that are refused by themselves and with all that is kept, in order."""

    @property
    def kept(self) -> tuple[int, ...]:
        """The numbers of all other rows, in order."""
        refused = frozenset(self.refused)
        return tuple(number for number in range(self.count) if number not in refused)

    def __str__(self) -> str:
        """Say it of the keys of a batch, as half a sentence."""
        rows = f"{len(self.refused)} of its {self.count} keys {'is' if len(self.refused) == 1 else 'are'} refused"
        match self.verdict:
            case Verdict.FITS:
                return f"none of its {self.count} keys is refused any more"
            case Verdict.SOME:
                return f"{rows}, the others fit"
            case Verdict.NO_ROW:
                return f"it would be without any of its {self.count} keys as well, so none of them is the cause"
            case Verdict.ALL:
                return f"every one of its {self.count} keys is refused"
            case Verdict.TOGETHER:
                return f"no single one of its {self.count} keys can be told from the others: they are refused together"
            case Verdict.UNTOLD if self.refused:
                return f"at least {rows} by themselves"
            case Verdict.UNTOLD:
                return f"which of its {self.count} keys are refused can't be told"


def with_number(error: RefusedError, found: Sifted | None) -> str:
    """Return what a refusal says, with how many keys it is about where that is known."""
    return str(error) if found is None else f"{error}; {found}"


class Sifts(Protocol):
    """Can be asked which rows it refuses of a batch that is not in; changes nothing.

    Each of its transactions is rolled back, and holds what it has locked for as long as a search takes.
    """

    def check(self, rows: pa.Table) -> None:
        """Raise RefusedError for rows that could not even be staged."""

    def try_in(self, batch: BatchId, action: Callable[[Transaction], None]) -> None:
        """Run a transaction of its database that is rolled back; raises what a real one would raise."""

    def sift(
        self,
        batch: BatchId,
        rows: pa.Table,
        before: Callable[[Transaction], None],
        most: int,
    ) -> Sifted:
        """Return which of the staged rows are refused once `before` is done in the transaction.

        What waits for the COMMIT is looked at where the target applies its batches in transactions of its own. Raises
        what is no refusal of its rows, as a missing right, or what `before` raises, as it is.
        """


class _TooManyError(Exception):
    """Ends a search that has tried as often as it may."""


def in_lasting_order(rows: pa.Table) -> pa.Table:
    """Return rows as they lie whatever order they come in: by their keys, which no two of a batch share.

    So the same are found of the same rows each time, also where it depends on who is next to whom. What is kept of them
    has to be merged in this order too: a trigger may look for a row that comes before.
    """
    plain = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]  # all keys are
    return rows.sort_by([(name, "ascending") for name in plain])


def sift(count: int, refuses: Refuses, most: int, fails_together: Refuses | None = None) -> Sifted:
    """Return which of so many rows are refused; k of n take about 2k·log2(n) + k tries, `most` are made.

    What is refused as a whole is halved. A part whose halves both fit is refused for what is together in it. What is
    refused by itself and fits once the others are there goes back to them.
    """
    in_full = fails_together or refuses
    everything = range(count)
    if not count or not in_full(everything):
        return Sifted(Verdict.FITS, count)
    if in_full(()):
        return Sifted(Verdict.NO_ROW, count)
    found: list[int] = []
    limited = _limited(refuses, most)
    try:
        if not _gather(everything, limited, found):
            return Sifted(Verdict.TOGETHER, count)
        sifted = Sifted(Verdict.ALL if len(found) == count else Verdict.SOME, count, tuple(found))
        sifted = _with_those_that_fit(sifted, limited)
    except _TooManyError:
        return Sifted(Verdict.UNTOLD, count, tuple(found))
    if sifted.kept and in_full(sifted.kept):
        return Sifted(Verdict.TOGETHER, count)
    return sifted


def _gather(refused: range, refuses: Refuses, found: list[int]) -> bool:
    """Add the rows that are refused by themselves, of a part that is refused; False once one is not told apart."""
    parts = [refused]
    while parts:
        part = parts.pop()
        if len(part) == 1:
            found.append(part[0])
            continue
        middle = len(part) // 2
        halves = [half for half in (part[:middle], part[middle:]) if refuses(half)]
        if not halves:
            return False
        parts += reversed(halves)
    return True


def _with_those_that_fit(sifted: Sifted, refuses: Refuses) -> Sifted:
    """Give back what is refused alone and fits with all that is kept, and then what fits with that.

    A row may refer to another one of its batch. Of a single one it is known: with the others it is everything.
    """
    while sifted.kept and len(sifted.refused) > 1:
        left = tuple(number for number in sifted.refused if refuses(sorted((*sifted.kept, number))))
        if left == sifted.refused:
            break
        sifted = replace(sifted, refused=left)
    return sifted


def _limited(refuses: Refuses, most: int) -> Refuses:
    left = most

    def limited(rows: Sequence[int]) -> bool:
        nonlocal left
        if not left:
            raise _TooManyError
        left -= 1
        return refuses(rows)

    return limited
