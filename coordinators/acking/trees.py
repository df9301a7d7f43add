"""Trees of messages: which have been processed with all that was derived of them; pure.

An edge is XORed into its root's value when it is made and again when it is acked, in whatever order: the value is zero
when nothing is open. This is Storm's acker. Twice the same edge would hide that it is open, so edges are hashes of what
made them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trident.base.trees import Ids


@dataclass(slots=True)
class _Table:
    """One acker's: what came, in pieces; 16 bytes for each root that came in one."""

    roots: list[Ids] = field(default_factory=list)
    values: list[Ids] = field(default_factory=list)
    begun: list[Ids] = field(default_factory=list)


class Ackers:
    """The trees of one attempt's messages, dealt to so many ackers by their ids; for one thread."""

    def __init__(self, ackers: int) -> None:
        if ackers < 1:
            raise ValueError("without ackers nobody tracks trees")
        self._tables = [_Table() for _ in range(ackers)]

    def begin(self, roots: Ids, edges: Ids) -> None:
        """Hear which messages their source has given, each under which edge."""
        for table, chosen in self._dealt(roots):
            mine = roots[chosen]
            table.roots.append(mine)
            table.values.append(edges[chosen])
            table.begun.append(mine)  # the same piece: it takes no room twice

    def ack(self, roots: Ids, edges: Ids) -> None:
        """Hear of edges that were made, or are done with; what comes before the beginning of its root is kept.

        A root may come several times, with an edge or the XOR of some.
        """
        for table, chosen in self._dealt(roots):
            table.roots.append(roots[chosen])
            table.values.append(edges[chosen])

    def lose(self, acker: int) -> None:
        """Forget all that one acker knows, as its death does: its roots are never processed."""
        self._tables[acker] = _Table()

    def processed(self, roots: Ids) -> npt.NDArray[np.bool_]:
        """Tell of each of these roots whether it has begun, and nothing of it is open."""
        found = np.zeros(len(roots), dtype=np.bool_)
        for table, chosen in self._dealt(roots):
            found[chosen] = np.isin(roots[chosen], _closed(table))
        return found

    def _dealt(self, roots: Ids) -> list[tuple[_Table, npt.NDArray[np.bool_]]]:
        count = np.uint64(len(self._tables))
        return [(table, roots % count == np.uint64(number)) for number, table in enumerate(self._tables)]


def _closed(table: _Table) -> Ids:
    """Return the roots of a table that have begun and whose value is zero."""
    if not table.begun:
        return np.empty(0, dtype=np.uint64)
    roots, values = np.concatenate(table.roots), np.concatenate(table.values)
    order = np.argsort(roots, kind="stable")
    known, starts = np.unique(roots[order], return_index=True)
    totals = np.bitwise_xor.reduceat(values[order], starts)
    return np.asarray(np.intersect1d(known[totals == 0], np.concatenate(table.begun)), dtype=np.uint64)
