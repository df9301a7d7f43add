"""Those of a topology's targets that stand nowhere, as a take-over asks them: whose they are, and what is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from trident.base.identity import Epoch, Owner
from trident.base.levels import Level
from trident.coordinators.holding.fencing import refuse_later_epoch
from trident.coordinators.holding.plain_standing import check_kept, check_plain, txids_ahead
from trident.coordinators.registered import Birth, Snapshot
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import plain_of
from trident.state.plainly import PlainFound
from trident.state.positions import Position
from trident.state.target import Target

Found = Mapping[str, PlainFound | None]


class PlainStores:
    """See `TakeOver`; at the first level there are none, and nothing is asked."""

    def __init__(self, stores: Mapping[str, Target], level: Level, repeater: Repeater) -> None:
        self.stores = stores
        self._ahead = txids_ahead(level)
        self._repeater = repeater

    def look(self, topology: str) -> dict[str, Position | None]:
        """Raise what each would refuse; changes nothing. Returns `noted`."""
        for name, store in self.stores.items():
            self._repeater.call(f"looking at {name!r}", partial(store.look, topology))
        return self.noted(topology)

    def noted(self, topology: str) -> dict[str, Position | None]:
        """Return whose they were when their owner last began, as positions that say nothing else."""
        found = self._found(topology)
        marks = {name: None if each is None else each.mark for name, each in found.items()}
        return {name: None if mark is None else Position(mark.owner, 0, 0, 0) for name, mark in marks.items()}

    def raise_fences(self, owner: Owner, epoch: Epoch, require_newest: Callable[[], None]) -> None:
        """Raise `LedgerBehindError` where an epoch is noted that the ledger has not given out; nothing is fenced."""
        for name, found in self._found(owner.topology).items():
            if found is not None and found.mark is not None:
                refuse_later_epoch(name, found.mark.epoch, owner, epoch, require_newest)

    def check(self, snapshot: Snapshot, *, is_told: bool = False) -> None:
        """Raise ApartError for one that is gone, was emptied, or is not of the ledger's moment; see `check_plain`."""
        for name, each in self._found(snapshot.owner.topology).items():
            if each is not None:
                check_plain(snapshot, name, each, self._ahead, is_told=is_told)

    def check_kept(self, snapshot: Snapshot) -> None:
        """Raise ApartError for one whose rows are to be kept and are gone."""
        for name, each in self._found(snapshot.owner.topology).items():
            if each is not None:
                check_kept(snapshot, name, each)

    def births(self, snapshot: Snapshot) -> tuple[Birth, ...]:
        """Return what the ledger does not know yet: they hold what comes after the txid that is done."""
        known = {birth.state for birth in snapshot.births}
        return tuple(Birth(name, snapshot.done) for name in sorted(self.stores) if name not in known)

    def own(self, owner: Owner, epoch: Epoch) -> None:
        """Make all ready, and note whose they are."""
        for name, store in self.stores.items():
            own = partial(plain_of(store).own, owner, epoch)
            self._repeater.call(f"preparing {name!r}", own)

    def _found(self, topology: str) -> Found:
        return {
            name: self._repeater.call(f"looking at {name!r}", partial(plain_of(store).found, topology))
            for name, store in self.stores.items()
        }
