"""Which faults are fired on which job: the long list of `make chaos`, and the short one of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.faults import (
    CrashPostgres,
    Cut,
    CutOff,
    Fault,
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
            CutOff("IN_PIN_TRANSACTION"),
            KillDriver("IN_PIN_TRANSACTION"),
            Cut("IN_PIN_TRANSACTION", all_of_them=True),
        ),
    ),
)
