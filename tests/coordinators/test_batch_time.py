"""The time that user code sees of a batch: one per txid, never before that of the txid before it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.clock import SystemClock
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.spouts.base import Limits
from trident.state import SqliteState


class SteppingClock(SystemClock):
    """Each look at the time finds it an hour before the last one."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return super().now() - timedelta(hours=self.looks)


def test_a_batch_is_never_earlier_than_the_one_before_it(tmp_path: Path) -> None:
    topic = Topic([[("a", n) for n in range(30)]])
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    for more in range(2):
        topic.partitions[0] += [("b", more)] * 20
        plan = make_job(topic, SqliteState("balances"), limits=Limits(max_records=10)).plan("payments")
        TopologyRun(plan, ledger, OPTIONS, SteppingClock()).run()
    view = ledger.view()
    done = view.status("payments").done
    times = [view.txid("payments", txid).attempts[-1].batch_time for txid in range(max(1, done - 3), done + 1)]
    assert len(times) > 2
    assert times == sorted(times)
