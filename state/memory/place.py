"""One state's place in a memory database: its tables, and who may write them."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.folding import Row, StoredRow
from trident.state.layout import StateKind
from trident.state.memory.database import MemoryDatabase, MemoryTable, MemoryTransaction
from trident.state.positions import Position, Standing, check_epoch
from trident.state.values import OpaqueValue, TransactionalValue

LAYOUTS = "state layouts"
_APPLIED = "state positions"
PLAIN_MARKS = "plain marks"
"""Whose the states of the weaker levels are."""


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """What the parts of a memory target share; methods with a transaction run inside the caller's."""

    database: MemoryDatabase
    name: str
    kind: StateKind

    def rows(self, transaction: MemoryTransaction) -> MemoryTable:
        """Return the stored rows by key."""
        return transaction.table(rows_table(self.name))

    def undone(self, transaction: MemoryTransaction) -> MemoryTable:
        """Return of keys that an undo has brought back the txid that they are of since: what was before it is lost."""
        return transaction.table(f"state {self.name} undone")

    def staging(self, transaction: MemoryTransaction) -> MemoryTable:
        """Return the staged writes by write id."""
        return transaction.table(f"state {self.name} staging")

    def standing(self, transaction: MemoryTransaction, topology: str) -> Standing | None:
        """Return position and epoch; raises MismatchError when the state is another topology's."""
        if any(holder != topology for holder in _holders(transaction, self.name)):
            raise MismatchError(f"state {self.name!r} belongs to another topology; nothing was changed")
        return self._own(transaction, topology)

    def let_go(self, transaction: MemoryTransaction, topology: str, epoch: Epoch) -> Position | None:
        """Return where the state stands, whoever else has its name by now; under no older epoch than that."""
        standing = self._own(transaction, topology)
        check_epoch(standing.epoch if standing else None, epoch, self.name)
        return standing.position if standing else None

    def own_position(self, transaction: MemoryTransaction, topology: str) -> Position | None:
        """Return where the topology's own state of this name stands, whoever else has the name by now."""
        standing = self._own(transaction, topology)
        return standing.position if standing else None

    def stands_nowhere(self, transaction: MemoryTransaction, topology: str) -> bool:
        """Tell whether the topology has been here and has no position, whoever else has the name by now."""
        standing = self._own(transaction, topology)
        return standing is not None and standing.position is None

    def _own(self, transaction: MemoryTransaction, topology: str) -> Standing | None:
        found = transaction.table(_APPLIED).get((topology, self.name))
        assert found is None or isinstance(found, Standing)
        return found

    def position(self, transaction: MemoryTransaction, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        standing = self.standing(transaction, topology)
        return standing.position if standing else None

    def owned(self, transaction: MemoryTransaction, owner: Owner, epoch: Epoch) -> Position | None:
        """Return where the state stands, after checking that no newer epoch holds it."""
        standing = self.standing(transaction, owner.topology)
        check_epoch(standing.epoch if standing else None, epoch, self.name)
        return standing.position if standing else None

    def put(self, transaction: MemoryTransaction, topology: str, standing: Standing) -> None:
        """Replace position and epoch."""
        transaction.table(_APPLIED)[topology, self.name] = standing

    def bind(self, transaction: MemoryTransaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Let the state begin at a birth txid under an owner."""
        self.put(transaction, owner.topology, Standing(Position(owner, birth_txid, 0, birth_txid), epoch))


def is_placed(transaction: MemoryTransaction, name: str) -> bool:
    """Tell whether a state of this name stands at a txid of any topology."""
    return bool(_holders(transaction, name))


def _holders(transaction: MemoryTransaction, name: str) -> list[object]:
    """Return the topologies that have a state of this name; one that has let go of it, and left its fence, has not."""
    applied = transaction.table(_APPLIED).items()
    held = [key for key, found in applied if isinstance(found, Standing) and found.position is not None]
    return [key[0] for key in held if isinstance(key, tuple) and key[1] == name]


def refuse_noted(transaction: MemoryTransaction, name: str) -> None:
    """Raise MismatchError for what a state of a weaker level has, unless it is this one's by its position."""
    if transaction.table(PLAIN_MARKS).get(name) is not None and not is_placed(transaction, name):
        raise MismatchError(
            f"state {name!r} belongs to a topology of a weaker level, which writes there without a txid: what stands "
            "at a txid can't be mixed with that. Nothing was changed: use another name"
        )


def rows_table(name: str) -> str:
    """Return the name of a state's table."""
    return f"state {name} rows"


def key_of(key: object) -> Row:
    """Return a key as it is stored."""
    assert isinstance(key, tuple)
    return key


def stored_row(row: object) -> StoredRow:
    """Return a row as it is stored."""
    assert isinstance(row, (TransactionalValue, OpaqueValue, tuple))
    return row
