"""What a state must hold by the account of every txid that was done since its birth, record by record.

Nothing here looks at a position, a row or a word of the state: a life begins at its birth, or with the rows that a
reset left it, and gets the records of each txid when the ledger says that it is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.simulation.data import amount_of, is_bad, key_of

Sums = Mapping[tuple[object, ...], tuple[int, int]]
Spans = frozenset[tuple[int, int, int]]
"""Partition, first offset, and the one behind the last."""


class Life(NamedTuple):
    """One state since its birth; a reset that empties it is another birth."""

    birth: int
    sums: Sums = MappingProxyType({})
    """What a reset found in it and left there, and every record that was done since."""

    def with_done(self, read: Spans) -> Life:
        """Return it with what one txid more has read."""
        return Life(self.birth, added(self.sums, read))


def added(sums: Sums, read: Spans) -> Sums:
    """Return the sums with these records; what does not decode counts nowhere."""
    more = dict(sums)
    for partition, start, stop in read:
        for offset in range(start, stop):
            if not is_bad(partition, offset):
                key = key_of(partition, offset)
                n, total = more.get(key, (0, 0))
                more[key] = (n + 1, total + amount_of(partition, offset))
    return more
