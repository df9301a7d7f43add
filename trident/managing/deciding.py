"""When a person has to decide: retry, divert or undo a txid, drop a state, and see where a topology stands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from trident.base.checks import check_count, check_flag, check_instance
from trident.base.errors import ConfigurationError
from trident.base.loading import refuse_while_loading
from trident.base.names import check_given_name
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology, drop_from_topology, retry_topology
from trident.coordinators.decisions.plainly import require_decidable
from trident.coordinators.decisions.taking_back import AgreeToUndo, agree_to_undo
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import Ledger
from trident.coordinators.ledger.view import TopologyStatus
from trident.coordinators.options import RunOptions
from trident.graph.nodes import sources_of
from trident.managing.arguments import check_ledger, check_topology, name_of

if TYPE_CHECKING:
    from trident.engine.compiled import CompiledTopology
    from trident.language.topology import Topology

_DECIDES = "decides about a txid"


def retry(topology: Topology | str, ledger: Ledger, *, txid: int, options: RunOptions | None = None) -> Decision:
    """Let the next start try a refused txid again: its cause is mended.

    Needs no state, so the topology's name does too. What is pinned is rolled forward then, what is not is
    planned again. Raises LeaseHeldError while a coordinator runs the topology, MismatchError when
    nothing of the txid was refused; nothing was changed then.
    """
    refuse_while_loading(_DECIDES)
    name = name_of(topology)
    check_count("txid", txid)
    return retry_topology(name, check_ledger(ledger), txid, _options(options))


def divert(
    topology: Topology,
    ledger: Ledger,
    *,
    txid: int,
    state: str,
    all_rows: bool = False,
    rows_lost: bool = False,
    options: RunOptions | None = None,
) -> Decision:
    """Take the rows that a state refuses out of a txid, into the ledger's diverted rows; the rest goes on.

    Which ones they are is found by trying; `all_rows` takes all that the state has of the txid, and so does a state
    that can't be asked (a map, a sink), or one that refuses rows only together. Needs the topology to open its states.
    Where the txid is pinned this is done at once; else its next attempt reads the same, if its spouts still can, and
    leaves those rows out. Where staged files of what waits in a sink are gone, `rows_lost` keeps what is left and
    gives up the rest; it is refused without it. Raises LeaseHeldError, MismatchError or CannotUndoError; nothing was
    changed then.
    """
    check_flag("all_rows", all_rows)
    wanted = WantedDecision(
        DecisionKind.DIVERT if all_rows else DecisionKind.DIVERT_REFUSED,
        check_count("txid", txid),
        check_given_name("state", state),
        check_flag("rows_lost", rows_lost),
    )
    return _decide(topology, ledger, wanted, options)


def undo(topology: Topology, ledger: Ledger, *, txid: int, options: RunOptions | None = None) -> Decision:
    """Bring every state back to what it was before a txid; the next start plans the txid again.

    The txid is one that is pinned, or the last one that is done: of that only where all of its ends are opaque states
    in tables (or in memory), and all of its records are still in topics of Kafka. Needs the topology to open its
    states, and of a txid that is done its streams. Raises LeaseHeldError while a coordinator runs the topology,
    MismatchError when the txid is neither, or something else of it can't be taken back, CannotUndoError when a state
    that has it can't bring everything back; nothing was changed then. One that was cut off is finished by the next call
    or the next start.
    """
    return undo_if_agreed(topology, ledger, txid, agree_to_undo, options=options)


def undo_if_agreed(
    topology: Topology, ledger: Ledger, txid: int, agree: AgreeToUndo, *, options: RunOptions | None = None
) -> Decision:
    """Undo as `undo` does, of a txid that is done when `agree` has heard what is read again; if that raises, nothing.

    Of a pinned txid `agree` hears nothing.
    """
    return _decide(topology, ledger, WantedDecision(DecisionKind.UNDO, check_count("txid", txid)), options, agree)


def drop(topology: Topology, ledger: Ledger, *, name: str, options: RunOptions | None = None) -> Decision:
    """Take a state or sink out of a topology for good: the version without it starts then.

    Needs the version that has it. What is pinned is finished first and what waits in a sink is sent: it gets every txid
    up to the one that is done, and none after it. What it holds stays where it is. Raises LeaseHeldError while a
    coordinator runs the topology, DecisionNeededError while a refusal waits, MismatchError for what the ledger does not
    know; the topology has it still then, and the call may be repeated.
    """
    refuse_while_loading(_DECIDES)
    check_given_name("name", name)
    check_ledger(ledger)
    chosen = _options(options)
    compiled = check_topology(topology).compile()
    _require_another_end(compiled, name)
    return drop_from_topology(compiled.spec(), compiled.targets, ledger, name, chosen)


def status(topology: Topology | str, ledger: Ledger) -> TopologyStatus:
    """Return where a topology stands, who holds it, and what waits for a person; reads only, also while it runs.

    Raises MismatchError for a topology that is not in the ledger, and for tables of another version.
    """
    name = name_of(topology)
    return check_ledger(ledger).view().status(name)


def _decide(
    topology: Topology,
    ledger: Ledger,
    wanted: WantedDecision,
    options: RunOptions | None,
    agree: AgreeToUndo = agree_to_undo,
) -> Decision:
    refuse_while_loading(_DECIDES)
    check_ledger(ledger)
    chosen = _options(options)
    compiled = check_topology(topology).compile()
    require_decidable(compiled.name, compiled.spec().level)
    return decide_topology(compiled.spec(), compiled.targets, ledger, wanted, chosen, compiled.spouts, agree)


def _require_another_end(compiled: CompiledTopology, name: str) -> None:
    """Raise ConfigurationError where a stream would be left that nothing hangs on: it can't be taken out."""
    read: Counter[str] = Counter(source.name for end in compiled.ends for source in sources_of(end))
    of_it = {source.name for end in compiled.ends if end.name == name for source in sources_of(end)}
    alone = sorted(stream for stream in of_it if read[stream] == 1)
    if alone:
        raise ConfigurationError(
            f"no drop: {name!r} is all that hangs on stream {alone[0]!r}, and a stream can't be taken out: a version "
            "with nothing on it does not start. Nothing was changed; run a version in which something else hangs on it "
            "too, and let that take this one out"
        )


def _options(given: RunOptions | None) -> RunOptions:
    return RunOptions() if given is None else check_instance("options", given, RunOptions)
