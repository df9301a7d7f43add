"""The fields of a schema in Spark's DDL, as far as a queue's bodies need them where there is no Spark: pure.

Spark's own parser decides, in the driver, whether a schema is valid. Here its types are only found again, in a process
that has no session to ask: what is not known is a type of the kind "other", whose values are handed on as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

_NAME: Final = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:,<>()`]+))\s*:?\s*")
_WORD: Final = re.compile(r"\s*([A-Za-z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*")
_REQUIRED: Final = re.compile(r"\bNOT\s+NULL\b", re.IGNORECASE)
_OTHER: Final = "other"
_ALIASES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "varchar": "string",
    "char": "string",
    "timestamp_ltz": "timestamp",
}
_PLAIN: Final = frozenset(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")) | {
    "string",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
}
_WORDS: Final = sorted({*_ALIASES, *_PLAIN, "array", "map", "struct", "interval", "variant", "void", "time"})
"""All that Spark has, where one word is enough to know it."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type: its kind in Spark's short word, a decimal's digits, what an array, a map or a struct holds."""

    kind: str
    precision: int = 10
    scale: int = 0
    inside: tuple[DeclaredField, ...] = ()
    """The element of an array, key and value of a map, the fields of a struct."""
    word: str = field(default="", compare=False)
    """What was written for a type of the kind "other"."""


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A field with its type; `is_required` says NOT NULL."""

    name: str
    type: FieldType
    is_required: bool = False


def declared_fields(ddl: str) -> tuple[DeclaredField, ...]:
    """Return the fields of a schema, in order; a text that is none gives what can be made of it."""
    return tuple(_field(part) for part in _split(ddl) if part.strip())


def misspelt(fields: Iterable[DeclaredField]) -> tuple[str, str] | None:
    """Return a word for a type that is only like one of Spark's, and the one that was meant; None where all are known.

    A word that is like none may be a type of a newer Spark.
    """
    for each in fields:
        word = each.type.word
        if word and word not in _WORDS and (meant := get_close_matches(word, _WORDS, 1, 0.8)):
            return word, meant[0]
        if (inside := misspelt(each.type.inside)) is not None:
            return inside
    return None


def _field(text: str) -> DeclaredField:
    found = _NAME.match(text)
    if found is None:
        return DeclaredField(text.strip(), FieldType(_OTHER))
    quoted, plain = found.groups()
    name = plain if quoted is None else quoted.replace("``", "`")
    rest = text[found.end() :]
    return DeclaredField(name, _type(rest), _REQUIRED.search(_outside(rest)) is not None)


def _type(text: str) -> FieldType:
    found = _WORD.match(text)
    if found is None:
        return FieldType(_OTHER)
    word, precision, scale = found[1].lower(), found[2], found[3]
    kind = _ALIASES.get(word, word)
    rest = text[found.end() :]
    if kind in ("array", "map", "struct") and rest.startswith("<"):
        return _nested(kind, rest)
    if kind == "decimal":
        return FieldType(kind, int(precision or 10), int(scale or 0))
    # what follows, such as a collation, changes what a value means; a comment or NOT NULL does not
    bare = re.sub(r"(?i)\b(NOT\s+NULL|NULL|COMMENT\s+.*)", "", rest, flags=re.DOTALL).strip()
    return FieldType(kind) if kind in _PLAIN and not bare else FieldType(_OTHER, word=word)


def _nested(kind: str, rest: str) -> FieldType:
    parts = _split(rest[1 : _closing(rest)])
    if kind == "struct":
        return FieldType(kind, inside=tuple(_field(part) for part in parts if part.strip()))
    if len(parts) != (1 if kind == "array" else 2):
        return FieldType(_OTHER)
    return FieldType(kind, inside=tuple(DeclaredField("", _type(part)) for part in parts))


def _split(text: str) -> list[str]:
    """Return what the outermost commas part."""
    parts, depth, quote, start = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "`'\"":
            quote = letter
        elif letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _closing(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if depth == 0:
            return place
    return len(text)


def _outside(text: str) -> str:
    """Return what is said of the field itself, behind its type and in no text."""
    behind = text[_closing(text[text.index("<") :]) + text.index("<") :] if "<" in text else text
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", behind)
