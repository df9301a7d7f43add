"""At most once: which errors lose one batch alone, and which end the run, since the next batch would meet them too."""

from __future__ import annotations

from typing import Final

from trident.base.errors import (
    FatalError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
    TridentError,
    UncomputableError,
)
from trident.base.identity import BatchId
from trident.coordinators.batches.processor import UnprocessableError
from trident.coordinators.batches.stopped import StoppedError


class WriteUnknownError(FatalError):
    """Nobody knows whether a batch was written, so it is not written again; the next one may well be."""


class LostError(FatalError):
    """A batch is recorded as done, and what was not written of it never is; its cause is what has lost it."""


def lost_by(error: BaseException, batch: BatchId) -> LostError:
    """Return what is reported of a batch that an error has lost."""
    said = f": {error}" if isinstance(error, TridentError) else ""
    lost = LostError(
        f"txid {batch.txid} is lost: it is recorded as done, and what was not written of it by then is not tried "
        f"again{said}"
    )
    lost.__cause__ = error
    return lost


_OF_ONE_BATCH: Final = (
    RetryableError,  # an attempt that has failed
    OutcomeUnknownError,
    WriteUnknownError,
    StoppedError,  # records that do not decode, or can't be processed: carries the refusal that it is
    UnprocessableError,
    UncomputableError,
    RefusedError,  # rows that a target does not take
)


def is_lost_alone(error: BaseException) -> bool:
    """Tell whether an error is about the records of one batch, or one attempt at it.

    All others end the run: a fence, an option that is wrong, a session that is gone, a database that was asked for as
    long as a run has patience, an error of this library's own. Each of them would lose one batch after the other.
    """
    return isinstance(error, _OF_ONE_BATCH)


def lost_in_a_row(lost: int, batch: BatchId) -> FatalError:
    """Return the error of a run of which so many batches were lost one after the other, before another is recorded."""
    return FatalError(
        f"the last {lost} batches were lost, one after the other, so something is wrong with more than one of them; "
        f"the log says what. Txid {batch.txid} was not recorded: mend the cause and run the topology again, which goes "
        "on with it"
    )


def lost_all(lost: int) -> FatalError:
    """Return the error of a run that comes to its end, and of which no rows were written."""
    return FatalError(
        f"all batches of this run that had something to write are lost ({lost}), so something may be wrong with all of "
        "them; the log says what. They are not tried again: mend the cause, and the next start goes on behind them"
    )
