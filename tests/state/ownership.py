"""Who may begin in a table that is another's: for every pair of kinds, in either order, the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.state.test_plain import LAYOUT
from trident.base.identity import Epoch, Owner
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state import PostgresState, PostgresTable, SqliteState, SqliteTable, StateKind
from trident.state.memory.database import MemoryDatabase
from trident.state.row_tables.shape import RowWrite, row_shape
from trident.state.target import Target

Opens = Callable[[], Target]
KINDS: Final = ("exact state", "exact sink", "plain state", "plain sink")
PAIRS: Final = tuple((first, second) for first in KINDS for second in KINDS)
FIRST, SECOND = Owner("first", "a"), Owner("second", "b")


def opens(state: SqliteState | PostgresState, sink: SqliteTable | PostgresTable, table: str) -> Mapping[str, Opens]:
    """Return how a target of each kind is opened; the state's own kind is what the first level makes of it."""
    memory, shape = MemoryDatabase(), row_shape("out", table, LAYOUT.schema(), RowWrite.APPEND)
    assert state.kind is StateKind.NON_TRANSACTIONAL
    return {
        "exact state": lambda: state.open(LAYOUT, memory),
        "exact sink": lambda: sink.open(shape, memory, DEFAULT_TIMEOUTS),
        "plain state": lambda: state.open_plain(LAYOUT, memory),
        "plain sink": lambda: sink.open_plain(shape, memory, DEFAULT_TIMEOUTS),
    }


def look(target: Target, owner: Owner) -> None:
    """Do what a take-over does before it takes the target."""
    plain = target.capabilities.plain
    target.look(owner.topology, True)
    if plain is None:
        target.prepare()
    else:
        plain.found(owner.topology)


def take(target: Target, owner: Owner, epoch: int, *, emptied: bool = False) -> None:
    """Do the rest of it."""
    plain, of_this = target.capabilities.plain, Epoch(epoch, f"line.{epoch}")
    if plain is not None:
        plain.own(owner, of_this, emptied=emptied)
        return
    target.raise_fence(owner, of_this)
    if target.position(owner.topology) is None:
        target.register(owner, of_this, 0)


def begin(target: Target, owner: Owner, epoch: int = 1) -> None:
    """Do all of it."""
    look(target, owner)
    take(target, owner, epoch)
    target.close()
