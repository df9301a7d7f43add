"""A ledger that was lost is behind the epochs that states know: how many leases it takes to be above them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_run import OPTIONS, sqlite_place
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from tests.state.harnesses import ConditionalMap
from trident.base.errors import MismatchError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.options import Until
from trident.coordinators.registered import Acquired, Lease
from trident.spouts.queue.spout import QueueSpout
from trident.state import BackingMapState, SqliteState, StateKind
from trident.state.maps.maps import BackingPosition

RUN = replace(OPTIONS, until=Until.CAUGHT_UP)
FAR, FARTHER = 1_000_000, 2**40


class CountingLedger(SqliteLedger):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.epochs: list[int] = []

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> Acquired:
        acquired = super().acquire(topology, lease, above)
        self.epochs.append(acquired.epoch.number)
        assert len(self.epochs) < 10
        return acquired


@pytest.mark.parametrize("order", [(FAR, FARTHER), (FARTHER, FAR)])
def test_a_reset_takes_a_lease_per_state_and_not_per_epoch(order: tuple[int, int], tmp_path: Path) -> None:
    map_, apart = ConditionalMap(), tmp_path / "apart.sqlite"
    topic = Topic([[("a", 1)] * 20])
    plan = make_job(topic, BackingMapState("balances", map_), SqliteState("more", path=apart)).plan()
    TopologyRun(plan, SqliteLedger(tmp_path / "first.sqlite"), RUN).run()
    for key, value in map_.rows.items():
        if isinstance(value, BackingPosition) and value.txid is not None:
            map_.rows[key] = replace(value, epoch=order[0])
    with sqlite3.connect(apart) as connection:
        for table in ("trident_applied", "trident_state_fence"):
            connection.execute(f"UPDATE {table} SET epoch = ?", (order[1],))

    def reset(ledger: SqliteLedger, *, ledger_lost: bool) -> None:
        states = plan.targets
        reset_topology(
            plan.spec, states, ledger, keep_rows=False, start="earliest", options=RUN, ledger_lost=ledger_lost
        )

    ledger = CountingLedger(tmp_path / "second.sqlite")
    with pytest.raises(MismatchError):
        reset(ledger, ledger_lost=False)
    assert ledger.epochs == [1]
    reset(ledger, ledger_lost=True)
    assert ledger.epochs == [1, 2, *sorted({order[0] + 1, FARTHER + 1})]
    assert TopologyRun(plan, ledger, RUN).run().batches > 0
    assert ledger.epochs[-1] == FARTHER + 2
    with sqlite3.connect(apart) as connection:
        assert connection.execute("SELECT total FROM more").fetchone() == (20,)


def test_rows_of_a_queue_are_kept_and_what_it_has_left_is_added(tmp_path: Path) -> None:
    place, queue = sqlite_place(tmp_path, apart=True), FileQueue(tmp_path / "queue.sqlite")
    spout = FileQueueSpout(queue.path)
    pickled = cloudpickle.dumps(spout)
    plan = receiving_job(QueueSpout(spout, pickled), place.state("counts", kind=StateKind.OPAQUE))
    queue.put(["a", "b"])
    TopologyRun(plan, place.ledger(), RUN).run()
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    queue.put(["c"])
    with pytest.raises(MismatchError, match="where a stream has no times, --start earliest: a queue gives what"):
        TopologyRun(plan, place.ledger(), RUN).run()
    ledger = place.ledger()
    reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start="earliest", options=RUN, ledger_lost=True)
    TopologyRun(plan, place.ledger(), RUN).run()
    assert {key: n for key, (n, _) in place.rows("counts").items()} == {"a": 1, "b": 1, "c": 1}
