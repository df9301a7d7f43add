"""What a person is asked before a reset."""

from __future__ import annotations

from trident.cli.prospects import outcome
from trident.coordinators.decisions.beginning import Prospect


def test_what_stays_in_topics_and_tables_is_told_apart() -> None:
    said = outcome(Prospect("clear", "earliest", sinks=("alerts",), appended=("suspicious",), rewritten=("latest",)))
    assert "What 'alerts' has sent stays, and what is read again is sent again" in said
    assert "Rows of 'suspicious' stay, and what is read again is appended again: empty the table first" in said
    assert "Rows of 'latest' stay, and what is read again is written again by its key" in said
    assert "stay" not in outcome(Prospect("clear", "resume", sinks=("alerts",), appended=("suspicious",)))
