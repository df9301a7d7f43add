"""The map and the suite of docs/own-stores.md, as they stand there: pytest runs the page's own class."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.blocks import blocks_of
from trident.state import BackingMapState, TimedValue

pytestmark = pytest.mark.drawn(one_in=4)

_names: dict[str, Any] = {"BackingMapState": BackingMapState, "TimedValue": TimedValue, "__name__": __name__}
for _block in blocks_of("docs/own-stores.md"):
    exec(_block.compiled(), _names)
TestMyMap = _names["TestMyMap"]


def test_the_map_has_every_optional_method() -> None:
    made = _names["MyHarness"](_names["MyMap"]())
    assert (made.can_clear, made.can_remove) == (True, True)
