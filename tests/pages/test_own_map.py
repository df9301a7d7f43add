"""The map and the suite of docs/own-stores.md, as they stand there: pytest runs the page's own class."""

from __future__ import annotations

import pytest

from tests.pages.blocks import blocks_of
from trident.state import BackingMapState, TimedValue

pytestmark = pytest.mark.drawn(one_in=4)

_names: dict[str, object] = {"BackingMapState": BackingMapState, "TimedValue": TimedValue, "__name__": __name__}
for _block in blocks_of("docs/own-stores.md"):
    exec(_block.compiled(), _names)
TestMyMap = _names["TestMyMap"]


def test_the_map_has_every_optional_method() -> None:
    harness = _names["MyHarness"]
    assert callable(harness)
    made = harness(_names["MyMap"]())  # type: ignore[operator]
    assert (made.can_clear, made.can_remove) == (True, True)
