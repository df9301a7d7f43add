"""Texts that stand for the moment at which Spark computes them, such as 'now': another one in each run of a batch.

In a literal (`TIMESTAMP 'now'`) Spark's parser makes a moment of it, and the plan shows no more than that: here. In a
cast its optimizer does, which is asked when a topology is built (`engine/building.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from trident.base.errors import ConfigurationError

WORDS: Final = ("now", "today", "tomorrow", "yesterday")
_OF_MOMENTS: Final = r"\b(?:date|timestamp(?:_ltz|_ntz)?)"
_WORD: Final = rf"r?(['\"])[\x00-\x20]*+(?:{'|'.join(WORDS)})(?:[^a-z'\"][^'\"]*+)?\1"
"""Behind the word Spark takes a zone, with a blank before it or without."""
_LITERAL: Final = re.compile(rf"{_OF_MOMENTS}\s*+{_WORD}", re.IGNORECASE)
_COMMENT: Final = re.compile(rf"{_OF_MOMENTS}\s*+(?:/\*|--)", re.IGNORECASE)
_ANY_WORD: Final = re.compile(_WORD, re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\$\{([^}$ ]+)\}")
_PLACES: Final = ("env:", "system:", "hiveconf:", "hivevar:", "sparkconf:", "spark:")


def refuse_moments(verb: str, texts: Sequence[str]) -> None:
    """Raise ConfigurationError for an expression whose text has such a literal.

    Where comments begin and end only Spark's lexer knows: behind a type that one follows any such word counts.
    """
    for text in texts:
        comment = _COMMENT.search(text)
        if _LITERAL.search(text) or (comment and _ANY_WORD.search(text, comment.end())):
            raise moves_on(verb)


def refuse_variables(verb: str, texts: Sequence[str], known: Callable[[str], bool]) -> None:
    """Raise ConfigurationError for a text in which Spark puts a setting in place of `${its.name}`, if it is known.

    What it says may be another text in another process, or such a word.
    """
    for text in texts:
        for name in _VARIABLE.findall(text):
            if name.startswith(_PLACES) or known(name):
                raise ConfigurationError(
                    f"{verb}: Spark puts a setting in place of ${{{name}}}, which may be another one in a re-run of a "
                    "batch; put its value there yourself, as with F.lit(…), and a text that has these signs in it "
                    "together from two: F.concat(F.lit('$'), F.lit('{…}'))"
                )


def moves_on(verb: str) -> ConfigurationError:
    """Return the error for an expression that depends on when it is computed."""
    return ConfigurationError(
        f"{verb}: the current time differs in a re-run of a batch, and so do 'now', 'today', 'yesterday' and "
        "'tomorrow' as a date or timestamp; use trident.batch_time()"
    )
