"""What pages quote of error texts is what the code says, word for word between the names and numbers of an example."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from functools import cache

import pytest

from tests.pages.blocks import ROOT, Block, every_block

PACKAGES = ("trident", "base", "spouts", "state", "coordinators")
_QUOTES_AN_ERROR = re.compile(r"\w+Error: |topology '")
_OF_THE_EXAMPLE = re.compile(
    r"""(?<!\w)'[^']*'(?!\w)|"[^"]*"|\{[^}]*\}|…|\d[\d:TZ.+-]*|(?<=^Postgres: )[^(]*"""
    r"""|\b(?:payments|alerts|bigint|TLS|SSL|SASL_SSL|42501|3F000|\w+FailedError)\b|\bS\w+-SHA-\w*"""
)
"""Names, numbers and types, which are those of the example, and a server's own words."""
_KIND = re.compile(r"^\w+Error: ")
_SHORTEST = 6
"""So long is a part of a message at least that stands in the code by itself, but for what is between two of them."""


def quoted() -> list[Block]:
    return [block for block in every_block() if block.language == "text" and _QUOTES_AN_ERROR.match(block.text)]


def unsaid(text: str) -> list[str]:
    """Return what of a message is no text of the code: from where it differs up to the example's next value."""
    pieces = _OF_THE_EXAMPLE.split(_KIND.sub("", text.strip()))
    return [left for piece in pieces if (left := _left_of(piece.strip()))]


def _left_of(piece: str) -> str:
    """Take away, as long as it goes, the longest text of the code that it begins with; return what is left."""
    while piece:
        length = bisect_left(range(1, len(piece) + 1), True, key=lambda at: piece[:at] not in said())
        if length < min(_SHORTEST, len(piece)) and any(map(str.isalpha, piece[:length] or piece)):
            return piece
        piece = piece[max(length, 1) :].lstrip()
    return piece


@cache
def said() -> str:
    """Return all texts of the product, each with \\0 where a value is put in; a constant's name stands for its text."""
    trees = [ast.parse(file.read_text()) for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    constants: dict[str, str] = {}
    for tree in trees:
        for node in tree.body:
            target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                text = _text(node.value, constants)
                if text is not None:
                    constants.setdefault(target.id, text)
    found = (_text(node, constants) for tree in trees for node in ast.walk(tree))
    return "\n".join(text for text in found if text is not None)


def _text(node: ast.AST, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part, constants) for part in node.values)
    return None


def _part(part: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    return constants.get(part.value.id, "\0") if isinstance(part.value, ast.Name) else "\0"


@pytest.mark.parametrize("block", quoted(), ids=str)
def test_an_error_that_a_page_quotes_is_what_the_code_says(block: Block) -> None:
    assert len(block.text.splitlines()) == 1, "one message a block"
    assert not unsaid(block.text)


def test_there_are_some_and_another_word_is_found() -> None:
    assert len(quoted()) > 15
    for block in quoted():
        for word in ("nothing", "Nothing"):
            other = block.text.replace(word, "xyzzy")
            assert other == block.text or unsaid(other)
