"""What pages quote of error texts is what the code says, word for word between the names and numbers of an example."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache

import pytest

from tests.pages.blocks import ROOT, Block, every_block

PACKAGES = ("trident", "base", "spouts", "state", "coordinators")
_QUOTES_AN_ERROR = re.compile(r"\w+Error: |topology '")
_OF_THE_EXAMPLE = re.compile(
    r"""(?<!\w)'[^']*'(?!\w)|"[^"]*"|\{[^}]*\}|…|\d[\d:TZ.+-]*|(?<=^Postgres: )[^(]*"""
    r"""|\b(?:payments|alerts|bigint|numeric\(|TLS|SSL|SASL_SSL|42501|3F000|\w+FailedError)\b|\bS\w+-SHA-\w*"""
)
"""Names, numbers and types, which are those of the example, and a server's own words."""
_KIND = re.compile(r"^\w+Error: ")
_FIRST = 12
"""So much of a piece tells which texts it may begin in the middle of."""


def quoted() -> list[Block]:
    return [block for block in every_block() if block.language == "text" and _QUOTES_AN_ERROR.match(block.text)]


def unsaid(text: str) -> list[str]:
    """Return what of a message is no text of the code: from where it differs up to the example's next value."""
    pieces = _OF_THE_EXAMPLE.split(_KIND.sub("", text.strip()))
    return [left for piece in pieces if (left := _left_of(piece.strip()))]


def _left_of(piece: str) -> str:
    """Take away, as long as it goes, what stands between two values of the code, whole; return what is left at least.

    It may begin in the middle of one, and end there: what is next to it is a value of the example.
    """
    left, open_, seen = piece, {piece}, set[str]()
    while open_:
        rest = open_.pop()
        if not any(map(str.isalnum, rest)) or rest in said():
            return ""
        left = min(left, rest, key=len)
        begun = {rest[len(part) :].lstrip() for part in parts()[rest[:1]] if rest.startswith(part)}
        begun |= {rest[len(end) :].lstrip() for end in _ends(rest) if rest.startswith(end)} if rest == piece else set()
        open_ |= begun - seen
        seen |= begun
    return left


def _ends(piece: str) -> set[str]:
    """Return the ends of texts that begin as a piece does."""
    first = piece[:_FIRST]
    return {part[part.index(first) :] for begun in parts().values() for part in begun if first in part}


@cache
def parts() -> Mapping[str, Collection[str]]:
    """Return what stands in the code between two values, by its first letter; not letters that any word begins with."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in re.split(r"[\0\n]", said()):
        part = each.strip()
        if part and (len(part) > 2 or part in ("s", "es") or not part.isalnum()):
            found[part[0]].add(part)
    return found


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


def test_a_message_of_which_a_part_is_left_out_is_found() -> None:
    (text,) = [block.text for block in quoted() if block.text.startswith("LedgerBehindError: state 'alerts'")]
    for part in ("; a queue gives what it has left, a consumer group what it has not passed", " Nothing was changed."):
        assert part in text
        assert unsaid(text.replace(part, ""))
