"""Names that are new: only those have to follow the rule, what an older version began goes on under its name."""

from __future__ import annotations

from collections.abc import Mapping

from trident.base.names import check_name, check_table_name
from trident.coordinators.registered import Added, TopologySpec
from trident.state.positions import Position


def require_names(spec: TopologySpec, added: Added, positions: Mapping[str, Position | None]) -> None:
    """Raise ConfigurationError for a new name that not every store holds as it is.

    New is what the ledger does not know, and of states what does not stand anywhere yet. Of a ledger that was lost
    nobody should ask this: it knows none of the names that its states were filled under.
    """
    if added.topology:
        check_name("a new topology's name", spec.name)
    for stream in added.streams:
        check_name("a new stream's name", stream)
    for state in added.states:
        if positions.get(state) is not None:
            continue
        check_name("a new state's name", state)
        table = spec.states[state].get("table")
        if table is not None:  # what a state that has one says of it
            check_table_name(f"the table of the new state {state!r}", table, is_new=True)
