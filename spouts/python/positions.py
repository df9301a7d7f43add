"""What a user's spout says of its positions, looked at before any of it is written down."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Final

from trident.base.errors import FatalError

_MOST_PARTITION: Final = 2**31 - 1
"""A record's place holds the partition in 32 bits."""
_MOST_POSITION: Final = 2**63 - 1


def checked_bounds(stream: str, said: object) -> list[tuple[int, int, int]]:
    """Return partition, first position and the one behind the last, by partition; raises `FatalError`.

    Integers of other libraries (numpy's) become Python's. A number that was written down and can't be a position would
    stop every later run.
    """
    if not isinstance(said, Mapping):
        raise _wrong(stream, f"returned {_kind(said)}, where a dict of partition to (first, behind the last) is wanted")
    found = []
    for partition, positions in said.items():
        number = _integer(partition)
        if number is None or not 0 <= number <= _MOST_PARTITION:
            raise _wrong(stream, f"names the partition {partition!r}; a partition is an integer from 0 on")
        if not isinstance(positions, tuple | list) or len(positions) != 2:
            raise _wrong(
                stream, f"says {_kind(positions)} of partition {number}, where (first, behind the last) is wanted"
            )
        first, stop = (_integer(position) for position in positions)
        if first is None or stop is None:
            raise _wrong(
                stream,
                f"says of partition {number} that it goes from {_kind(positions[0])} to {_kind(positions[1])}; "
                "positions are integers",
            )
        if not 0 <= first <= stop <= _MOST_POSITION:
            raise _wrong(
                stream,
                f"says that partition {number} goes from {first} to {stop}; positions begin at 0, only grow and fit "
                "into 64 bits",
            )
        found.append((number, first, stop))
    if len({number for number, _, _ in found}) < len(found):
        raise _wrong(stream, "names a partition twice")
    return sorted(found)


def checked_partitions(stream: str, said: object) -> tuple[int, ...]:
    """Return the numbers of a spout's partitions, in order; raises `FatalError`."""
    if not isinstance(said, Iterable) or isinstance(said, str | bytes):
        raise _wrong(stream, f"returned {_kind(said)}, where the partitions' numbers are wanted", "partitions()")
    numbers = []
    for partition in said:
        number = _integer(partition)
        if number is None or not 0 <= number <= _MOST_PARTITION:
            raise _wrong(
                stream, f"names the partition {partition!r}; a partition is an integer from 0 on", "partitions()"
            )
        numbers.append(number)
    if len(set(numbers)) < len(numbers):
        raise _wrong(stream, "names a partition twice", "partitions()")
    return tuple(sorted(numbers))


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # that is what is asked
    except TypeError:
        return None


def _kind(value: object) -> str:
    return "None (a missing return?)" if value is None else f"a value of the type {type(value).__name__}"


def _wrong(stream: str, why: str, what: str = "bounds()") -> FatalError:
    return FatalError(f"stream {stream!r}: {what} {why}. Nothing was planned; mend it and start again")
