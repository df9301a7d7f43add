"""What the engine asks of states in a turn, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from trident.base.errors import RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.batches.processor import TurnRequest
from trident.engine.turning import Turn
from trident.graph.turns import Stages
from trident.state.capabilities import Capabilities, Found
from trident.state.positions import Position

OWNER = Owner("t", "incarnation")
BATCH = BatchId(OWNER, Epoch(1, "token"), 5, 9)
ROWS = pa.table({"n": [1]})


class Store:
    def __init__(self, txid: int) -> None:
        self.capabilities = Capabilities(querying=cast(Any, self))
        self.txid = txid

    def find(self, topology: str, keys: pa.Table) -> Found:
        return Found(Position(OWNER, self.txid, 8, 0), ROWS)


@pytest.mark.parametrize(("txid", "is_right"), [(4, True), (3, False), (5, False)])
def test_values_are_those_of_the_txid_before_or_nothing_is_made_of_them(txid: int, is_right: bool) -> None:
    request = TurnRequest(BATCH, cast(Any, None), {}, {})
    turn = Turn(cast(Any, None), Stages((), ()), {"s": cast(Any, Store(txid))}, request, cast(Any, None))
    persist = cast(Any, SimpleNamespace(name="s"))
    if is_right:
        assert turn.stored(persist, ROWS) is ROWS
    else:
        with pytest.raises(RetryableError, match=f"stands at txid {txid}.*nothing of the batch was applied"):
            turn.stored(persist, ROWS)


class ExpiringStore(Store):
    """Keeps the times for which it was asked."""

    def __init__(self) -> None:
        super().__init__(4)
        self.capabilities = Capabilities(querying=cast(Any, self), expiring=cast(Any, self))
        self.asked: list[datetime] = []

    def find_at(self, topology: str, keys: pa.Table, at: datetime) -> Found:
        self.asked.append(at)
        return self.find(topology, keys)


def test_a_state_whose_keys_expire_is_asked_for_the_time_of_the_batch() -> None:
    noon, store = datetime(2026, 1, 1, 12, tzinfo=UTC), ExpiringStore()
    turn = Turn(
        cast(Any, None), Stages((), ()), {"s": cast(Any, store)}, TurnRequest(BATCH, noon, {}, {}), cast(Any, None)
    )
    assert turn.stored(cast(Any, SimpleNamespace(name="s")), ROWS) is ROWS
    assert store.asked == [noon]
