"""What a person may decide about a topology at one of the two weaker levels, where nothing is staged and pinned."""

from __future__ import annotations

from trident.base.errors import ConfigurationError
from trident.base.levels import Level


def require_decidable(topology: str, level: Level) -> None:
    """Raise ConfigurationError for a decision about a txid: none waits for one there."""
    if level.is_plain:
        raise ConfigurationError(
            f"topology {topology!r} runs at level {level}: nothing is staged or pinned there, so no txid waits for a "
            "person, and none can be undone, diverted or given free. Nothing was changed. Mend what has stopped it, "
            "and start it again"
        )
