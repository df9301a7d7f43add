"""Where results live: states, their stores and the rules of update."""

from trident.state.backing.maps import (
    BackingMap,
    BackingPosition,
    ClearableBackingMap,
    ConditionalBackingMap,
    RemovableBackingMap,
)
from trident.state.backing.state import BackingMapState
from trident.state.base import StateKind
from trident.state.memory.state import MemoryState
from trident.state.postgres.state import PostgresState
from trident.state.sqlite.state import SqliteState
from trident.state.values import OpaqueValue, StaleTxidError, TransactionalValue

__all__ = [
    "BackingMap",
    "BackingMapState",
    "BackingPosition",
    "ClearableBackingMap",
    "ConditionalBackingMap",
    "MemoryState",
    "OpaqueValue",
    "PostgresState",
    "RemovableBackingMap",
    "SqliteState",
    "StaleTxidError",
    "StateKind",
    "TransactionalValue",
]
