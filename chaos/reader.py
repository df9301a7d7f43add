"""A reader who looks at a state all the time, as any user may, and remembers what they saw."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import psycopg

from chaos.checker import Seen
from chaos.databases import AwayError, Database, NoTableError

_PAUSE_SECONDS = 0.02
_LOOK = """
    SELECT (SELECT txid FROM trident_applied WHERE state = :state),
           coalesce(sum(n), 0), coalesce(sum(total), 0), coalesce(sum(ids), 0)
    FROM "{table}"
"""


class Reader:
    """Looks in a thread of its own until the block ends; a server that is away is asked again."""

    def __init__(self, address: str, state: str) -> None:
        self._address = address
        self._state = state
        self._looks: list[Seen] = []
        self._count = 0
        self._over = threading.Event()
        self._failed: psycopg.Error | sqlite3.Error | None = None
        self._thread = threading.Thread(target=self._run, name=f"reader-{state}", daemon=True)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def state(self) -> str:
        return self._state

    @property
    def count(self) -> int:
        """How often the reader has looked."""
        return self._count

    def seen(self) -> list[Seen]:
        """Return all different looks in their order; raises the error that ended the reader."""
        if self._failed is not None:
            raise self._failed
        return list(self._looks)

    def _run(self) -> None:
        with closing(Database(self._address)) as database:
            while not self._over.wait(_PAUSE_SECONDS):
                try:
                    self._look(database)
                except (AwayError, NoTableError):
                    self._over.wait(0.1)
                except (psycopg.Error, sqlite3.Error) as error:
                    self._failed = error
                    return

    def _look(self, database: Database) -> None:
        ((txid, n, total, ids),) = database.rows(_LOOK.format(table=self._state), state=self._state)
        self._count += 1
        seen = Seen(int(txid or 0), (int(n), int(total), int(ids)))
        if not self._looks or self._looks[-1] != seen:
            self._looks.append(seen)
