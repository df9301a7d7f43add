"""The contract of a state as tests, for whoever brings a store of their own.

    from trident.testing import BackingMapHarness, StateContract

    class MyHarness(BackingMapHarness):
        def items(self): ...            # what the map holds, read past the state

    class TestMyStore(StateContract):
        @pytest.fixture
        def harness(self): return MyHarness(MyMap())

pytest then runs every promise that a state has to keep against the store. A whole `State` of one's
own gives a `StateHarness` instead, a `Sink` of one's own a `SinkHarness` to a `SinkContract` (a
`SessionSinkContract` where its newest session ends older ones). Needs
pytest, which the library itself does not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trident.base.lazy import lazy_exports

if TYPE_CHECKING:
    from trident.testing.map_harness import BackingMapHarness
    from trident.testing.sink_contract import SessionSinkContract, SinkContract
    from trident.testing.sink_harness import SinkHarness
    from trident.testing.state_contract import StateContract
    from trident.testing.state_harness import StateHarness

_MODULES = {
    "trident.testing.map_harness": ("BackingMapHarness",),
    "trident.testing.sink_contract": ("SessionSinkContract", "SinkContract"),
    "trident.testing.sink_harness": ("SinkHarness",),
    "trident.testing.state_contract": ("StateContract",),
    "trident.testing.state_harness": ("StateHarness",),
}
_PARTS = ("position", "query", "reset", "row", "sink", "undo", "value")

__all__ = ["BackingMapHarness", "SessionSinkContract", "SinkContract", "SinkHarness", "StateContract", "StateHarness"]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)

if "pytest" in sys.modules:  # the proxy and the replica of this package are used without it
    for _part in _PARTS:
        sys.modules["pytest"].register_assert_rewrite(f"trident.testing.{_part}_contract")
