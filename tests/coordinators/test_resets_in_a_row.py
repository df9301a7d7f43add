"""Two lives of a topology with nothing planned between them are told apart by their births, as a source notes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from trident.coordinators.decided import ForgottenTables
from trident.coordinators.decisions.commands import forget_topology, reset_topology
from trident.coordinators.holding.run import TopologyRun


@pytest.mark.parametrize("make_place", [lambda _: memory_place(), sqlite_place], ids=["memory", "sqlite"])
def test_each_life_has_a_birth_of_its_own_above_those_before(
    tmp_path: Path, make_place: Callable[[Path], Place]
) -> None:
    place = make_place(tmp_path)
    ledger, state = place.ledger(), place.state("sums")
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
