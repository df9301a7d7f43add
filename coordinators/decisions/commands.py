"""What a person decides, as whole commands: open what it needs, hold the lease meanwhile, decide, let go."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial

from trident.base.errors import ConfigurationError
from trident.base.identity import Epoch
from trident.coordinators.decided import Decision, ForgottenTables, ResetDecision, RowsOf
from trident.coordinators.decisions.beginning import Agree, agree_to_all
from trident.coordinators.decisions.deciding import decide, decide_reset, decide_retry
from trident.coordinators.decisions.dropping import decide_drop
from trident.coordinators.decisions.forgetting import AgreeToForget, agree_to_forget, decide_forget
from trident.coordinators.decisions.leasing import leased
from trident.coordinators.decisions.reapplying import AgreeToReapply, agree_to_reapply, decide_reapply
from trident.coordinators.decisions.renaming import AgreeToRename, Version, agree_to_rename, decide_rename
from trident.coordinators.decisions.taking_back import AgreeToUndo, WaysBack, agree_to_undo
from trident.coordinators.decisions.wanted import WantedDecision, WantedReset
from trident.coordinators.holding.fencing import LedgerBehindError
from trident.coordinators.holding.opening import opened, opened_sources
from trident.coordinators.holding.starts import nothing_wrong, require_begins
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.spouts.base import Spout
from trident.state.forgetting import forgetting_of
from trident.state.plainly import with_positions, without_positions
from trident.state.target import OpensTarget, Target


def retry_topology(topology: str, ledger: Ledger, txid: int, options: RunOptions) -> Decision:
    """Record that a refused txid is to be tried again; needs no state. Raises LeaseHeldError, MismatchError."""
    with opened(ledger, {}, {}, options.timeouts), leased(ledger, topology, options) as (epoch, repeater):
        return decide_retry(ledger, topology, epoch, txid, repeater)


@contextmanager
def _held(
    spec: TopologySpec, targets: Mapping[str, OpensTarget], ledger: Ledger, options: RunOptions
) -> Iterator[tuple[Mapping[str, Target], Epoch, Repeater]]:
    """Open what a decision about states needs, then hold the lease: the order in which a run does it."""
    with (
        opened(ledger, {}, targets, options.timeouts) as parts,
        leased(ledger, spec.name, options) as (epoch, repeater),
    ):
        yield parts.stores, epoch, repeater


def decide_topology(
    spec: TopologySpec,
    targets: Mapping[str, OpensTarget],
    ledger: Ledger,
    wanted: WantedDecision,
    options: RunOptions,
    spouts: Mapping[str, Spout] | None = None,
    agree: AgreeToUndo = agree_to_undo,
) -> Decision:
    """Record a divert or an undo and carry it out; returns the decision.

    An undo of the last txid that is done asks its `spouts` whether they still have its records, and `agree` hears what
    will be read again while nothing is changed, and ends it by raising. Raises LeaseHeldError while a coordinator runs
    the topology, CannotUndoError or MismatchError when it can't be done: nothing was changed then. One that was cut off
    before is finished and returned.
    """
    with _held(spec, targets, ledger, options) as (stores, epoch, repeater):
        ways = WaysBack(partial(opened_sources, spouts or {}), agree)
        return decide(TakeOver(ledger, stores, spec, epoch, repeater), wanted, ways)


def reapply_rows(
    spec: TopologySpec,
    targets: Mapping[str, OpensTarget],
    ledger: Ledger,
    wanted: RowsOf,
    options: RunOptions,
    agree: AgreeToReapply = agree_to_reapply,
) -> Decision:
    """Put diverted rows back into their state, once; returns the decision.

    `agree` hears what it is about to do while nothing is changed, and ends it by raising. Raises LeaseHeldError while a
    coordinator runs the topology, and what `decide_reapply` raises.
    """
    with _held(spec, targets, ledger, options) as (stores, epoch, repeater):
        return decide_reapply(TakeOver(ledger, stores, spec, epoch, repeater), wanted, agree)


def drop_from_topology(
    spec: TopologySpec, targets: Mapping[str, OpensTarget], ledger: Ledger, name: str, options: RunOptions
) -> Decision:
    """Take a state or sink out of the topology; returns the decision.

    Raises LeaseHeldError while a coordinator runs it, and what `decide_drop` raises.
    """
    with _held(spec, targets, ledger, options) as (stores, epoch, repeater):
        plain = without_positions(stores)
        return decide_drop(TakeOver(ledger, with_positions(stores), spec, epoch, repeater), name, plain)


def forget_topology(
    spec: TopologySpec,
    targets: Mapping[str, OpensTarget],
    ledger: Ledger,
    tables: ForgottenTables,
    options: RunOptions,
    agree: AgreeToForget = agree_to_forget,
    lost: Collection[str] = (),
) -> Decision:
    """Let go of a topology; returns the decision, which was carried out whole.

    Those that are `lost` are not opened. Raises LeaseHeldError while a coordinator runs it, ConfigurationError for a
    target that can't be let go of, or that there is not, and what `decide_forget` raises.
    """
    unknown = sorted({*lost}.difference(spec.states))
    if unknown:
        known = ", ".join(map(repr, spec.states))
        raise ConfigurationError(
            f"topology {spec.name!r} has no state or sink {unknown[0]!r} (there are: {known}). Nothing was changed"
        )
    left = {name: target for name, target in targets.items() if name not in lost}
    with opened(ledger, {}, left, options.timeouts) as parts:
        for store in parts.stores.values():
            forgetting_of(store)
        with leased(ledger, spec.name, options) as (epoch, repeater):
            return decide_forget(TakeOver(ledger, parts.stores, spec, epoch, repeater), tables, agree, lost)


def rename_states(
    spec: TopologySpec,
    targets: Mapping[str, OpensTarget],
    ledger: Ledger,
    renames: Mapping[str, str],
    options: RunOptions,
    agree: AgreeToRename = agree_to_rename,
) -> Decision:
    """Give states of the topology other names, with the version that has these; returns the decision.

    `agree` hears what it is about to do while nothing is changed, and ends it by raising. Raises LeaseHeldError while a
    coordinator runs the topology, and what `decide_rename` raises.
    """
    with _held(spec, targets, ledger, options) as (stores, epoch, repeater):
        return decide_rename(Version(ledger, spec, stores, epoch, repeater), renames, agree)


def reset_topology(
    spec: TopologySpec,
    targets: Mapping[str, OpensTarget],
    ledger: Ledger,
    *,
    keep_rows: bool,
    start: str | None,
    options: RunOptions,
    ledger_lost: bool = False,
    agree: Agree = agree_to_all,
    spouts: Mapping[str, Spout] | None = None,
    check: Callable[[], None] = nothing_wrong,
) -> ResetDecision:
    """Open a new incarnation above every txid ever planned; returns the decision that was carried out.

    `agree` hears what it is about to do while nothing is changed, and ends it by raising. Raises LeaseHeldError while a
    coordinator runs the topology. When a reset that was cut off is
    found, that one is finished and returned, and no new one is made; but one that keeps rows gives way to one that
    clears them, since they may be gone for ever. Raises MismatchError, nothing changed, when
    a state is of an incarnation or an epoch that this ledger has never had, unless `ledger_lost` says that it was
    lost or restored: then it takes a lease anew, above what a state knows, once per state at most.

    A reset stores the description, so one that adds something is held to what its first start is: those of `spouts`
    that the ledger does not know are asked where they begin, and `check` may raise what else is wrong.
    """
    wanted = WantedReset(secrets.token_hex(8), keep_rows, start, ledger_lost)
    open_sources = partial(opened_sources, spouts or {})
    with opened(ledger, {}, targets, options.timeouts) as parts:
        # a person is asked once, however many leases it takes
        agree_once = cache(agree)
        above = 0
        while True:
            try:
                with leased(ledger, spec.name, options, above) as (epoch, repeater):
                    stores, plain = with_positions(parts.stores), without_positions(parts.stores)
                    taking = TakeOver(ledger, stores, spec, epoch, repeater, plain=plain)

                    def require(seen: Snapshot, repeater: Repeater = repeater) -> None:
                        require_begins(seen, open_sources, start, check, repeater)

                    return decide_reset(taking, wanted, agree_once, require)
            except LedgerBehindError as error:
                if not ledger_lost:
                    raise
                above = error.known
