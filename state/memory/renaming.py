"""A state in memory under another name: all that is kept there by its name moves in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.memory.database import MemoryTransaction
from trident.state.memory.place import LAYOUTS, PLAIN_MARKS, MemoryPlace
from trident.state.positions import Standing, stands
from trident.state.renaming import not_free
from trident.state.target import Target


@dataclass(frozen=True, slots=True)
class MemoryRenaming:
    """See `Renames`: here a place is nothing but a name, so rows and staging move with the position."""

    place: MemoryPlace
    opened_under: Callable[[str], Target]

    def under(self, name: str) -> Target:
        """Return what is kept under another name."""
        return self.opened_under(name)

    def lies_under(self, topology: str, name: str) -> bool:
        """Tell whether something stands under that name; what has left it stands there no more."""
        with self.place.database.transaction() as transaction:
            return self._of(name).own_position(transaction, topology) is not None

    def names(self, topology: str) -> tuple[str, ...]:
        """Return its own name, if something stands there: here another name is another place."""
        return (self.place.name,) if self.lies_under(topology, self.place.name) else ()

    def check_free(self, topology: str) -> None:
        """Raise MismatchError where its own name has a position or rows."""
        with self.place.database.transaction() as transaction:
            self._require_free(transaction, topology)

    def follow(self, owner: Owner, epoch: Epoch, former: str) -> None:
        """Move what is under the former name; what is left there is its fence."""
        before, now = self._of(former), self.place
        with now.database.transaction() as transaction:
            left = before.let_go(transaction, owner.topology, epoch)  # another topology may have that name by now
            position = now.owned(transaction, owner, epoch)
            for found, name in ((left, former), (position, now.name)):
                if found is not None and found.owner != owner:
                    raise MismatchError(f"state {name!r} {stands(found)}; nothing was changed")
            if left is None:
                return
            self._require_free(transaction, owner.topology)
            for table in (MemoryPlace.rows, MemoryPlace.undone, MemoryPlace.staging):
                moved = table(before, transaction)
                table(now, transaction).update(moved)
                moved.clear()
            layouts = transaction.table(LAYOUTS)
            if former in layouts:
                layouts[now.name] = layouts.pop(former)
            now.put(transaction, owner.topology, Standing(left, epoch))
            before.put(transaction, owner.topology, Standing(None, epoch))

    def _require_free(self, transaction: MemoryTransaction, topology: str) -> None:
        place = self.place
        is_noted = transaction.table(PLAIN_MARKS).get(place.name) is not None
        if place.position(transaction, topology) is not None or place.rows(transaction) or is_noted:
            raise not_free(place.name, topology)

    def _of(self, name: str) -> MemoryPlace:
        return MemoryPlace(self.place.database, name, self.place.kind)
