"""Opening a ledger's database: asked again and again for a set time, then given up with a clear word."""

from __future__ import annotations

import logging
from urllib.parse import quote

from sqlalchemy import Connection
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from trident.base.errors import ConfigurationError, FatalError, OutcomeUnknownError, RetryableError
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.state.databases.base import Elsewhere, SqlDatabase

_log = logging.getLogger("trident.ledger")


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
    """Connect, and make the tables where there are none; may be called again.

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
        attempts(_open_once, database)
    except (RetryableError, OutcomeUnknownError) as error:
        raise FatalError(
            f"the ledger at {where} did not answer for {give_up_after:.0f} s: {error}. Nothing was read or written; "
            "start the database or correct the address."
        ) from error


def refuse_hidden(topology: str, found: Elsewhere) -> None:
    """Raise ConfigurationError for a topology that is new here and known to a ledger in another schema.

    A search path that was changed for role or database would else begin everything anew, unnoticed. What the
    address itself names is a person's word, and only told.
    """
    if not found.schemas:
        return
    here, there = (found.here or ("?",))[0], found.schemas[0]
    known = f"topology {topology!r} is new in schema {here!r}, and a ledger in schema {there!r} of this database has it"
    if found.is_addressed:
        _log.warning("%s; the address names schema %r, so it begins there", known, here)
        return
    raise ConfigurationError(
        f"{known}: the search_path that role or database have leads here, and may have led elsewhere before. Nothing "
        "of the topology was recorded or changed; at most empty tables were made. Name the schema in the ledger's "
        f"address, and in those of states that have one: {_addressed(there)} goes on where the topology was, "
        f"{_addressed(here)} begins it anew (with & in place of ? behind other options)."
    )


def _addressed(schema: str) -> str:
    """Return what names a schema at the end of an address."""
    escaped = schema.replace('"', '""')
    name = schema if schema.isidentifier() and schema.islower() else f'"{escaped}"'
    option = f"-csearch_path={name}".replace("\\", "\\\\").replace(" ", "\\ ")
    return f"?options={quote(option, safe='')}"


def migrate(connection: Connection, database: SqlDatabase) -> None:
    """Bring tables of an older version to this library's, in the caller's transaction."""
    if LEDGER_TABLES.version_of(connection) != len(LEDGER_TABLES.steps):
        LEDGER_TABLES.migrate(connection, database.schema_terms)


def _open_once(database: SqlDatabase) -> None:
    with database.transaction() as transaction:
        if not 0 < LEDGER_TABLES.version_of(transaction.connection) < len(LEDGER_TABLES.steps):
            LEDGER_TABLES.migrate(transaction.connection, database.schema_terms)
