"""Exactly-once batches on Spark: what a user imports."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trident.aggregators import Aggregator, Combiner, Count, Max, Min, Sum
    from trident.base.errors import (
        ConfigurationError,
        DecisionNeededError,
        FatalError,
        FencedError,
        FieldError,
        LeaseHeldError,
        MismatchError,
        OutcomeUnknownError,
        RefusedError,
        RetryableError,
        TridentError,
    )
    from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
    from trident.coordinators.options import OnRunning, RunOptions
    from trident.coordinators.records import Keep
    from trident.coordinators.session import RunSummary
    from trident.deciding import divert, retry, status, undo
    from trident.engine.staging import Staging
    from trident.grouped import GroupedStream
    from trident.resets import reset
    from trident.session import local_session, recommended_options
    from trident.stream import Stream
    from trident.timing import batch_time
    from trident.topology import Topology
    from trident.trident_state import TridentState

_MODULES = {
    "trident.aggregators": ("Aggregator", "Combiner", "Count", "Max", "Min", "Sum"),
    "trident.base.errors": (
        "ConfigurationError",
        "DecisionNeededError",
        "FatalError",
        "FencedError",
        "FieldError",
        "LeaseHeldError",
        "MismatchError",
        "OutcomeUnknownError",
        "RefusedError",
        "RetryableError",
        "TridentError",
    ),
    "trident.timing": ("batch_time",),
    "trident.coordinators.ledger": ("MemoryLedger", "PostgresLedger", "SqliteLedger"),
    "trident.coordinators.options": ("OnRunning", "RunOptions"),
    "trident.coordinators.records": ("Keep",),
    "trident.coordinators.session": ("RunSummary",),
    "trident.deciding": ("divert", "retry", "status", "undo"),
    "trident.engine.staging": ("Staging",),
    "trident.grouped": ("GroupedStream",),
    "trident.resets": ("reset",),
    "trident.session": ("local_session", "recommended_options"),
    "trident.stream": ("Stream",),
    "trident.topology": ("Topology",),
    "trident.trident_state": ("TridentState",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Aggregator",
    "Combiner",
    "ConfigurationError",
    "Count",
    "DecisionNeededError",
    "FatalError",
    "FencedError",
    "FieldError",
    "GroupedStream",
    "Keep",
    "LeaseHeldError",
    "Max",
    "MemoryLedger",
    "Min",
    "MismatchError",
    "OnRunning",
    "OutcomeUnknownError",
    "PostgresLedger",
    "RefusedError",
    "RetryableError",
    "RunOptions",
    "RunSummary",
    "SqliteLedger",
    "Staging",
    "Stream",
    "Sum",
    "Topology",
    "TridentError",
    "TridentState",
    "batch_time",
    "divert",
    "local_session",
    "recommended_options",
    "reset",
    "retry",
    "status",
    "undo",
]


def __getattr__(name: str) -> object:
    """Import a name's module when it is first asked for: Spark's Python workers need next to nothing of all this."""
    if name not in _HOME:
        raise AttributeError(f"module 'trident' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
