"""Rows that a person took out of a txid are put back into their state, once its cause is mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trident.base.checks import check_count, check_instance
from trident.base.errors import MismatchError
from trident.base.loading import refuse_while_loading
from trident.base.names import check_given_name
from trident.coordinators.decided import Decision, RowsOf
from trident.coordinators.decisions.commands import reapply_rows
from trident.coordinators.decisions.plainly import require_decidable
from trident.coordinators.decisions.reapplying import AgreeToReapply, agree_to_reapply
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.graph.nodes import PersistNode
from trident.managing.arguments import check_ledger, check_topology
from trident.state import MemoryState, PostgresState, SqliteState
from trident.state.layout import Merge

if TYPE_CHECKING:
    from trident.engine.compiled import CompiledTopology
    from trident.language.topology import Topology


def reapply(
    topology: Topology, ledger: Ledger, *, txid: int, state: str, options: RunOptions | None = None
) -> Decision:
    """Put the rows that `divert` took out of a txid back into their state, once.

    They are merged into what the state has now, by a txid of its own that reads nothing; what is pinned is finished
    first. Tried first: raises RefusedError where the state refuses them still, MismatchError where there are none, they
    are back already, or the state can't be given any (a sink, a map, an updater's, one whose new values others are
    made of), LeaseHeldError while a coordinator runs the topology; nothing was changed then. One that was cut off once
    it was recorded is finished by the same call or the next start. Records that you have sent again by hand would count
    twice.
    """
    return reapply_if_agreed(topology, ledger, txid, state, agree_to_reapply, options=options)


def reapply_if_agreed(
    topology: Topology,
    ledger: Ledger,
    txid: int,
    state: str,
    agree: AgreeToReapply,
    *,
    options: RunOptions | None = None,
) -> Decision:
    """Put rows back as `reapply` does when `agree` has heard what that is about; if that raises, nothing."""
    refuse_while_loading("decides about a txid")
    wanted = RowsOf(check_count("txid", txid), check_given_name("state", state))
    check_ledger(ledger)
    chosen = RunOptions() if options is None else check_instance("options", options, RunOptions)
    compiled = check_topology(topology).compile()
    require_decidable(compiled.name, compiled.spec().level)
    _require_unheard(compiled, wanted)
    return reapply_rows(compiled.spec(), compiled.targets, ledger, wanted, chosen, agree)


def may_be_put_back(compiled: CompiledTopology, state: str) -> bool:
    """Tell whether rows of this state can be put back, as far as that can be told without opening it."""
    ends = (end for end in compiled.ends if end.name == state and isinstance(end, PersistNode))
    in_tables = (end for end in ends if isinstance(end.state, MemoryState | PostgresState | SqliteState))
    adds = any(all(column.merge is not Merge.REPLACE for column in end.layout.values) for end in in_tables)
    return adds and state not in compiled.stages.shown


def _require_unheard(compiled: CompiledTopology, wanted: RowsOf) -> None:
    """Raise MismatchError for a state whose new values others are made of: no batch would make them of these rows."""
    if wanted.state in compiled.stages.shown:
        raise MismatchError(
            f"rows of txid {wanted.txid} can't be put back into state {wanted.state!r}: others are made of its new "
            "values, and would not hear of these. Nothing was changed."
        )
