"""What the manual is made of: links that lead to its pages, lists that are seen, a reference that is whole."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from manual.markdown import LostLinkError, ready
from manual.pages import ROOT, SECTIONS, sources, targets
from manual.reference import attributes, pages, signature
from trident import RunOptions, Stream, Topology
from trident.spouts import OpaqueKafkaSpout, TransactionalKafkaSpout

TARGETS = {
    "README.md": "index.md",
    "docs/a.md": "a.md",
    "docs/how-to/b.md": "how-to/b.md",
    "examples": "examples/index.md",
}


@pytest.mark.parametrize(
    ("source", "page", "link", "leads"),
    [
        ("README.md", "index.md", "docs/a.md", "a.md"),
        ("README.md", "index.md", "docs/how-to/b.md#part", "how-to/b.md#part"),
        ("README.md", "index.md", "examples", "examples/index.md"),
        ("docs/how-to/b.md", "how-to/b.md", "../../README.md#example", "../index.md#example"),
        ("docs/a.md", "a.md", "#here", "#here"),
        ("docs/a.md", "a.md", "mailto:ann", "mailto:ann"),
    ],
)
def test_a_link_leads_to_the_page_that_its_file_becomes(source: str, page: str, link: str, leads: str) -> None:
    assert ready(f"see [it]({link})", source, page, TARGETS) == f"see [it]({leads})"


def test_a_link_to_what_is_no_page_is_refused() -> None:
    with pytest.raises(LostLinkError, match=r"docs/a.md: a link to docs/none.md"):
        ready("[it](none.md)", "docs/a.md", "a.md", TARGETS)
    assert ready("```\n[it](none.md)\n```", "docs/a.md", "a.md", TARGETS) == "```\n[it](none.md)\n```"


def test_a_list_begins_behind_a_blank_line_and_nests_by_four() -> None:
    text = "words\n- one\n  goes on\n- two\n   - nested"
    assert ready(text, "docs/a.md", "a.md", TARGETS) == "words\n\n- one\n  goes on\n- two\n    - nested"


def test_every_link_of_every_page_leads_somewhere() -> None:
    for source, page in sources().items():
        ready((ROOT / source).read_text(), source, page, targets())


def test_every_page_has_its_place_in_the_order() -> None:
    placed = [page for _, entries in SECTIONS for _, page in entries]
    assert len(set(placed)) == len(placed)
    assert {*placed, "index.md"} == set(sources().values())


def test_the_reference_has_every_public_name_with_a_text() -> None:
    for page, text in pages().items():
        for part in text.split("\n## ")[1:]:
            name, *lines = part.split("\n")
            said = [line for line in lines if line and not line.startswith(("```", "from "))]
            assert said, f"{page}: {name} says nothing of itself"


@pytest.mark.parametrize("kind", [RunOptions, OpaqueKafkaSpout, TransactionalKafkaSpout])
def test_each_option_is_told(kind: type[Any]) -> None:
    told = attributes(kind)
    assert {field.name for field in fields(kind) if not field.name.startswith("_")} <= told.keys()


def test_signatures_are_as_they_are_written() -> None:
    assert signature(Stream.project) == "(*fields: str) -> Stream"
    assert signature(Topology.ticks) == (
        "(name: str, every: timedelta, *, missed: MissedTicks | str = 'one') -> Stream"
    )
    assert signature(Stream.to_kafka).startswith("(\n    topic: str | Column,\n    *,\n    value: Part,\n")
    assert signature(Stream.filter) == "(condition: Column | Condition | MaskFunction, /) -> Stream"
