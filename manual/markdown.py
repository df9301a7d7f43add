"""Pages as they are in the repository, made ready for the manual: links lead to its pages, lists are seen as lists."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

_LINK: Final = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_ELSEWHERE: Final = re.compile(r"[a-z]+:")
_ITEM: Final = re.compile(r"([-*]|\d+\.) ")
_NESTED: Final = re.compile(r" {2,3}(?=[-*] )")


class LostLinkError(Exception):
    """A link leads to a file that is no page of the manual."""


def ready(text: str, source: str, page: str, targets: Mapping[str, str]) -> str:
    """Return a page's text for the manual; raises `LostLinkError` for a link that would lead nowhere.

    `source` is its place in the repository, `page` that in the manual.
    """
    return "\n".join(_lines(text.split("\n"), source, page, targets))


def _lines(lines: list[str], source: str, page: str, targets: Mapping[str, str]) -> Iterator[str]:
    in_fence = False
    before = ""
    for line in lines:
        if line.startswith("```"):
            in_fence = not in_fence
        if in_fence or line.startswith("```"):
            yield line
        else:
            # GitHub begins a list right below a paragraph; the manual's Markdown wants a blank line between them
            if _ITEM.match(line) and before.strip() and not before.startswith(" ") and not _ITEM.match(before):
                yield ""
            yield _NESTED.sub("    ", _LINK.sub(lambda found: _led(found, source, page, targets), line))
        before = line


def _led(found: re.Match[str], source: str, page: str, targets: Mapping[str, str]) -> str:
    place, anchor = found[2], found[3] or ""
    if _ELSEWHERE.match(place):
        return found[0]
    named = posixpath.normpath(posixpath.join(posixpath.dirname(source), place))
    if named not in targets:
        raise LostLinkError(f"{source}: a link to {named}, which is no page of the manual (manual/pages.py)")
    return f"{found[1]}{posixpath.relpath(targets[named], posixpath.dirname(page) or '.')}{anchor}{found[4]}"
