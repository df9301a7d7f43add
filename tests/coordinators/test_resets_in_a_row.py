"""Two lives of a topology with nothing planned between them are told apart by their births, as a source notes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.coordinators.decided import ForgottenTables
from trident.coordinators.decisions.commands import forget_topology, reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.state import MemoryState, SqliteState
from trident.state.memory.database import MemoryDatabase
from trident.state.target import State

Place = Callable[[Path], tuple[Ledger, State]]


def in_memory(folder: Path) -> tuple[Ledger, State]:
    database = MemoryDatabase()
    return MemoryLedger(database=database), MemoryState("sums", database=database)


def in_sqlite(folder: Path) -> tuple[Ledger, State]:
    return SqliteLedger(folder / "ledger.sqlite"), SqliteState("sums")


@pytest.mark.parametrize("place", [in_memory, in_sqlite])
def test_each_life_has_a_birth_of_its_own_above_those_before(tmp_path: Path, place: Place) -> None:
    ledger, state = place(tmp_path)
    topic, births = Topic([[(f"a{n % 5}", n + 1) for n in range(25)]]), list[int]()

    def run() -> None:
        TopologyRun(make_job(topic, state).plan(), ledger, OPTIONS).run()

    def reset(start: str | None) -> None:
        plan = make_job(topic, state).plan()
        keeps = start is not None
        decided = reset_topology(plan.spec, plan.targets, ledger, keep_rows=keeps, start=start, options=OPTIONS)
        births.append(decided.birth_txid)

    run()
    for start in ("resume", None, None, "resume", "latest"):
        reset(start)
    assert births == sorted(set(births))
    plan = make_job(topic, state).plan()
    forget_topology(plan.spec, plan.targets, ledger, ForgottenTables.DROP, OPTIONS)
    run()
    reset("resume")
    assert births == sorted(set(births))
