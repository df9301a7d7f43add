"""Where results go: states with their stores and rules of update, and sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trident.base.lazy import lazy_exports

if TYPE_CHECKING:
    from trident.state.kafka.sink import KafkaSink
    from trident.state.layout import StateKind
    from trident.state.maps.maps import (
        BackingKey,
        BackingMap,
        BackingPosition,
        BackingValue,
        ClearableBackingMap,
        ConditionalBackingMap,
        ExpiringBackingMap,
        RemovableBackingMap,
        TimedPosition,
        TimedValue,
    )
    from trident.state.maps.state import BackingMapState
    from trident.state.memory.state import MemoryState
    from trident.state.postgres.state import PostgresState
    from trident.state.postgres.table import PostgresTable
    from trident.state.row_tables.shape import RowWrite
    from trident.state.sqlite.state import SqliteState
    from trident.state.sqlite.table import SqliteTable
    from trident.state.values import OpaqueValue, StaleTxidError, TransactionalValue

_MODULES = {
    "trident.state.kafka.sink": ("KafkaSink",),
    "trident.state.layout": ("StateKind",),
    "trident.state.maps.maps": (
        "BackingKey",
        "BackingMap",
        "BackingPosition",
        "BackingValue",
        "ClearableBackingMap",
        "ConditionalBackingMap",
        "ExpiringBackingMap",
        "RemovableBackingMap",
        "TimedPosition",
        "TimedValue",
    ),
    "trident.state.maps.state": ("BackingMapState",),
    "trident.state.memory.state": ("MemoryState",),
    "trident.state.postgres.state": ("PostgresState",),
    "trident.state.postgres.table": ("PostgresTable",),
    "trident.state.row_tables.shape": ("RowWrite",),
    "trident.state.sqlite.state": ("SqliteState",),
    "trident.state.sqlite.table": ("SqliteTable",),
    "trident.state.values": (
        "OpaqueValue",
        "StaleTxidError",
        "TransactionalValue",
    ),
}

__all__ = [
    "BackingKey",
    "BackingMap",
    "BackingMapState",
    "BackingPosition",
    "BackingValue",
    "ClearableBackingMap",
    "ConditionalBackingMap",
    "ExpiringBackingMap",
    "KafkaSink",
    "MemoryState",
    "OpaqueValue",
    "PostgresState",
    "PostgresTable",
    "RemovableBackingMap",
    "RowWrite",
    "SqliteState",
    "SqliteTable",
    "StaleTxidError",
    "StateKind",
    "TimedPosition",
    "TimedValue",
    "TransactionalValue",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
