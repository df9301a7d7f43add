"""What a person may decide about a topology at one of the two weaker levels, where nothing is staged and pinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trident.base.errors import ConfigurationError
from trident.base.levels import Level
from trident.coordinators.decisions.beginning import Agree, Prospect
from trident.coordinators.registered import TopologySpec
from trident.state.target import Target


def require_decidable(topology: str, level: Level) -> None:
    """Raise ConfigurationError for a decision about a txid: none waits for one there."""
    if level.is_plain:
        raise ConfigurationError(
            f"topology {topology!r} runs at level {level}: nothing is staged or pinned there, so no txid waits for a "
            "person, and none can be undone, diverted or given free. Nothing was changed. Mend what has stopped it, "
            "and start it again"
        )


def agreeing(agree: Agree, spec: TopologySpec, stores: Mapping[str, Target], *, keep_rows: bool) -> Agree:
    """Return `agree`, told of what targets without positions keep, and behind it their rows deleted.

    They follow no incarnation, so a reset that clears empties them before it is recorded: one that is cut off in
    between is given again.
    """
    plain = {name: each.capabilities for name, each in stores.items() if each.capabilities.plain is not None}
    if not plain:
        return agree
    left = sorted(name for name, each in plain.items() if each.keeps_what_left)

    def agree_and_clear(found: Prospect) -> None:
        sinks = tuple(name for name in left if "write" not in spec.states[name])
        appended = tuple(name for name in left if "write" in spec.states[name])
        agree(replace(found, sinks=sinks, appended=appended))
        for each in plain.values():
            if each.plain is not None and not keep_rows:
                each.plain.clear()

    return agree_and_clear
