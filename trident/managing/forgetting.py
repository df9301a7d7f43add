"""Letting go of a topology: a person's decision that nothing of it is needed any more."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trident.base.checks import check_instance
from trident.base.loading import refuse_while_loading
from trident.base.policies import policy_of
from trident.coordinators.decided import Decision, ForgottenTables
from trident.coordinators.decisions.commands import forget_topology
from trident.coordinators.decisions.forgetting import AgreeToForget, agree_to_forget
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.managing.arguments import check_ledger, check_lost, check_topology

if TYPE_CHECKING:
    from trident.language.topology import Topology


def forget(
    topology: Topology,
    ledger: Ledger,
    *,
    tables: ForgottenTables | str = ForgottenTables.KEEP,
    lost_states: Collection[str] = (),
    options: RunOptions | None = None,
) -> Decision:
    """Let go of a topology: of its states and sinks, and of all that the ledger has of it.

    Its tables are nobody's then, with all rows and columns (`tables="keep"`), or gone (`"drop"`: those that its states
    have made; what sinks have written or sent stays). Dead letters and diverted rows go with the ledger's rows. A
    topology of the same name begins anew, above every txid and epoch that this one has used, where its spouts say.
    Needs the version that ran last, to open its states. Raises LeaseHeldError while a coordinator runs it,
    ConfigurationError where one of its targets can't be let go of (maps, and all of the weaker levels), MismatchError
    while anything is pinned, refused or decided and not finished, where a state is gone or another one, or a table is
    to be dropped that is not its states' own; nothing was changed then. One that was cut off keeps the topology from
    running, and is finished by the same call; without the states and sinks of which a person says that their places
    are lost for good (`lost_states`): nothing is changed there.
    """
    return forget_if_agreed(topology, ledger, tables, agree_to_forget, lost_states=lost_states, options=options)


def forget_if_agreed(
    topology: Topology,
    ledger: Ledger,
    tables: ForgottenTables | str,
    agree: AgreeToForget,
    *,
    lost_states: Collection[str] = (),
    options: RunOptions | None = None,
) -> Decision:
    """Let go of it as `forget` does, when `agree` has heard what of; nothing is changed if that raises."""
    refuse_while_loading("lets go of its topology")
    chosen = policy_of(ForgottenTables, tables, "tables")
    check_ledger(ledger)
    lost = check_lost(lost_states)
    given = RunOptions() if options is None else check_instance("options", options, RunOptions)
    compiled = check_topology(topology).compile()
    return forget_topology(compiled.spec(), compiled.targets, ledger, chosen, given, agree, lost)
