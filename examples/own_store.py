"""A state in a store of one's own: a map in memory with a journal on disk, and how to count into it.

`tests/state/test_own_store.py` holds it to the same contract as the stores of the library.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from trident.state import BackingKey, BackingMapState, BackingValue, TimedValue


class JournalMap:
    """Keys and values in memory; every put is one synced entry of a file, read back when the map is opened.

    For one process at a time. It compares while it puts, so a state in it is exactly once across
    take-overs, and it can be emptied by a reset.
    """

    def __init__(self, path: Path) -> None:
        self._rows: dict[BackingKey, BackingValue] = {}
        self._file = path.open("a+b")
        self._read_back()

    def items(self) -> list[tuple[BackingKey, BackingValue]]:
        """Return all that is stored."""
        return list(self._rows.items())

    def multi_get(self, keys: Sequence[BackingKey]) -> list[BackingValue | None]:
        """Return the value of each key, None for one that is not there."""
        return [self._rows.get(key) for key in keys]

    def multi_put(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> None:
        """Store every item; returns when the disk has them."""
        self._write(items)
        self._rows.update(items)

    def multi_remove_if(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> list[bool]:
        """Delete what is still as expected, and tell which was."""
        removed = [self._rows.get(key) == expected for key, expected in items]
        gone = [key for (key, _), matches in zip(items, removed, strict=True) if matches]
        self._write([(key, None) for key in gone])
        for key in gone:
            del self._rows[key]
        return removed

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[bool]:
        """Store what is still as expected, and tell which was."""
        stored = [self._rows.get(key) == expected for key, expected, _ in changes]
        self.multi_put([(key, new) for (key, _, new), matches in zip(changes, stored, strict=True) if matches])
        return stored

    def expired(self, before: datetime, most: int) -> list[BackingKey]:
        """Return keys that no batch has updated since, for a state with `expire_after`."""
        over = (key for key, value in self._rows.items() if isinstance(value, TimedValue) and value.at <= before)
        return list(islice(over, most))

    def clear(self) -> None:
        """Delete every key."""
        self._file.truncate(0)
        os.fsync(self._file.fileno())
        self._rows.clear()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, entry: Sequence[tuple[BackingKey, BackingValue | None]]) -> None:
        self._file.write(pickle.dumps(list(entry)))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read_back(self) -> None:
        """Read all entries; one that a power cut left half written was never confirmed, and is cut off."""
        self._file.seek(0)
        whole = 0
        while True:
            try:
                entry = dict(pickle.load(self._file))
            except (EOFError, pickle.UnpicklingError):
                break
            whole = self._file.tell()
            self._rows.update(entry)
            for gone in [key for key, value in entry.items() if value is None]:
                del self._rows[gone]
        self._file.truncate(whole)


def balances_state(path: Path) -> BackingMapState:
    """Return the state to give to `persistent_aggregate`."""
    return BackingMapState("balances", JournalMap(path))
