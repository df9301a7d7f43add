"""A topology in PostgreSQL whose state is renamed, as a process that can be killed: see `test_renaming`."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.renaming_lives import TABLE, Place, Sums
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.coordinators.decisions.commands import rename_states
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.target import State


@dataclass
class InPostgres(Place):
    dsn: str = ""
    own: str | None = None
    """Where the renamed state is, None for beside the ledger."""

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.dsn)

    def states(self, name: str) -> list[State]:
        return [PostgresState("balances"), PostgresState(name, dsn=self.own, table=TABLE)]

    def sums(self, name: str) -> Sums:
        with psycopg.connect(self.own or self.dsn) as connection:
            found = connection.execute(f"SELECT account, n, total FROM {TABLE}").fetchall()
        return {row[0]: (row[1], row[2]) for row in found}

    def names(self) -> set[str]:
        """Return under which names states stand there."""
        with psycopg.connect(self.own or self.dsn) as connection:
            return {row[0] for row in connection.execute("SELECT state FROM trident_applied").fetchall()}


def killed(point: str, dsn: str, own: str) -> None:
    """Rename `sums` to `totals`, and be killed when a place is reached."""

    def die(reached: CrashPoint, _: int) -> None:
        if reached is CrashPoint[point]:
            os.kill(os.getpid(), signal.SIGKILL)

    place = InPostgres(Path(), bool(own), dsn, own or None)
    plan = make_job(Topic([[]]), *place.states("totals")).plan()
    with armed(die):
        rename_states(plan.spec, plan.targets, place.ledger(), {"sums": "totals"}, OPTIONS)


if __name__ == "__main__":
    killed(*sys.argv[1:])
