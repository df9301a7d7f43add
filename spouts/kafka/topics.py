"""Which topics a stream reads: those that it names, or all whose names match a pattern, also ones that come later."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from trident.base.checks import check_text, refused
from trident.base.errors import ConfigurationError

_LOOK_SECONDS: Final = 2.0
"""How long what was found stands: the brokers' answer has every topic of the cluster."""
_NOT_ALLOWED: Final = 29
"""The brokers' code for a topic that may not be described: to the spout there is none."""
_OF_KAFKA: Final = "__"
"""What Kafka keeps for itself begins like this; no pattern means it."""
_OF_PATTERNS: Final = frozenset("*+?[](){}|^$\\")
"""What a regular expression has as a rule, and no topic's name may have."""


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression of Python's that the whole name of a topic has to match; Kafka's own topics never do."""

    text: str

    def __post_init__(self) -> None:
        check_text("pattern", self.text, allowed="a regular expression for names of topics, such as 'payments-.*'")
        try:
            re.compile(self.text)
        except re.error as error:
            raise refused("pattern", f"a valid regular expression ({error.msg})", self.text) from None

    def matches(self, topic: str) -> bool:
        """Tell whether the whole name matches."""
        return not topic.startswith(_OF_KAFKA) and re.fullmatch(self.text, topic) is not None


def checked_topics(given: object, pattern: str | None) -> tuple[str, ...]:
    """Return the names, none beside a pattern; raises `ConfigurationError` for names that can't be."""
    if pattern is not None:
        TopicPattern(pattern)
        if given != ():
            raise ConfigurationError("topics and pattern: a spout reads one or the other; nothing was started")
        return ()
    if isinstance(given, str):
        given = (given,)
    if not isinstance(given, Sequence) or isinstance(given, bytes) or not given:
        raise refused("topics", "the name of at least one topic", given)
    topics = tuple(check_text("topics", topic, allowed="the name of at least one topic") for topic in given)
    for topic in topics:
        if _OF_PATTERNS.intersection(topic):
            raise ConfigurationError(
                f"topics: {topic!r} can be no topic's name; topics that match a regular expression are named by "
                f"pattern={topic!r} in the place of topics; nothing was started"
            )
    if len(set(topics)) < len(topics):
        raise ConfigurationError(f"topics: a topic is named twice: {', '.join(topics)}; nothing was started")
    return topics


@dataclass(slots=True)
class FoundTopics:
    """The topics that match a pattern, looked for now and then; used by the thread that plans."""

    pattern: TopicPattern
    known: frozenset[str] = frozenset()
    """Those that were read before: they are asked for by name, whether a list of all has them or not."""
    _found: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    """Those that the last list has without saying what they are; one that may not be described is not among them."""
    _until: float = field(default=float("-inf"))

    def forget(self) -> None:
        """Ask the brokers anew the next time."""
        self._until = float("-inf")

    def names(self, listed: Callable[[], Iterable[Mapping[str, Any]]]) -> list[str]:
        """Return all of them in order; asks the brokers for their list when the last one is too old."""
        if time.monotonic() >= self._until:
            errors = {str(item["name"]): item["error_code"] for item in listed()}
            matching = frozenset(filter(self.pattern.matches, errors))
            self._found = frozenset(name for name in matching if not errors[name])
            self.unsure = frozenset(name for name in matching if errors[name] not in (0, _NOT_ALLOWED))
            self._until = time.monotonic() + _LOOK_SECONDS
        return sorted(self._found | self.known)
