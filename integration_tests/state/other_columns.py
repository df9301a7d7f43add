"""A version of a topology in PostgreSQL, as a process that can be killed: see `test_other_columns`."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from tests.coordinators.fakes import Topic
from tests.coordinators.other_columns import FIRST, Place, run
from trident.base.crash_points import CrashPoint, armed
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.layout import StateKind


@dataclass
class InPostgres(Place):
    dsn: str = ""
    own: str | None = None
    """Where the state is, None for beside the ledger."""

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.dsn)

    def state(self) -> PostgresState:
        return PostgresState("sums", dsn=self.own, kind=self.kind)

    def rows(self) -> list[dict[str, object]]:
        with psycopg.connect(self.own or self.dsn, row_factory=dict_row) as connection:
            return connection.execute("SELECT * FROM sums").fetchall()


def payments() -> Topic:
    return Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(25)] for p in range(3)])


def killed(kind: str, dsn: str, own: str) -> None:
    """Run the first version, and be killed once txid 2 is pinned, or done with its pin."""

    def die(point: CrashPoint, txid: int) -> None:
        if point in (CrashPoint.AFTER_PIN, CrashPoint.AFTER_DONE) and txid == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    with armed(die):
        run(InPostgres(Path(), StateKind(kind), dsn, own or None), payments(), FIRST)


if __name__ == "__main__":
    killed(*sys.argv[1:])
