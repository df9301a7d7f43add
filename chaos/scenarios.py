"""Which faults are fired on which job: the long list of `make chaos`, and the short one of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.faults import (
    CrashPostgres,
    Cut,
    CutOff,
    Freeze,
    KillBoth,
    KillDriver,
    KillDriverAnywhere,
    KillExecutor,
    KillLeader,
    KillWorker,
    LoseCommit,
    StallAnswer,
)
from chaos.sink_faults import EndComesLate, EndMeets, KillBroker, KillSender, Whose
from chaos.strikes import Fault
from trident.testing.kafka_proxy import Fate


@dataclass(frozen=True, slots=True)
class Scenario:
    """A job of its own with the faults that it gets."""

    name: str
    records: int
    max_records: int
    apart: bool
    """Whether the opaque state lives in a second database, so that pin, applies and done are separate steps."""
    by_executors: bool
    """Whether tasks stage the updates with COPY."""
    faults: Sequence[Fault]
    sends: bool = False
    """Whether the opaque stream's payments leave for Kafka as well."""
    in_file: bool = False
    """Whether ledger and states are in a SQLite file instead of PostgreSQL."""


_OUTBOX_SHORT = Scenario(
    "states and a sink beside the ledger: an outbox",
    records=36_000,
    max_records=1_500,
    apart=False,
    by_executors=False,
    faults=(
        KillSender("BEFORE_END_OF_TRANSACTION"),
        KillBroker(Whose.COORDINATOR, "BEFORE_END_OF_TRANSACTION"),
        EndMeets(Fate.LOSE_ANSWER),
        EndComesLate(kills=True),
        KillSender("AFTER_END_OF_TRANSACTION"),
    ),
    sends=True,
)

_FILE_SHORT = Scenario(
    "states in a SQLite file, a sink that sends before done",
    records=30_000,
    max_records=1_500,
    apart=False,
    by_executors=False,
    faults=(
        KillSender("BEFORE_MARKER"),
        KillBroker(Whose.OUTPUT, "BEFORE_MARKER"),
        EndMeets(Fate.LOSE_REQUEST),
        EndComesLate(kills=False),
    ),
    sends=True,
    in_file=True,
)

SHORT = (
    Scenario(
        "states in two databases, staged by executors",
        records=80_000,
        max_records=2_000,
        apart=True,
        by_executors=True,
        faults=(
            KillDriver("AFTER_PIN"),
            KillWorker("READING"),
            KillDriver("READING"),
            LoseCommit("IN_APPLY"),
            KillExecutor("AFTER_COPY"),
            KillDriver("IN_APPLY"),
            StallAnswer("IN_APPLY"),
            KillLeader(),
            Freeze("IN_APPLY"),
            Cut("IN_APPLY", all_of_them=True),
            KillDriverAnywhere(),
            CrashPostgres("IN_APPLY"),
        ),
    ),
    _OUTBOX_SHORT,
    _FILE_SHORT,
)

LONG = (
    Scenario(
        "states in two databases, staged by executors",
        records=600_000,
        max_records=5_000,
        apart=True,
        by_executors=True,
        faults=(
            KillDriver("AFTER_PIN"),
            KillWorker("READING"),
            KillDriver("READING"),
            KillDriver("IN_APPLY"),
            KillExecutor("AFTER_COPY"),
            KillDriver("AFTER_APPLY"),
            LoseCommit("IN_APPLY"),
            KillLeader(),
            KillBoth("AFTER_PIN", "AFTER_FENCE"),
            KillWorker("AFTER_COPY"),
            CrashPostgres("IN_APPLY"),
            KillDriver("BEFORE_DONE"),
            StallAnswer("IN_APPLY"),
            Freeze("AFTER_PIN"),
            KillExecutor("READING"),
            KillDriverAnywhere(),
            Cut("IN_APPLY"),
            KillDriver("AFTER_STAGING"),
            CutOff("IN_APPLY"),
            KillLeader(),
            KillDriver("AFTER_APPLY"),
            CrashPostgres("BEFORE_DONE"),
        ),
    ),
    Scenario(
        "states beside the ledger, one transaction per batch",
        records=600_000,
        max_records=7_500,
        apart=False,
        by_executors=False,
        faults=(
            KillDriver("IN_PIN_TRANSACTION"),
            KillExecutor("READING"),
            LoseCommit("IN_PIN_TRANSACTION"),
            CrashPostgres("IN_PIN_TRANSACTION"),
            KillDriver("AFTER_PLAN"),
            StallAnswer("IN_PIN_TRANSACTION"),
            KillLeader(),
            KillDriverAnywhere(),
            Freeze("IN_PIN_TRANSACTION"),
            Cut("IN_PIN_TRANSACTION"),
            KillWorker("READING"),
            KillDriver("AFTER_DONE"),
            KillDriver("READING"),
            CutOff("IN_PIN_TRANSACTION"),
            KillDriver("IN_PIN_TRANSACTION"),
            Cut("IN_PIN_TRANSACTION", all_of_them=True),
        ),
    ),
    Scenario(
        "states apart, staged by tasks, and a sink beside the ledger: an outbox",
        records=400_000,
        max_records=2_500,
        apart=True,
        by_executors=True,
        faults=(
            KillSender("AFTER_SESSION"),
            KillBroker(Whose.COORDINATOR, "BEFORE_MARKER"),
            EndMeets(Fate.LOSE_ANSWER),
            KillSender("AFTER_READING_MARKER"),
            KillWorker("READING"),
            EndComesLate(kills=True),
            KillBroker(Whose.OUTPUT, "BEFORE_END_OF_TRANSACTION"),
            KillSender("BEFORE_MARKER"),
            LoseCommit("IN_APPLY"),
            KillBoth("BEFORE_END_OF_TRANSACTION", "AFTER_SESSION"),
            EndMeets(Fate.DELAY),
            KillSender("BEFORE_END_OF_TRANSACTION"),
            KillBroker(Whose.MARKERS, "AFTER_SESSION"),
            Freeze("BEFORE_END_OF_TRANSACTION"),
            KillSender("AFTER_END_OF_TRANSACTION"),
            KillDriverAnywhere(),
            EndComesLate(kills=False),
            KillBroker(Whose.COORDINATOR, "BEFORE_END_OF_TRANSACTION"),
            KillSender("AFTER_TRIM"),
            CrashPostgres("AFTER_END_OF_TRANSACTION"),
            EndMeets(Fate.LOSE_REQUEST),
            KillDriver("AFTER_DONE"),
        ),
        sends=True,
    ),
    Scenario(
        "states in a SQLite file, a sink that sends before done",
        records=250_000,
        max_records=2_500,
        apart=False,
        by_executors=False,
        faults=(
            KillSender("AFTER_SESSION"),
            KillBroker(Whose.COORDINATOR, "BEFORE_END_OF_TRANSACTION"),
            KillSender("AFTER_READING_MARKER"),
            EndMeets(Fate.LOSE_ANSWER),
            KillSender("BEFORE_MARKER"),
            EndComesLate(kills=True),
            KillBroker(Whose.OUTPUT, "BEFORE_MARKER"),
            KillSender("BEFORE_END_OF_TRANSACTION"),
            EndMeets(Fate.DELAY),
            KillDriverAnywhere(),
            KillBroker(Whose.MARKERS, "BEFORE_END_OF_TRANSACTION"),
            KillSender("AFTER_END_OF_TRANSACTION"),
            EndComesLate(kills=False),
            KillSender("AFTER_APPLY"),
            EndMeets(Fate.LOSE_REQUEST),
        ),
        sends=True,
        in_file=True,
    ),
)
