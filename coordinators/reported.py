"""Errors as the ledger keeps them for people: equal ones are one row with a count; pure.

What is kept says where, which class, and the text, as the log has it: this library's own errors quote nothing that is
in a record. Of all others type and place are kept, and never the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from trident.base.errors import TridentError
from trident.base.identity import BatchId
from trident.base.user_code import type_and_place

MOST_ERRORS: Final = 100
"""How many rows a ledger keeps of a topology; the newest stay."""
SHORTEST_KEPT: Final = timedelta(hours=1)
"""What was seen since then stays whatever a run keeps of its history: `trident status` speaks of it."""
LONGEST_TEXT: Final = 1_000
_LOOKED_AT: Final = 4 * LONGEST_TEXT
"""No other thread of the process runs while a pattern is looked for, nor the one that keeps the lease."""
_LONGEST_NAME: Final = 200
_COORDINATOR: Final = "coordinator"
_LOGIN: Final = re.compile(r"""(?<=://)[^\s"'<>]*@|\b[^\s:/@"']+:[^\s/"'<>]+@""")
"""Up to the last @: a password may hold one, and a slash too."""
_NAMED_SECRET: Final = re.compile(
    r"""((?<![\w-])[\w-]*"""
    r"""(?:passw|passphrase|pass(?!\w)|pwd|secret|token|credential|(?:api|access|account|private|shared)[_-]?key|sig(?!\w))"""
    r"""\w*["']?\s*[=:]\s*)"""
    # a quotation that has no end, because the text was cut, goes as far as the text does
    r"""(?:"(?:[^"\\]|\\.|"")*"?|'(?:[^'\\]|\\.|'')*'?|[^\s,;)}\]]+)""",
    re.IGNORECASE | re.DOTALL,
)
_BEARER: Final = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]+", re.IGNORECASE)
WHICH: Final = r"the first is (?P<quote>['\"]).*?(?P=quote)"
"""Where a text about several messages names one of them: another one each time."""
_VARIES: Final = re.compile(WHICH + r"|\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F-]{8,}\b|\d+")
"""Numbers, and what is like an id: they tell apart what happened, not what it was."""


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """Errors that are one thing, as many as there were of them since the last report; of the last one, text and batch.

    `place` is a stream, an operation, a state or a sink as people name it; the coordinator where it is none.
    """

    place: str
    kind: str
    """The class of what was raised: of a user's code that, else of this library's error."""
    text: str
    count: int = 1
    txid: int | None = None
    """None where it was about no txid, or nobody could say which."""
    attempt: int | None = None

    @property
    def id(self) -> str:
        """What tells errors apart: where, of which class, and their text without numbers and ids."""
        told = "\0".join((self.place, self.kind, _VARIES.sub("#", self.text)))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def report_of(error: BaseException, batch: BatchId | None = None) -> ErrorReport:
    """Return what is reported of an error; of which batch, it may know itself."""
    chain = list(_causes(error))
    known = [each for each in chain if isinstance(each, TridentError)]
    place = next((each.place for each in known if each.place), _COORDINATOR)
    kind = next((each.raised for each in known if each.raised), type(known[-1] if known else error).__name__)
    batch = batch or next((each.batch for each in known if each.batch is not None), None)
    text = str(error) if isinstance(error, TridentError) else _of_foreign(error)
    return ErrorReport(
        _storable(place, _LONGEST_NAME),
        _storable(kind, _LONGEST_NAME),
        _storable(_scrubbed(_looked_at(text)), LONGEST_TEXT),
        1,
        batch.txid if batch is not None else None,
        batch.attempt if batch is not None else None,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _of_foreign(error: BaseException) -> str:
    return type_and_place(error) if error.__traceback__ is not None else type(error).__name__


def _looked_at(text: str) -> str:
    """Return the beginning of a text, up to a blank: what tells that a word is a login may stand at its end."""
    if len(text) <= _LOOKED_AT:
        return text
    *whole, _ = re.split(r"(\s)", text[:_LOOKED_AT])
    return "".join(whole) + "…"


def _scrubbed(text: str) -> str:
    """Take out what is like a login, although no text of this library's should have one."""
    return _BEARER.sub(r"\1 …", _NAMED_SECRET.sub(r"\1…", _LOGIN.sub("…@", text)))


def _storable(text: str, most: int) -> str:
    """Return a text that every database holds, cut to a bound."""
    whole = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"
