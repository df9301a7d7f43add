"""What a take-over ends with, and the first step of the protocol that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.identity import BatchId, Epoch
from trident.coordinators.options import RunOptions
from trident.coordinators.protocol.state import Live, ProtocolState
from trident.coordinators.protocol.step import Step, take_over
from trident.coordinators.protocol.transitions import Status
from trident.coordinators.registered import Snapshot
from trident.state.capabilities import names_beside
from trident.state.target import Target


@dataclass(frozen=True)
class TakenOver:
    """What a new owner knows once every fence is raised and every position checked."""

    epoch: Epoch
    snapshot: Snapshot
    waiting: frozenset[str]
    """States that do not have the pinned txid yet; empty when nothing is pinned."""

    def first_step(self, stores: Mapping[str, Target], options: RunOptions) -> Step:
        """Return the protocol's first state and commands: roll a pin forward, drop the rest."""
        snapshot = self.snapshot
        unpinned = [plan for plan in snapshot.live if snapshot.pin is None or plan.attempt != snapshot.pin.attempt]
        pinned = None
        if snapshot.pin is not None:
            batch = BatchId(snapshot.owner, self.epoch, snapshot.pin.txid, snapshot.pin.attempt)
            pinned = Live(batch, snapshot.pin.plan.tries, Status.APPLYING, self.waiting)
        return take_over(self._fresh(stores, options), pinned, bool(unpinned))

    def _fresh(self, stores: Mapping[str, Target], options: RunOptions) -> ProtocolState:
        """Return the protocol with nothing live; tries of attempts that were live keep counting."""
        snapshot = self.snapshot
        return ProtocolState(
            owner=snapshot.owner,
            epoch=self.epoch,
            states=frozenset(stores),
            beside=names_beside(stores),
            max_pending=options.max_pending,
            max_tries=options.max_tries,
            done=snapshot.done,
            last_attempt=snapshot.last_attempt,
            tries=tuple((plan.txid, plan.tries) for plan in snapshot.live),
        )
