"""Texts that stand for the moment at which Spark computes them, such as 'now': another one in each run of a batch.

In a literal (`TIMESTAMP 'now'`) Spark's parser makes a moment of it, and the plan shows no more than that: here. In a
cast its optimizer does, which is asked when a topology is built (`engine/building.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from trident.base.errors import ConfigurationError

WORDS: Final = ("now", "today", "tomorrow", "yesterday")
_COMMENTS: Final = (
    r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*+\*/",
    r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*+/\*[^'\"]*+",  # others are in it: whatever comes up to the next text
    r"--(?:\\\n|[^\r\n])*+[\r\n]",
)
_LITERAL: Final = re.compile(
    rf"\b(?:date|timestamp(?:_ltz|_ntz)?)(?:\s|{'|'.join(_COMMENTS)})*+"
    rf"r?(['\"])[\x00-\x20]*+(?:{'|'.join(WORDS)})(?:[^a-z'\"][^'\"]*+)?\1",
    re.IGNORECASE,
)
"""Behind the word Spark takes a zone, with a blank before it or without."""


def refuse_moments(verb: str, texts: Sequence[str]) -> None:
    """Raise ConfigurationError for an expression whose text has such a literal."""
    if any(map(_LITERAL.search, texts)):
        raise moves_on(verb)


def moves_on(verb: str) -> ConfigurationError:
    """Return the error for an expression that depends on when it is computed."""
    return ConfigurationError(
        f"{verb}: the current time differs in a re-run of a batch, and so do 'now', 'today', 'yesterday' and "
        "'tomorrow' as a date or timestamp; use trident.batch_time()"
    )
