"""Exactly-once batches on Spark: what a user imports."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from trident.base.lazy import lazy_exports

# Spark 4.3 says so of pandas 3 whenever Python and Spark exchange rows, at each start and in each worker. Nothing here
# uses pandas' frames: rows go to and fro as Arrow, and the tests run with pandas 3.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)

if TYPE_CHECKING:
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
    from trident.base.levels import Level
    from trident.coordinators.batches.stopped import StoppedError
    from trident.coordinators.holding.run import RunSummary
    from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
    from trident.coordinators.options import Audit, OnRunning, RunOptions
    from trident.coordinators.registered import Keep
    from trident.coordinators.run_events import (
        BatchCommitted,
        BatchFailed,
        BatchPlanned,
        BatchProcessed,
        BatchRefused,
        OffsetsLost,
        PartitionLag,
        RunListener,
        RunStarted,
        RunStopped,
        TookOver,
    )
    from trident.engine.recommended import recommended_options
    from trident.engine.staging import Staging
    from trident.language.explaining import ExplainForm
    from trident.language.first import FirstN
    from trident.language.grouped import GroupedStream
    from trident.language.static_state import CollectionGet, StaticState
    from trident.language.stream import Stream
    from trident.language.timing import batch_time
    from trident.language.topology import Topology
    from trident.language.trident_state import TridentState
    from trident.language.turning import MapGet, SnapshotGet
    from trident.local.session import local_session
    from trident.managing.deciding import divert, drop, retry, status, undo
    from trident.managing.evolving import evolve
    from trident.managing.forgetting import forget
    from trident.managing.lifecycle import activate, deactivate, kill, rebalance
    from trident.managing.reapplying import reapply
    from trident.managing.resets import reset
    from trident.operations.aggregators.base import Aggregation
    from trident.operations.aggregators.by_row import Aggregator, Reducer
    from trident.operations.aggregators.choices import First, Last, MaxBy, MinBy
    from trident.operations.aggregators.collections import CollectList, CollectSet, CountDistinct, TopN
    from trident.operations.aggregators.combiner import Combiner
    from trident.operations.aggregators.counting import Count
    from trident.operations.aggregators.deviations import StdDev, StdDevOf
    from trident.operations.aggregators.distinct import ApproxCountDistinct
    from trident.operations.aggregators.extremes import Max, Min
    from trident.operations.aggregators.means import Avg, Mean
    from trident.operations.aggregators.quantiles import Quantiles
    from trident.operations.aggregators.sums import Sum
    from trident.operations.aggregators.truths import BoolAnd, BoolOr
    from trident.operations.asking import QueryFunction, StoredRows
    from trident.operations.collector import Collector, InputRecord
    from trident.operations.conditions import Debug, Equals, FilterNull, Negate, Split
    from trident.operations.joining import JoinOutput, JoinSide
    from trident.operations.multi_reducing import MultiReducer
    from trident.operations.updating import EmittedRow, StateChanges, StateUpdater
    from trident.operations.user_objects import OperationContext

_MODULES = {
    "trident.operations.aggregators.base": ("Aggregation",),
    "trident.operations.aggregators.by_row": ("Aggregator", "Reducer"),
    "trident.operations.aggregators.combiner": ("Combiner",),
    "trident.operations.aggregators.counting": ("Count",),
    "trident.operations.aggregators.extremes": ("Max", "Min"),
    "trident.operations.aggregators.sums": ("Sum",),
    "trident.operations.aggregators.choices": ("First", "Last", "MaxBy", "MinBy"),
    "trident.operations.aggregators.collections": ("CollectList", "CollectSet", "CountDistinct", "TopN"),
    "trident.operations.aggregators.deviations": ("StdDev", "StdDevOf"),
    "trident.operations.aggregators.distinct": ("ApproxCountDistinct",),
    "trident.operations.aggregators.means": ("Avg", "Mean"),
    "trident.operations.aggregators.quantiles": ("Quantiles",),
    "trident.operations.aggregators.truths": ("BoolAnd", "BoolOr"),
    "trident.operations.asking": ("QueryFunction", "StoredRows"),
    "trident.operations.collector": ("Collector", "InputRecord"),
    "trident.operations.conditions": ("Debug", "Equals", "FilterNull", "Negate", "Split"),
    "trident.operations.joining": ("JoinOutput", "JoinSide"),
    "trident.operations.multi_reducing": ("MultiReducer",),
    "trident.operations.updating": ("EmittedRow", "StateChanges", "StateUpdater"),
    "trident.operations.user_objects": ("OperationContext",),
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
    "trident.base.levels": ("Level",),
    "trident.language.timing": ("batch_time",),
    "trident.coordinators.ledger": ("MemoryLedger", "PostgresLedger", "SqliteLedger"),
    "trident.coordinators.options": ("Audit", "OnRunning", "RunOptions"),
    "trident.coordinators.registered": ("Keep",),
    "trident.coordinators.batches.stopped": ("StoppedError",),
    "trident.coordinators.run_events": (
        "BatchCommitted",
        "BatchFailed",
        "BatchPlanned",
        "BatchProcessed",
        "BatchRefused",
        "OffsetsLost",
        "PartitionLag",
        "RunListener",
        "RunStarted",
        "RunStopped",
        "TookOver",
    ),
    "trident.coordinators.holding.run": ("RunSummary",),
    "trident.managing.deciding": ("divert", "drop", "retry", "status", "undo"),
    "trident.managing.forgetting": ("forget",),
    "trident.managing.evolving": ("evolve",),
    "trident.engine.staging": ("Staging",),
    "trident.language.explaining": ("ExplainForm",),
    "trident.language.first": ("FirstN",),
    "trident.language.grouped": ("GroupedStream",),
    "trident.managing.lifecycle": ("activate", "deactivate", "kill", "rebalance"),
    "trident.managing.reapplying": ("reapply",),
    "trident.managing.resets": ("reset",),
    "trident.local.session": ("local_session",),
    "trident.engine.recommended": ("recommended_options",),
    "trident.language.static_state": ("CollectionGet", "StaticState"),
    "trident.language.stream": ("Stream",),
    "trident.language.topology": ("Topology",),
    "trident.language.trident_state": ("TridentState",),
    "trident.language.turning": ("MapGet", "SnapshotGet"),
}
__all__ = [
    "Aggregation",
    "Aggregator",
    "ApproxCountDistinct",
    "Audit",
    "Avg",
    "BatchCommitted",
    "BatchFailed",
    "BatchPlanned",
    "BatchProcessed",
    "BatchRefused",
    "BoolAnd",
    "BoolOr",
    "CollectList",
    "CollectSet",
    "CollectionGet",
    "Collector",
    "Combiner",
    "ConfigurationError",
    "Count",
    "CountDistinct",
    "Debug",
    "DecisionNeededError",
    "EmittedRow",
    "Equals",
    "ExplainForm",
    "FatalError",
    "FencedError",
    "FieldError",
    "FilterNull",
    "First",
    "FirstN",
    "GroupedStream",
    "InputRecord",
    "JoinOutput",
    "JoinSide",
    "Keep",
    "Last",
    "LeaseHeldError",
    "Level",
    "MapGet",
    "Max",
    "MaxBy",
    "Mean",
    "MemoryLedger",
    "Min",
    "MinBy",
    "MismatchError",
    "MultiReducer",
    "Negate",
    "OffsetsLost",
    "OnRunning",
    "OperationContext",
    "OutcomeUnknownError",
    "PartitionLag",
    "PostgresLedger",
    "Quantiles",
    "QueryFunction",
    "Reducer",
    "RefusedError",
    "RetryableError",
    "RunListener",
    "RunOptions",
    "RunStarted",
    "RunStopped",
    "RunSummary",
    "SnapshotGet",
    "Split",
    "SqliteLedger",
    "Staging",
    "StateChanges",
    "StateUpdater",
    "StaticState",
    "StdDev",
    "StdDevOf",
    "StoppedError",
    "StoredRows",
    "Stream",
    "Sum",
    "TookOver",
    "TopN",
    "Topology",
    "TridentError",
    "TridentState",
    "activate",
    "batch_time",
    "deactivate",
    "divert",
    "drop",
    "evolve",
    "forget",
    "kill",
    "local_session",
    "reapply",
    "rebalance",
    "recommended_options",
    "reset",
    "retry",
    "status",
    "undo",
]


__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
