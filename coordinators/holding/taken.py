"""What a take-over ends with, and the first step of the protocol that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.identity import BatchId, Epoch
from trident.coordinators.lifecycle import Activity
from trident.coordinators.options import RunOptions
from trident.coordinators.planned import Plan
from trident.coordinators.protocol.state import Live, Phase, ProtocolState
from trident.coordinators.protocol.step import Step, take_over
from trident.coordinators.protocol.transitions import Status
from trident.coordinators.registered import Snapshot
from trident.state.capabilities import names_beside
from trident.state.target import Target

_SUSPECT_AFTER = 3
"""How many tries of a txid end with their coordinators before it and those behind it go one by one."""


@dataclass(frozen=True)
class TakenOver:
    """What a new owner knows once every fence is raised and every position checked."""

    epoch: Epoch
    snapshot: Snapshot
    waiting: frozenset[str]
    """States that do not have the pinned txid yet; empty when nothing is pinned."""

    def first_step(
        self,
        stores: Mapping[str, Target],
        options: RunOptions,
        *,
        turn_work: bool = False,
        keeps_rows: bool = False,
        shares_work: bool = False,
    ) -> Step:
        """Return the protocol's first state and commands: roll a pin forward, drop the rest."""
        snapshot, unpinned = self.snapshot, self._unpinned
        pinned = None
        if snapshot.pin is not None:
            batch = BatchId(snapshot.owner, self.epoch, snapshot.pin.txid, snapshot.pin.attempt)
            pinned = Live(batch, snapshot.pin.plan.tries, Status.APPLYING, self.waiting)
        exhausted = None
        if unpinned and unpinned[0].tries >= options.max_tries and not self._was_told:
            batch = BatchId(snapshot.owner, self.epoch, unpinned[0].txid, unpinned[0].attempt)
            exhausted = Live(batch, unpinned[0].tries, Status.BLOCKED)
        fresh = self._fresh(stores, options)._replace(
            turn_work=turn_work, keeps_rows=keeps_rows, shares_work=shares_work
        )
        return take_over(fresh, pinned, bool(unpinned), exhausted)

    @property
    def _unpinned(self) -> list[Plan]:
        """The attempts that a coordinator died with before they were decided, by txid."""
        pin = self.snapshot.pin
        return [plan for plan in self.snapshot.live if pin is None or plan.attempt != pin.attempt]

    @property
    def _was_told(self) -> bool:
        """Whether the ledger says why the first of these ended: then it goes on with one more try."""
        return self._unpinned[0].attempt in self.snapshot.told

    def _fresh(self, stores: Mapping[str, Target], options: RunOptions) -> ProtocolState:
        """Return the protocol with nothing live.

        The first attempt that a coordinator died with counts as a try of its txid, those behind it do not. After
        some such deaths they go one by one, so that it is the one that kills whose tries count.
        """
        snapshot, unpinned = self.snapshot, self._unpinned
        counted = [(plan.txid, plan.tries - (plan is not unpinned[0])) for plan in unpinned]
        are_suspect = bool(unpinned) and unpinned[0].tries >= _SUSPECT_AFTER
        return ProtocolState(
            owner=snapshot.owner,
            epoch=self.epoch,
            states=frozenset(stores),
            beside=names_beside(stores),
            max_pending=options.max_pending,
            max_tries=options.max_tries,
            done=snapshot.done,
            last_attempt=snapshot.last_attempt,
            tries=tuple((txid, tries) for txid, tries in counted if tries),
            alone_until=unpinned[-1].txid if are_suspect else 0,
            phase=Phase.INACTIVE if snapshot.activity is Activity.INACTIVE else Phase.RUNNING,
        )
