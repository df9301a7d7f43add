"""Changes between two versions of a topology that need a person's decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trident.base.checks import check_instance, refused
from trident.base.loading import refuse_while_loading
from trident.base.names import check_given_name
from trident.coordinators.decided import Decision
from trident.coordinators.decisions.commands import rename_states as rename_states_of
from trident.coordinators.decisions.renaming import AgreeToRename, agree_to_rename
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.managing.arguments import check_ledger, check_topology

if TYPE_CHECKING:
    from trident.language.topology import Topology


def evolve(
    topology: Topology, ledger: Ledger, *, rename_states: Mapping[str, str], options: RunOptions | None = None
) -> Decision:
    """Let a version go on whose states have other names: `rename_states` are the new names by the former ones.

    Needs the version with the new names. What is pinned is finished first. Rows stay in their tables, which the version
    names by `table=`; where a state stands, and all that the ledger keeps of it, goes on under the new name, and the
    version with the former one is refused from then on. To go back, rename back with that version. Raises
    LeaseHeldError while a coordinator runs the topology, DecisionNeededError while a refusal waits, MismatchError or
    ConfigurationError for what can't be renamed; nothing was changed then. One that was cut off is finished by the same
    call or the next start.
    """
    return evolve_if_agreed(topology, ledger, rename_states, agree_to_rename, options=options)


def evolve_if_agreed(
    topology: Topology,
    ledger: Ledger,
    rename_states: Mapping[str, str],
    agree: AgreeToRename,
    *,
    options: RunOptions | None = None,
) -> Decision:
    """Evolve as `evolve` does, when `agree` has heard what it is about to do; nothing is changed if that raises."""
    refuse_while_loading("changes its topology")
    renames = _renames(rename_states)
    check_ledger(ledger)
    chosen = RunOptions() if options is None else check_instance("options", options, RunOptions)
    compiled = check_topology(topology).compile()
    return rename_states_of(compiled.spec(), compiled.targets, ledger, renames, chosen, agree)


def _renames(given: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(given, Mapping) or not given:
        raise refused("rename_states", "new names by former ones, say {'balances': 'accounts'}", given)
    return {
        check_given_name("a former name in rename_states", former): check_given_name(
            "a new name in rename_states", name
        )
        for former, name in given.items()
    }
