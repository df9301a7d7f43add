"""The picture of the house in docs/design.md is the one that the imports make, and no arrow leads back."""

from __future__ import annotations

import re

from tests.house import LAYERS, ROOT, arrows, cycle, picture, reduced, rooms


def test_no_room_imports_its_way_back_to_itself() -> None:
    assert cycle(arrows()) == []


def test_the_picture_shows_the_imports_as_they_are() -> None:
    """Renew it with `python -m tests.house`."""
    drawn = re.findall(r"<!-- house -->\n```mermaid\n(.*?)\n```", (ROOT / "docs/design.md").read_text(), re.DOTALL)
    assert drawn == [picture()]


def test_every_layer_has_rooms() -> None:
    assert {room.split("/")[0] for room in rooms()} == set(LAYERS)
    assert "state/tables" in arrows()["state/postgres"]


def test_a_way_back_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_an_arrow_that_others_replace_is_not_drawn() -> None:
    assert reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [("a", "b"), ("b", "c")]
