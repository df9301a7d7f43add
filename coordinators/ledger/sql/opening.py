"""Opening a ledger's database: asked again and again for a set time, then given up with a clear word."""

from __future__ import annotations

import logging

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from trident.base.errors import ConfigurationError, FatalError, OutcomeUnknownError, RetryableError
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.state.databases.base import SqlDatabase

_log = logging.getLogger(__name__)


def refuse_timeouts(**given: object) -> None:
    """Raise ConfigurationError when a ledger is given a time that the run's options decide for all connections."""
    for name, value in given.items():
        if value is not None:
            option = "lease" if name == "lease_seconds" else name
            raise ConfigurationError(
                f"a ledger takes no {name} any more: RunOptions({option}=timedelta(...)) decides it, for the ledger's "
                "connections as for those of every state; nothing was opened"
            )


def open_database(database: SqlDatabase, where: str, give_up_after: float) -> None:
    """Connect and make or migrate the tables; may be called again.

    Raises FatalError when there was no answer for `give_up_after` seconds, and MismatchError for
    tables of a newer library.
    """

    def say(call: RetryCallState) -> None:
        error = call.outcome.exception() if call.outcome else None
        _log.warning("ledger at %s does not answer yet, trying again for up to %.0f s: %s", where, give_up_after, error)

    attempts = Retrying(
        retry=retry_if_exception_type((RetryableError, OutcomeUnknownError)),
        wait=wait_exponential(multiplier=0.2, max=5.0),
        stop=stop_after_delay(give_up_after),
        before_sleep=say,
        reraise=True,
    )
    try:
        applied = attempts(_open_once, database)
    except (RetryableError, OutcomeUnknownError) as error:
        raise FatalError(
            f"the ledger at {where} did not answer for {give_up_after:.0f} s: {error}. Nothing was read or written; "
            "start the database or correct the address."
        ) from error
    if applied:
        _log.info("ledger at %s: tables brought to this library's version in %d step(s)", where, applied)


def _open_once(database: SqlDatabase) -> int:
    with database.transaction() as transaction:
        return LEDGER_TABLES.migrate(transaction.connection, database.schema_terms)
