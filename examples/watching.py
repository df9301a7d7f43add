"""What a running payments topology is doing, read from the ledger's tables as an operator would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

_TOPOLOGY = "payments"
_STATE = "balances"

_PROGRESS = """
    SELECT progress.done, progress.last_attempt AS attempts,
           (SELECT count(*) FROM trident_commit WHERE topology = progress.topology) AS txids,
           (SELECT coalesce(sum(records), 0)::bigint FROM trident_commit WHERE topology = progress.topology) AS records,
           ARRAY(SELECT txid FROM trident_plan
                 WHERE topology = progress.topology AND status = 'live' AND txid > progress.done
                 ORDER BY txid) AS in_flight,
           progress.pinned > progress.done AS is_pinned,
           EXISTS (SELECT FROM pg_locks
                   WHERE relation = to_regclass(%(state)s) AND mode = 'RowExclusiveLock' AND granted) AS is_writing
    FROM trident_progress AS progress
    WHERE progress.topology = %(topology)s
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at the ledger: what is done, and which txids are planned and not done."""

    done: int = 0
    attempts: int = 0
    txids: int = 0
    records: int = 0
    in_flight: Sequence[int] = ()
    is_pinned: bool | None = False
    is_writing: bool = False

    @property
    def phase(self) -> str | None:
        """What happens to the lowest txid in flight; None when nothing is in flight."""
        if not self.in_flight:
            return None
        if self.is_pinned:
            return "pinned, being applied"
        return "being committed" if self.is_writing else "being processed"


class Watcher:
    """Looks at the ledger of the payments topology over one connection; use it as a context manager."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._has_tables = False

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def look(self) -> Progress:
        """Return what the tables say now; nothing is done as long as there are none."""
        if not self._has_tables:
            names = "SELECT to_regclass('trident_progress') IS NOT NULL AND to_regclass('trident_commit') IS NOT NULL"
            self._has_tables = bool((self._connection.execute(names).fetchone() or (False,))[0])
        if not self._has_tables:
            return Progress()
        with self._connection.cursor(row_factory=class_row(Progress)) as cursor:
            found = cursor.execute(_PROGRESS, {"topology": _TOPOLOGY, "state": _STATE}).fetchone()
        return found or Progress()
