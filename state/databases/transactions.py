"""How a SQL transaction is run and how it ends, the same for every dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from trident.base.errors import OutcomeUnknownError, RefusedError, RetryableError, TridentError
from trident.state.databases.base import SqlTransaction

Classify = Callable[[BaseException], TridentError]
"""One table per backend: what a driver's error means for the caller."""


def driver_error(error: BaseException) -> BaseException:
    """Return the driver's own error inside one of SQLAlchemy's, or the error itself."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return error.orig
    return error


@contextmanager
def run_transaction(
    engine: Engine,
    driver_errors: type[BaseException],
    classify: Classify,
    is_lost: Callable[[BaseException], bool],
    new: Callable[[Connection], SqlTransaction] = SqlTransaction,
) -> Iterator[SqlTransaction]:
    """Run a block in one transaction; see `SqlDatabase.transaction` for what its end means.

    `is_lost` tells whether a COMMIT that failed with this error may have happened all the same.
    """
    kinds = (driver_errors, SQLAlchemyError)
    try:
        connection = engine.connect()
    except kinds as error:
        raise _classified(error, classify) from _cause(error, classify)
    try:
        try:
            transaction = connection.begin()
            yield new(connection)
        except BaseException as error:
            _roll_back(connection, kinds)
            if isinstance(error, kinds):
                raise _classified(error, classify) from _cause(error, classify)
            raise
        try:
            transaction.commit()
        except kinds as error:
            _roll_back(connection, kinds)
            if is_lost(driver_error(error)):
                raise OutcomeUnknownError("the connection was lost while COMMIT was on its way") from error
            raise _classified(error, classify) from _cause(error, classify)
    finally:
        _close(connection, kinds)


def _classified(error: BaseException, classify: Classify) -> TridentError:
    if isinstance(error, PoolTimeoutError):
        return RetryableError("no connection of the pool became free in time; nothing was written")
    return classify(driver_error(error))


def _cause(error: BaseException, classify: Classify) -> BaseException | None:
    """Hide the driver's text of a refusal from tracebacks: it quotes the refused values."""
    return None if isinstance(_classified(error, classify), RefusedError) else error


def _roll_back(connection: Connection, kinds: tuple[type[BaseException], ...]) -> None:
    """Roll back; a connection that can't even do that is thrown away, and the server rolls back."""
    try:
        connection.rollback()
    except kinds:
        connection.invalidate()


def _close(connection: Connection, kinds: tuple[type[BaseException], ...]) -> None:
    try:
        connection.close()
    except kinds:
        connection.invalidate()
