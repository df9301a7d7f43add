"""A topology run on lists, and the contract of a state as tests for whoever brings a store of their own.

    from trident.testing import TopologyTest

    def test_a_payment_is_counted_once(spark):
        with TopologyTest(payments_topology(...), spark) as test:
            test.batch({"payments": [{"account": "ann", "amount": 5}]}, dies_at="before the pin is written")
            assert test.rows("balances") == [{"account": "ann", "n": 1, "total": 5}]

That needs no pytest, no Kafka and no PostgreSQL. The contract is a suite for pytest:

    from trident.testing import BackingMapHarness, StateContract

    class MyHarness(BackingMapHarness):
        def items(self): ...            # what the map holds, read past the state

    class TestMyStore(StateContract):
        @pytest.fixture
        def harness(self): return MyHarness(MyMap())

pytest then runs every promise that a state has to keep against the store. A whole `State` of one's
own gives a `StateHarness` instead, a `Sink` of one's own a `SinkHarness` to a `SinkContract` (a
`SessionSinkContract` where its newest session ends older ones). A map that finds expired keys
is held to the `ExpiryContract` beside the other. The suites need pytest, which the library itself does not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trident.base.lazy import lazy_exports

if TYPE_CHECKING:
    from trident.base.crash_points import CrashPoint
    from trident.testing.exactly_once import check_exactly_once
    from trident.testing.expiry_contract import ExpiryContract
    from trident.testing.lives import Death
    from trident.testing.map_harness import BackingMapHarness
    from trident.testing.playing import PlayedBatch, TopologyTest
    from trident.testing.scripted_messages import FailedRecord
    from trident.testing.sink_contract import SessionSinkContract, SinkContract
    from trident.testing.sink_harness import SinkHarness
    from trident.testing.state_contract import StateContract
    from trident.testing.state_harness import StateHarness

_MODULES = {
    "trident.base.crash_points": ("CrashPoint",),
    "trident.testing.exactly_once": ("check_exactly_once",),
    "trident.testing.expiry_contract": ("ExpiryContract",),
    "trident.testing.lives": ("Death",),
    "trident.testing.playing": ("PlayedBatch", "TopologyTest"),
    "trident.testing.scripted_messages": ("FailedRecord",),
    "trident.testing.map_harness": ("BackingMapHarness",),
    "trident.testing.sink_contract": ("SessionSinkContract", "SinkContract"),
    "trident.testing.sink_harness": ("SinkHarness",),
    "trident.testing.state_contract": ("StateContract",),
    "trident.testing.state_harness": ("StateHarness",),
}
_PARTS = ("evolution", "expiry", "position", "query", "reset", "row", "sink", "undo", "value")

__all__ = [
    "BackingMapHarness",
    "CrashPoint",
    "Death",
    "ExpiryContract",
    "FailedRecord",
    "PlayedBatch",
    "SessionSinkContract",
    "SinkContract",
    "SinkHarness",
    "StateContract",
    "StateHarness",
    "TopologyTest",
    "check_exactly_once",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)

if "pytest" in sys.modules:  # the proxy and the replica of this package are used without it
    for _part in _PARTS:
        sys.modules["pytest"].register_assert_rewrite(f"trident.testing.{_part}_contract")
