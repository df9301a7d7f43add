"""A database in memory: named tables, one writer at a time, all of a transaction or nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MemoryTable = dict[object, object]
"""Immutable values by key: a transaction is undone by putting the old dict back."""


class MemoryTransaction:
    """An open transaction of a `MemoryDatabase`; a table is copied when it is first asked for."""

    def __init__(self, tables: dict[str, MemoryTable]) -> None:
        self._tables = tables
        self._before: dict[str, MemoryTable] = {}

    def table(self, name: str) -> MemoryTable:
        """Return the named table to read and change, an empty one when it is new."""
        table = self._tables.setdefault(name, {})
        if name not in self._before:
            self._before[name] = dict(table)
        return table

    def roll_back(self) -> None:
        """Put back what every table held before."""
        self._tables.update(self._before)


class MemoryDatabase:
    """What a memory ledger and the states beside it share; it ends with the process.

    May be used from several threads: a transaction waits for the one before it. Values must be
    immutable, since only the tables themselves are copied.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[str, MemoryTable] = {}

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        """Run a transaction: kept at the end of the block, undone by any exception. Can't be nested."""
        with self._lock:
            transaction = MemoryTransaction(self._tables)
            try:
                yield transaction
            except BaseException:
                transaction.roll_back()
                raise

    def close(self) -> None:
        """Do nothing: what is in memory stays for the next run of a topology in this process."""
