"""The contract of a state as tests, for whoever brings a store of their own.

    from trident.testing import BackingMapHarness, StateContract

    class MyHarness(BackingMapHarness):
        def items(self): ...            # what the map holds, read past the state

    class TestMyStore(StateContract):
        @pytest.fixture
        def harness(self): return MyHarness(MyMap())

pytest then runs every promise that a state has to keep against the store. A whole `State` of one's
own gives a `StateHarness` instead. Needs pytest, which the library itself does not.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("trident.testing.state_contract", "trident.testing.undo_contract")

from trident.testing.map_harness import BackingMapHarness  # noqa: E402 - after asking for readable assertions
from trident.testing.state_contract import StateContract  # noqa: E402
from trident.testing.state_harness import StateHarness  # noqa: E402

__all__ = ["BackingMapHarness", "StateContract", "StateHarness"]
