"""How many records a start counts twice or skips, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trident.base.errors import TridentError
from trident.coordinators.decided import ResetStart
from trident.coordinators.decisions.beginning import Prospect
from trident.coordinators.holding.starts import start_policy
from trident.managing.offsets import Apart, lying_apart
from trident.spouts.base import Spout

_MOST = 50
"""Partitions that are named one by one."""


def reckoned(spouts: Mapping[str, Spout], prospect: Prospect) -> str:
    """Return what kept rows and a start that was named just now count twice or skip, as Kafka says; else nothing."""
    is_named = prospect.states == "adopt" and prospect.start not in (None, ResetStart.RESUME)
    if not is_named or prospect.is_kept or prospect.finishes_another:
        return ""
    start = start_policy(prospect.start)
    assert start is not None, "a start that is named is a policy"
    try:
        found = lying_apart(spouts, start, prospect.stood)
    except TridentError as error:  # what resets a topology must not depend on brokers that are away
        return f"How many that are could not be asked of Kafka: {error}."
    return numbers(found)


def numbers(found: Sequence[Apart]) -> str:
    """Return the numbers of each partition in which there are any, and their sums."""
    if not found:
        return ""
    if any(item.stood is None for item in found):
        begin = _listed([f"{_place(item)} at {item.begins}" for item in found])
        return (
            f"Nobody knows up to where the rows had been read, so nobody can say how many that are. As Kafka is now, "
            f"they begin: {begin}."
        )
    apart = [item for item in found if item.twice or item.skipped]
    if not apart:
        return "As Kafka is now, that is where they stood: nothing is counted twice or skipped."
    twice, skipped = sum(item.twice for item in apart), sum(item.skipped for item in apart)
    return (
        f"As Kafka is now, at most {twice} records are counted twice and at most {skipped} skipped: "
        f"{_listed([_said(item) for item in apart])}."
    )


def _said(item: Apart) -> str:
    what = f"{item.twice} twice" if item.twice else f"{item.skipped} skipped"
    return f"{_place(item)} stood at {item.stood} and begins at {item.begins} ({what})"


def _place(item: Apart) -> str:
    return f"stream {item.stream!r} {item.id.topic}[{item.id.partition}]"


def _listed(said: Sequence[str]) -> str:
    more = f", and {len(said) - _MOST} more partitions" if len(said) > _MOST else ""
    return ", ".join(said[:_MOST]) + more
