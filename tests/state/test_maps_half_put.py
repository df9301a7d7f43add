"""A map that has half of a txid when its ledger is lost: that txid is not given to other records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_resuming import reset
from tests.coordinators.test_run import OPTIONS
from tests.state.harnesses import ConditionalMap, DictMap
from trident.base.crash_points import CrashPoint
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import BackingMapState, StateKind

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
KEYS = [f"a{n}" for n in range(10)]


def sums(map_: DictMap) -> dict[str, int]:
    """Read the map without asking the state: of a balance the sum comes last."""
    found = {str(key[0]): value for key, value in map_.rows.items() if len(key) == 1 and key[0] in KEYS}
    values = {key: getattr(value, "current", None) or getattr(value, "value", None) for key, value in found.items()}
    return {key: cast("tuple[int, int]", value)[-1] for key, value in values.items()}


@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.OPAQUE])
@pytest.mark.parametrize("point", [CrashPoint.BETWEEN_CHUNKS, CrashPoint.BEFORE_POSITION])
def test_each_key_gets_all_that_came_after_the_moment(point: CrashPoint, kind: StateKind, tmp_path: Path) -> None:
    map_, topic = ConditionalMap(), Topic([[(key, 1) for key in KEYS] * 2], came={0: [NOON] * 30})
    plan = make_job(topic, BackingMapState("balances", map_, kind=kind, chunk_rows=3)).plan()
    TopologyRun(plan, SqliteLedger(tmp_path / "first.sqlite"), OPTIONS).run()
    topic.partitions[0] += [(key, 1) for key in KEYS]
    with dying_at(point):
        TopologyRun(plan, SqliteLedger(tmp_path / "first.sqlite"), OPTIONS).run()
    before = sums(map_)
    topic.partitions[0] += [(key, 100) for key in KEYS]
    topic.came[0] += [LATER] * 10
    second = tmp_path / "second.sqlite"
    reset(plan, SqliteLedger(second), LATER.isoformat(), ledger_lost=True)
    TopologyRun(plan, SqliteLedger(second), OPTIONS).run()
    assert sums(map_) == {key: total + 100 for key, total in before.items()}
