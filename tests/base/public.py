"""What a user can call, found by looking: every public callable with its arguments, and what each must refuse."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import trident
import trident.spouts
import trident.state
import trident.testing
from trident.local import kafka, kafka_cluster, postgres, rabbitmq, redis, session, spark_cluster
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.spark import SparkReader

PACKAGES: tuple[ModuleType, ...] = (trident, trident.spouts, trident.state, trident.testing)
BESIDE: tuple[object, ...] = (  # documented by module, in no package's list of names
    ArrowReader,
    SparkReader,
    kafka.LocalKafka,
    kafka_cluster.LocalKafkaCluster,
    postgres.LocalPostgres,
    rabbitmq.LocalRabbit,
    redis.LocalRedis,
    spark_cluster.LocalSparkCluster,
    session.local_session,
)

_BY_LIBRARY = "the library calls it"
_RESULT = "a value that the library makes"
NOT_ASKED: Mapping[str, str] = {
    "BackingPosition": _RESULT,
    "OpaqueValue": _RESULT + "; made for every key of a batch",
    "TimedPosition": _RESULT,
    "TimedValue": _RESULT + "; made for every key of a batch",
    "TransactionalValue": _RESULT + "; made for every key of a batch",
    "PlayedBatch": _RESULT,
    "FailedRecord": _RESULT,
    "Received": _RESULT,
    "RunSummary": _RESULT,
    "BatchCommitted": _RESULT,
    "BatchFailed": _RESULT,
    "BatchPlanned": _RESULT,
    "BatchProcessed": _RESULT,
    "BatchRefused": _RESULT,
    "OffsetsLost": _RESULT,
    "PartitionLag": _RESULT,
    "RunStarted": _RESULT,
    "RunStopped": _RESULT,
    "TookOver": _RESULT,
    "RunListener": "its subclasses are a user's own",
    "InputRecord": _RESULT + ", a dict",
    "Collector": _RESULT + "; asked in tests/dsl/test_task_collector.py",
    "OperationContext": _RESULT,
    "Equals": "asked with two fields, as it needs, in test_row_verbs.py",
    "AckingSpout": "its subclasses are a user's own",
    "ProgressiveWait.pause": _BY_LIBRARY,
    "SleepWait.pause": _BY_LIBRARY,
    "Message": "asked by the process of the spout that gives it, in tests/spouts/queue/test_process.py",
    "NonTransactionalSpout": "its subclasses are a user's own",
    "SpoutContext": _RESULT,
    "StreamProgress": _RESULT,
    "SpoutHook": "its subclasses are a user's own",
    "WaitStrategy": "its implementations are a user's own",
    "PythonSpout": "its subclasses are a user's own",
    "MultiReducer": "its subclasses are a user's own",
    "QueryFunction": "its subclasses are a user's own",
    "EmittedRow": "asked by whoever runs the updater that returns it, in tests/dsl/test_updating.py",
    "StateChanges": "asked by whoever runs the updater that returns it, in tests/dsl/test_updating.py",
    "StateUpdater": "its subclasses are a user's own",
    "StaticState": _RESULT,
    "StoredRows": _RESULT,
    "Reducer.check_made": _BY_LIBRARY,
    "Aggregator.check_made": _BY_LIBRARY,
    "Combiner.zero": "a user's own says it",
    "GroupedStream.stream": _RESULT,
    "TridentState": _RESULT,
    "Stream.__init__": _RESULT,
    "GroupedStream.__init__": _RESULT,
    "ExpiryContract": "a suite of tests, which pytest makes",
    "StateContract": "a suite of tests, which pytest makes",
    "StateHarness": "its subclasses are a user's own",
    "SessionSinkContract": "a suite of tests, which pytest makes",
    "SinkContract": "a suite of tests, which pytest makes",
    "SinkHarness": "its subclasses are a user's own",
    "BackingMapHarness.commit": _BY_LIBRARY,
    "BackingMapHarness.open_apart": _BY_LIBRARY,
    "BackingMapHarness.open_expiring": _BY_LIBRARY,
    "BackingMapHarness.rows": _BY_LIBRARY,
    "Combiner.combine_values": _BY_LIBRARY,
    "ArrowReader.read_here": _BY_LIBRARY,
    "KafkaSink.require_topic": _BY_LIBRARY,
}
"""What takes no arguments from a user, and why."""
FOR_LIBRARY = {
    "open",
    "open_plain",
    "check_plain",
    "describe",
    "compile",
    "description",
    "read",
    "reads",
    "columns",
    "shown",
    "check",
    "expression",
    "made_fields",
    "rows_made",
    "places",
    "condition",
    "array",
    "next_tuple",
    "ack",
    "reached",
    "fail",
    "refuse",
    "activate",
    "deactivate",
    "identity",
    "shared_out",
    "is_waiting",
    "holds_back",
    "values",
}
"""Methods of spouts, decoders, states, readers and aggregators that the library calls on what a user has made; of
ledgers all are."""


@dataclass(frozen=True)
class PublicArgument:
    """One argument of something public."""

    owner: str
    name: str
    annotation: str

    def __str__(self) -> str:
        return f"{self.owner}({self.name})"


def arguments() -> tuple[PublicArgument, ...]:
    """Return every argument that a user can give."""
    return tuple(argument for owner, function in _callables() for argument in _arguments_of(owner, function))


def owners() -> frozenset[str]:
    """Return the name of everything public that can be called."""
    return frozenset(owner for owner, _ in _callables())


def _callables() -> Iterator[tuple[str, Callable[..., object]]]:
    exported = [getattr(package, name) for package in PACKAGES for name in package.__all__]
    for thing in dict.fromkeys([*exported, *BESIDE]):
        name = getattr(thing, "__name__", "")
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not _is_apart(thing):
            yield from _of_class(name, thing)


def _is_apart(kind: type) -> bool:
    is_protocol = getattr(kind, "_is_protocol", False)
    return is_protocol or issubclass(kind, BaseException) or hasattr(kind, "__members__") or kind is Protocol


def _of_class(name: str, kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    if name in NOT_ASKED:
        return
    if f"{name}.__init__" not in NOT_ASKED:
        yield name, kind
    is_ledger = name.endswith("Ledger")
    for each, method in inspect.getmembers(kind, inspect.isroutine):
        is_asked = f"{name}.{each}" not in NOT_ASKED and each not in FOR_LIBRARY and not is_ledger
        if is_asked and not each.startswith("_") and _is_ours(method):
            yield f"{name}.{each}", method


def _is_ours(method: Any) -> bool:
    is_ours = str(getattr(method, "__module__", "")).startswith("trident.")
    return is_ours and not getattr(method, "__isabstractmethod__", False)


def _arguments_of(owner: str, function: Callable[..., object]) -> Iterator[PublicArgument]:
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        yield PublicArgument(owner, name, str(parameter.annotation))
