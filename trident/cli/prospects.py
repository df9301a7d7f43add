"""What a reset is about to do, in words that a person says yes or no to."""

from __future__ import annotations

from trident.coordinators.decided import ResetStart
from trident.coordinators.decisions.beginning import Prospect

_STATES = {"adopt": "The states keep their rows", "clear": "The states are emptied"}
_ANOTHER = "a reset that was cut off is finished, and no new one made"


def question(topology: str, prospect: Prospect, reckoned: str = "") -> str:
    """Return what a person is asked; `reckoned` are the numbers of it."""
    said = " ".join(part for part in (outcome(prospect), reckoned) if part)
    asked = f"{said} Begin {topology} anew?"
    return f"Of {topology} {_ANOTHER}. {asked}" if prospect.finishes_another else asked


def outcome(prospect: Prospect) -> str:
    """Return what becomes of the states, where the streams really begin, and what that does to the results."""
    said = (f"{_STATES[prospect.states]}, and the streams {_begin(prospect)}.", _consequence(prospect), _sent(prospect))
    return " ".join(part for part in said if part)


def note(prospect: Prospect) -> str:
    """Return what a person is told once it is done."""
    found = f"{_ANOTHER}: " if prospect.finishes_another else ""
    return f"{found}{outcome(prospect)} Start the topology."


def _sent(prospect: Prospect) -> str:
    """Return what a reset does to those who read what sinks have sent: it can't be taken back."""
    if prospect.start == ResetStart.RESUME:
        return ""
    said = (
        (
            prospect.sinks,
            "What {} has sent stays, and what is read again is sent again behind it: readers that must not meet a "
            "record twice have to begin at the ends that these topics have now.",
        ),
        (
            prospect.appended,
            "Rows of {} stay, and what is read again is appended again: empty the table first where no record may be "
            "there twice.",
        ),
        (prospect.rewritten, "Rows of {} stay, and what is read again is written again by its key."),
    )
    return " ".join(text.format(", ".join(map(repr, names))) for names, text in said if names)


def _begin(prospect: Prospect) -> str:
    if prospect.start == ResetStart.RESUME:
        return "go on where the last txid that is done has stopped"
    begin = "begin as their spouts say" if prospect.start is None else f"begin at {prospect.start}"
    if prospect.is_kept:
        return f"{begin}, which a reset before said and nothing has begun since (--start names another one)"
    return begin


def _consequence(prospect: Prospect) -> str:
    if prospect.states == "clear":
        if prospect.start in (None, ResetStart.EARLIEST):
            return "What the sources do not hold from there on is in no result any more."
        return "All records before that are skipped: they are in no result any more."
    if prospect.start != ResetStart.RESUME:
        return (
            "What lies between that and where they stood (trident status) is counted twice if they begin before it, "
            "and skipped if they begin behind it."
        )
    if not prospect.without_rows:
        return ""
    names = ", ".join(map(repr, prospect.without_rows))
    return f"No rows are in {names}: what came before that is skipped there, and in none of its results."
