"""The manual is built, strictly, and shows itself without network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manual.build import build
from manual.pages import sources

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*\bhref="(?:https?:)?//"""
)


@pytest.mark.verify
def test_the_manual_is_built_and_fetches_nothing(tmp_path: Path) -> None:
    build(tmp_path / "manual", tmp_path / "site")
    site = tmp_path / "site"
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    assert {page.replace(".md", ".html") for page in sources().values()} <= pages.keys()
    assert not [name for name, text in pages.items() if _FETCHED.search(text)]
    styles = [path for path in site.rglob("*.css") if re.search(r"url\([\"']?(?:https?:)?//", path.read_text())]
    assert not styles
    assert "max_pending" in pages["reference/trident.html"]
    assert not [name for name, text in pages.items() if "<p>| " in text], "a table that is shown as text"


def test_what_is_fetched_is_found() -> None:
    for text in (
        '<script src="https://x/y.js">',
        '<link rel="x" href="//x/y.css">',
        '<img alt="" src="http://x/y.png">',
    ):
        assert _FETCHED.search(text)
    assert not _FETCHED.search('<a href="https://x/">, <script src="../js/base.js">')
