"""A memory state that its topology lets go of."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.memory.database import MemoryTransaction
from trident.state.memory.place import LAYOUTS, MemoryPlace
from trident.state.positions import Standing, stands


@dataclass(frozen=True, slots=True)
class MemoryForgetting:
    """See `Forgettable`: the position goes and the epoch stays, at once."""

    place: MemoryPlace

    def check_forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Do it, and roll it back."""
        rolled_back(self.place.database.transaction(), lambda opened: self._let_go(opened, owner, epoch, drops))

    def forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Take the position away, what is staged, and with `drops` the rows."""
        with self.place.database.transaction() as transaction:
            self._let_go(transaction, owner, epoch, drops)

    def is_let_go(self, owner: Owner) -> bool:
        """Tell whether its epoch is there, and no position."""
        with self.place.database.transaction() as transaction:
            return self.place.stands_nowhere(transaction, owner.topology)

    def _let_go(self, transaction: MemoryTransaction, owner: Owner, epoch: Epoch, drops: bool) -> None:
        place = self.place
        position = place.let_go(transaction, owner.topology, epoch)
        if position is None:
            return
        if position.owner != owner:
            raise MismatchError(f"state {place.name!r} {stands(position)}; nothing was changed")
        place.put(transaction, owner.topology, Standing(None, epoch))
        place.staging(transaction).clear()
        if drops:
            place.rows(transaction).clear()
            place.undone(transaction).clear()
            transaction.table(LAYOUTS).pop(place.name, None)
