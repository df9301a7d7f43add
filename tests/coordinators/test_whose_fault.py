"""At most once: which errors lose their batch alone; every place that can end a run instead is listed with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import trident
from tests.coordinators.fakes import make_job
from tests.coordinators.test_run import memory_place, payments, run
from trident.base.errors import OutcomeUnknownError, RefusedError, RetryableError, UncomputableError
from trident.base.levels import Level
from trident.coordinators.batches.processor import (
    MessagesFailedError,
    ProcessRequest,
    ProcessResult,
    StagingRefusedError,
    UnprocessableError,
)

_PACKAGE = Path(trident.__file__).parent
_WHERE_DATA_IS = ("spouts", "engine", "operations", "executor", "state")

_SPOUTS = (
    "spouts/memory.py::MemorySource.verify",
    "spouts/python/positions.py::_wrong",
    "spouts/python/raising.py::in_spout",
    "spouts/python/receiving.py::ReceivingSource._take_in",
    "spouts/python/source.py::PythonSource.verify",
    "spouts/python/source.py::ReadPositions._read",
)
"""A user's own spout breaks its word, and would break it for the next batch."""

_RECEIVING = (
    "spouts/queue/process/instance.py::SpoutInstance.check",
    "spouts/queue/process/pickling.py::checked",
    "spouts/queue/process/pickling.py::pickled",
    "spouts/queue/process/pickling.py::unpickled",
    "spouts/queue/rabbitmq/spout.py::RabbitSpout._id",
    "spouts/queue/received.py::other_message",
    "spouts/queue/received.py::unreadable",
    "spouts/queue/waits.py::pause_of",
)
"""A message is taken in, before any batch has it; its source has it still, and a person takes it out of the way."""

_FILES = (
    "spouts/files/catalogue.py::Catalogue._require_same",
    "spouts/files/catalogue.py::Catalogue._trouble",
    "spouts/files/catalogue.py::_failed",
    "spouts/files/errors.py::changed",
    "spouts/files/errors.py::changed_when_read",
    "spouts/files/errors.py::compressed",
    "spouts/files/errors.py::emptied",
    "spouts/files/errors.py::lost_catalogue",
    "spouts/files/errors.py::lost_numbers",
    "spouts/files/errors.py::replaced_when_read",
    "spouts/files/errors.py::vanished",
    "spouts/files/folder.py::_unreadable",
    "spouts/files/parquet_rows.py::rows_in",
    "spouts/files/source.py::FileSource.verify",
)
"""The folder or the catalogue is not as it was; what a file holds is another matter, and listed nowhere."""

_SERVERS = (
    "spouts/kafka/consumers.py::_new",
    "spouts/kafka/errors.py::classify",
    "spouts/kafka/errors.py::raise_for_event",
    "spouts/kafka/source.py::KafkaSource._missing",
    "spouts/kafka/source.py::KafkaSource.verify",
    "spouts/queue/http/server.py::_unbound",
    "spouts/queue/kafka/clients.py::member_of",
    "spouts/queue/kafka/errors.py::classify",
    "spouts/queue/kafka/errors.py::exchanged",
    "spouts/queue/kafka/setting.py::ledger_behind",
    "spouts/queue/kafka/setting.py::lost_position",
    "spouts/queue/kafka/setting.py::never_placed",
    "spouts/queue/kafka/setting.py::of_another_topic",
    "spouts/queue/kafka/errors.py::smaller_horizon",
    "spouts/queue/rabbitmq/errors.py::_login_refused",
    "spouts/queue/rabbitmq/errors.py::_of_channel",
    "spouts/queue/rabbitmq/errors.py::_of_connection",
    "spouts/queue/rabbitmq/errors.py::_vhost_refused",
    "spouts/queue/rabbitmq/errors.py::failed",
    "spouts/queue/rabbitmq/errors.py::stream_refused",
    "spouts/queue/rabbitmq/line.py::RabbitLine._parameters",
    "spouts/queue/redis/errors.py::begun_anew",
    "spouts/queue/redis/errors.py::classify",
    "spouts/queue/redis/errors.py::exchanged",
    "spouts/queue/redis/errors.py::lost_entries",
    "spouts/queue/redis/errors.py::lost_unread",
    "spouts/queue/redis/errors.py::too_old",
    "spouts/queue/redis/errors.py::went_back",
    "spouts/queue/redis/group.py::connected",
    "state/kafka/clients/errors.py::_denied",
    "state/kafka/clients/errors.py::of_asking",
    "state/kafka/clients/errors.py::of_beginning",
    "state/kafka/clients/errors.py::of_hidden_settings",
    "state/kafka/clients/plain.py::meaning_of",
    "state/postgres/database.py::PostgresDatabase.classified",
    "state/postgres/errors.py::_without_state",
    "state/postgres/errors.py::classify",
    "state/postgres/writer.py::PostgresWriter.__call__",
    "state/sqlite/errors.py::classify",
)
"""A server, a right, a login, an address or a topic; and what no table of a client's errors knows."""

_ENGINE = (
    "engine/collecting.py::_decoded",
    "engine/errors.py::classify",
    "engine/errors.py::session_stopped",
    "engine/staging.py::StageRows.__call__",
    "spouts/handing_out.py::learn",
    "state/maps/calling.py::MapCalls._alone",
    "state/maps/calling.py::MapCalls.get",
)
"""Spark, the versions of this library on executors, or a map of the user's own."""


def _inside(node: ast.AST, names: tuple[str, ...]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        within = (*names, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else names
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "FatalError":
            yield ".".join(within)
        yield from _inside(child, within)


def _ends_runs() -> Iterator[str]:
    for folder in _WHERE_DATA_IS:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            for name in _inside(ast.parse(path.read_text("utf-8")), ()):
                yield f"{path.relative_to(_PACKAGE)}::{name}"


def test_what_may_be_about_the_records_of_one_batch_ends_no_run():
    """A new one that is about records is an UncomputableError or RefusedError; any other is listed with its kind."""
    listed = (*_SPOUTS, *_RECEIVING, *_FILES, *_SERVERS, *_ENGINE)
    assert set(_ends_runs()) == set(listed)


@pytest.mark.parametrize(
    "error",
    [
        RetryableError("an executor went away"),
        MessagesFailedError("go back"),
        OutcomeUnknownError("the answer was lost"),
        RefusedError("a constraint"),
        StagingRefusedError("balances", "a constraint"),
        UnprocessableError("a division by zero"),
        UncomputableError("a row does not fit the schema"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_about_the_records_of_one_batch_loses_no_other(error):
    def fail(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 3:
            raise error
        return result

    place = memory_place()
    summary = run(make_job(payments(), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=fail), place.ledger())
    assert (summary.batches, summary.lost) == (8, 1)
    assert sum(n for n, _ in place.rows("balances").values()) == 75 - 10
