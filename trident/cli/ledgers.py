"""Naming a ledger on the command line; its address may hold a password and is never shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from trident.base.checks import may_hold_a_secret
from trident.base.closing import giving_back
from trident.base.errors import ConfigurationError
from trident.coordinators.ledger import Ledger, PostgresLedger, SqliteLedger

VARIABLE = "TRIDENT_LEDGER"
_POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")

LedgerOption = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar=VARIABLE,
        show_default=False,
        help="a PostgreSQL address (postgresql://… or key=value words) or the path of a SQLite file",
    ),
]


@contextmanager
def opened(address: str, *, may_be_new: bool = False) -> Iterator[Ledger]:
    """Give the ledger of an address, and let go of its connections; nothing is connected to or migrated yet.

    Raises ConfigurationError without an address, and for a file that is not there, unless it `may_be_new`.
    """
    ledger = _ledger(address, may_be_new)
    with giving_back("closing the ledger", ledger.close):
        yield ledger


def _ledger(address: str, may_be_new: bool) -> Ledger:
    if not address:
        raise ConfigurationError(f"name the ledger with --ledger or {VARIABLE}; nothing was done")
    if address.startswith(_POSTGRES) or ("=" in address and "://" not in address):
        return PostgresLedger(address)
    if may_hold_a_secret(address):
        raise ConfigurationError(
            "the ledger's address (which is not shown: it may hold a password) is neither the path of a file nor an "
            f"address of PostgreSQL, which begins with {' or '.join(_POSTGRES)}; nothing was done"
        )
    if not may_be_new and not Path(address).is_file():
        raise ConfigurationError(f"there is no file {address!r} to read a ledger from; nothing was done")
    return SqliteLedger(address)
